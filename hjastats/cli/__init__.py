"""The command line: ``hjastats demo | fit | compare | report | simulate | reproduce``."""

from .main import main

__all__ = ["main"]
