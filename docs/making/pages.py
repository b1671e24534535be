"""Pages in pieces: the prose, the examples of a block of code, and the marks where a figure is to be seen."""

import ast
import doctest
import re
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What a section needs, by what it says; where that is absent, the section is left out and keeps the output it shows.
NEEDS = {
    "../shared/data": (ROOT.parent / "shared" / "data").is_dir(),
    "../shared/oracles": (ROOT.parent / "shared" / "oracles").is_dir(),
    "import choix": find_spec("choix") is not None,
    "from stargazer": find_spec("stargazer") is not None,
    "import evalica": find_spec("evalica") is not None,
    "from arena_rank": find_spec("arena_rank") is not None,
}
FENCE = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
MARK = re.compile(r"^<!-- figure: (.*?) -->", flags=re.MULTILINE | re.DOTALL)


@dataclass
class Prose:
    """Markdown between blocks of examples."""

    text: str


@dataclass
class Block:
    """A fenced block of examples, and what its section lacks here, if anything."""

    text: str
    examples: list[doctest.Example]
    lacks: str | None


@dataclass
class Mark:
    """Where the figure that the code above drew last is shown, and the same for a telephone if it is another."""

    caption: str
    lacks: str | None
    svg: str | None = field(default=None, repr=False)
    narrow: str | None = field(default=None, repr=False)


Piece = Prose | Block | Mark


def pieces(text: str) -> list[Piece]:
    r"""The pieces of a page in order.

    Examples
    --------
    >>> [type(piece).__name__ for piece in pieces("A.\n\n```python\n>>> 1\n1\n\n```\n\n<!-- figure: one -->\n")]
    ['Prose', 'Block', 'Mark']
    """
    beginning, *sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    found: list[Piece] = []
    for section in (beginning, *sections):
        lacks = next(
            (name for name, there in NEEDS.items() if not there and (name in beginning or name in section)), None
        )
        at = 0
        for match in re.finditer(f"{FENCE.pattern}|{MARK.pattern}", section, flags=re.MULTILINE | re.DOTALL):
            code, caption = match.groups()
            if code is not None and ">>>" not in code:
                continue
            found.append(Prose(section[at : match.start()]))
            if code is None:
                found.append(Mark(" ".join(caption.split()), lacks))
            else:
                found.append(Block(match.group(), doctest.DocTestParser().get_examples(code), lacks))
            at = match.end()
        found.append(Prose(section[at:]))
    return [piece for piece in found if not (isinstance(piece, Prose) and not piece.text.strip())]


def runnable(text: str) -> str | None:
    """The text without the sections that need what is not there; None if that is where it begins."""
    beginning, *sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    absent = [mark for mark, is_there in NEEDS.items() if not is_there]
    if any(mark in beginning for mark in absent):
        return None
    return beginning + "".join(section for section in sections if not any(mark in section for mark in absent))


def only_shows(example: doctest.Example) -> bool:
    """Whether an example is a single expression whose value the page shows: it changes nothing that a figure needs."""
    body = ast.parse(example.source).body
    return bool(example.want) and len(body) == 1 and isinstance(body[0], ast.Expr)
