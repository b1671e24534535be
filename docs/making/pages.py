"""Pages in pieces: the prose, the examples of a block of code, and the marks where a figure is to be seen."""

import ast
import doctest
import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What lies beside some checkouts; a section that names it is left out where it is absent, and keeps the output it shows.
BESIDE = ("../shared/data", "../shared/oracles")
FENCE = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
MARK = re.compile(r"<!-- figure: (.*?) -->", flags=re.DOTALL)


@dataclass
class Prose:
    """Markdown between blocks of examples."""

    text: str


@dataclass
class Block:
    """A fenced block of examples, as it stands in the page."""

    text: str
    examples: list[doctest.Example]
    needs: str | None


@dataclass
class Mark:
    """Where the figure that the code above drew last is shown."""

    caption: str
    needs: str | None
    svg: str | None = field(default=None, repr=False)


Piece = Prose | Block | Mark


def pieces(text: str) -> list[Piece]:
    """The pieces of a page in order.

    Examples
    --------
    >>> [type(piece).__name__ for piece in pieces("A.\\n\\n```python\\n>>> 1\\n1\\n\\n```\\n\\n<!-- figure: one -->\\n")]
    ['Prose', 'Block', 'Mark']
    """
    beginning, *sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    found: list[Piece] = []
    for section in (beginning, *sections):
        needs = next((name for name in BESIDE if name in beginning or name in section), None)
        at = 0
        for match in re.finditer(f"{FENCE.pattern}|{MARK.pattern}", section, flags=re.MULTILINE | re.DOTALL):
            code, caption = match.groups()
            if code is not None and ">>>" not in code:
                continue
            found.append(Prose(section[at : match.start()]))
            if code is None:
                found.append(Mark(" ".join(caption.split()), needs))
            else:
                found.append(Block(match.group(), doctest.DocTestParser().get_examples(code), needs))
            at = match.end()
        found.append(Prose(section[at:]))
    return [piece for piece in found if not (isinstance(piece, Prose) and not piece.text.strip())]


def is_absent(needs: str | None) -> bool:
    """Whether a piece needs what does not lie beside this checkout."""
    return needs is not None and not (ROOT / needs).is_dir()


def only_shows(example: doctest.Example) -> bool:
    """Whether an example is a single expression whose value the page shows: it changes nothing that a figure needs."""
    body = ast.parse(example.source).body
    return bool(example.want) and len(body) == 1 and isinstance(body[0], ast.Expr)
