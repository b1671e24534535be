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
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "hjastats",
    "svg.fonttype": "path",
    "savefig.transparent": True,
    "figure.dpi": 100,
}
# Inches of paper that fits a telephone.
TELEPHONE = 3.9


def draw(page: list[Piece]) -> None:
    """Run a page's examples as far as its last mark, and give every mark the figure it asks for, on wide and narrow paper."""
    marks = [index for index, piece in enumerate(page) if isinstance(piece, Mark)]
    if not marks:
        return
    mpl.use("svg")
    for mark, wide, narrow in zip(
        [page[index] for index in marks],
        _drawn(page[: marks[-1] + 1]),
        _drawn(page[: marks[-1] + 1], TELEPHONE),
        strict=True,
    ):
        assert isinstance(mark, Mark)
        mark.svg = wide
        # What code of its own has drawn is as wide on any paper.
        is_narrow = narrow is not None and _points(narrow) < min(_points(wide or narrow), 90.0 * TELEPHONE)
        mark.narrow = narrow if is_narrow else None


def _drawn(page: list[Piece], width: float | None = None) -> list[str | None]:
    """The figures of all marks."""
    import matplotlib.pyplot as plt

    from hjastats.show.plots import paper

    space: dict[str, object] = {"__name__": "__main__"}
    drawn: list[str | None] = []
    plt.close("all")
    with contextlib.chdir(ROOT), paper(width=width), mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for piece in page:
            if isinstance(piece, Block) and piece.lacks is None:
                for example in piece.examples:
                    if not (only_shows(example) or example.options.get(doctest.SKIP)):
                        with contextlib.redirect_stdout(io.StringIO()):
                            exec(compile(example.source, "<page>", "exec"), space)
            elif isinstance(piece, Mark):
                if piece.lacks is None and not plt.get_fignums():
                    raise ValueError(f"no figure was drawn above the mark {piece.caption!r}")
                drawn.append(None if piece.lacks else _svg(plt.gcf()))
                plt.close("all")
    return drawn


def _points(svg: str) -> float:
    """Its width."""
    found = re.search(r'<svg[^>]* width="([\d.]+)pt"', svg)
    return float(found[1]) if found else 0.0


def _svg(figure: Any) -> str:
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None}, bbox_inches="tight")
    return file.getvalue()


def directive(mark: Mark, name: str, folder: Path) -> str:
    """The mark as a figure of MyST, its pictures written to the folder; a sentence where it could not be drawn."""
    if mark.svg is None:
        return f"*A figure is drawn here where there is `{mark.lacks}`: {mark.caption}*"
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*$]", r"\1", mark.caption)
    options = f":alt: {plain}\n:class: drawn dark-light"
    figure = f"````{{figure}} {_written(folder / f'{name}.svg', mark.svg)}\n{options}"
    if mark.narrow is None:
        return f"{figure}\n\n{mark.caption}\n````"
    narrow = f"```{{image}} {_written(folder / f'{name}-narrow.svg', mark.narrow)}\n{options} narrow\n```"
    return f"{figure} wide\n\n{mark.caption}\n\n{narrow}\n````"


def _written(path: Path, svg: str) -> str:
    """The address of the picture on the site; a file that is there already is left as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != svg:
        path.write_text(svg, encoding="utf-8")
    return f"/{path.parent.name}/{path.name}"
