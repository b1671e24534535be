"""Figures of the pages, drawn by the pages' own code while the documentation is built.

A page says ``<!-- figure: caption -->`` below a block of examples; readers of the source see nothing, the site shows the figure
that the code above drew last. The same examples are doctests, so the code beside a figure is the code that made it. What a page
only prints is not run again here. Figures are not kept in the project: every build makes them anew, from the numbers of the day.
"""

import contextlib
import doctest
import io
import re
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl

from .pages import ROOT, Block, Mark, Piece, only_shows

# The same file from the same numbers, with letters as shapes, since readers have other fonts than the machine that draws.
STYLE = {"svg.hashsalt": "hjastats", "svg.fonttype": "path", "savefig.transparent": True, "figure.dpi": 100}


def draw(page: list[Piece]) -> None:
    """Run a page's examples as far as its last mark, and give every mark the figure it asks for."""
    marks = [index for index, piece in enumerate(page) if isinstance(piece, Mark)]
    if not marks:
        return
    mpl.use("svg")
    import matplotlib.pyplot as plt

    space: dict[str, object] = {"__name__": "__main__"}
    plt.close("all")
    with contextlib.chdir(ROOT), mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for piece in page[: marks[-1] + 1]:
            if isinstance(piece, Block) and piece.lacks is None:
                for example in piece.examples:
                    if not (only_shows(example) or example.options.get(doctest.SKIP)):
                        with contextlib.redirect_stdout(io.StringIO()):
                            exec(compile(example.source, "<page>", "exec"), space)
            elif isinstance(piece, Mark) and piece.lacks is None:
                if not plt.get_fignums():
                    raise ValueError(f"no figure was drawn above the mark {piece.caption!r}")
                piece.svg = _svg(plt.gcf())
                plt.close("all")


def _svg(figure: Any) -> str:
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None}, bbox_inches="tight")
    return file.getvalue()


def directive(mark: Mark, name: str, folder: Path) -> str:
    """The mark as a figure of MyST, its picture written to the folder; a sentence where it could not be drawn."""
    if mark.svg is None:
        return f"*A figure is drawn here where there is `{mark.lacks}`: {mark.caption}*"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.svg"
    if not path.exists() or path.read_text(encoding="utf-8") != mark.svg:
        path.write_text(mark.svg, encoding="utf-8")
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*$]", r"\1", mark.caption)
    options = f":alt: {plain}\n:class: drawn dark-light"
    return f"````{{figure}} /{folder.name}/{path.name}\n{options}\n\n{mark.caption}\n````"
