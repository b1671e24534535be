"""Vignettes as notebooks: the markdown, the code without prompts, and the output that the page shows."""

import ast
import json
import re
from doctest import Example
from pathlib import Path

from .pages import Block, Mark, Piece, Prose


def notebook(page: list[Piece], name: str) -> str:
    """A page as the text of a notebook (nbformat 4.5)."""
    about = f"*Made from the page `vignettes/{name}.md` of hjastats. Needs `pip install 'hjastats[report]'`.*"
    if any("../shared/data" in piece.text for piece in page if not isinstance(piece, Mark)):
        about += " *Parts of it read `../shared/data`, which is not ours to ship.*"
    cells = [_markdown(about)]
    for piece in page:
        if isinstance(piece, Prose):
            cells.append(_markdown(_without_local_links(piece.text.strip())))
        elif isinstance(piece, Block):
            cells += [_code(*one) for one in _groups(piece.examples)]
        elif piece.svg is not None:
            _add_figure(cells, piece)
    for index, cell in enumerate(cells):
        cell["id"] = f"cell-{index}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def write(page: list[Piece], name: str, folder: Path) -> None:
    """Write a page as ``name.ipynb`` in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.ipynb").write_text(notebook(page, name), encoding="utf-8")


def _groups(examples: list[Example]) -> list[tuple[str, Example | None]]:
    """Code up to and with each example that shows something: a notebook shows what the last line of a cell is."""
    groups, waiting = [], ""
    for example in examples:
        waiting += example.source
        if example.want:
            groups.append((waiting.rstrip("\n"), example))
            waiting = ""
    return groups + ([(waiting.rstrip("\n"), None)] if waiting else [])


def _code(source: str, shows: Example | None) -> dict:
    outputs = [] if shows is None else [_output(shows)]
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": outputs,
        "source": source.splitlines(keepends=True),
    }


def _output(example: Example) -> dict:
    text = example.want.replace("<BLANKLINE>", "").rstrip("\n")
    lines = text.splitlines(keepends=True)
    if example.exc_msg is not None:
        name, _, value = example.exc_msg.rstrip("\n").partition(": ")
        return {"output_type": "error", "ename": name, "evalue": value, "traceback": text.splitlines()}
    last = ast.parse(example.source).body[-1]
    is_printed = not isinstance(last, ast.Expr) or (
        isinstance(last.value, ast.Call) and getattr(last.value.func, "id", None) == "print"
    )
    if is_printed:
        return {"output_type": "stream", "name": "stdout", "text": lines}
    return {"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": {"text/plain": lines}}


def _add_figure(cells: list[dict], mark: Mark) -> None:
    """The figure below the code that drew it, and its caption."""
    code = next(cell for cell in reversed(cells) if cell["cell_type"] == "code")
    data = {"image/svg+xml": str(mark.svg).splitlines(keepends=True), "text/plain": [mark.caption]}
    code["outputs"].append({"output_type": "display_data", "metadata": {}, "data": data})
    cells.append(_markdown(f"*{mark.caption}*"))


def _markdown(text: str) -> dict:
    return {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}


def _without_local_links(text: str) -> str:
    """Pages of the site are not beside a notebook that was downloaded."""
    text = re.sub(r"\[\]\((?!http)([^)]*)\)", r"`\1`", text)
    return re.sub(r"\[([^\]]+)\]\((?!http)[^)]*\)", r"\1", text)
