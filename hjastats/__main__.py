"""``python -m hjastats`` is the command line, for environments without scripts on the path."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
