"""The Sphinx extension: includes vignettes, draws figures, writes notebooks, and ships MathJax with the pages."""

import re
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

from . import notebooks
from .figures import directive, draw
from .pages import MARK, ROOT, Mark, pieces

FIGURES = ROOT / "docs" / "figures"
INCLUDE = re.compile(r"```\{include\} (\.\./\.\./vignettes/(\w+)\.md)\n.*?```\n", flags=re.DOTALL)
# What a page with formulas loads: one script and its fonts.
MATHJAX = ("tex-chtml.js", "output/chtml/fonts/woff-v2")


def on_read(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put figures, and for vignettes a link to the notebook, into a page before it is parsed."""
    text, name = source[0], docname.replace("/", "-")
    include = INCLUDE.search(text)
    if include:
        path = (ROOT / "docs" / "vignettes" / include.group(1)).resolve()
        app.env.note_dependency(str(path))
        # On the site vignettes lie below the other pages, in the sources beside them.
        text = path.read_text(encoding="utf-8").replace("](../docs/", "](../")
    page = pieces(text)
    if include or any(isinstance(piece, Mark) for piece in page):
        try:
            draw(page)
        except Exception as error:
            logging.getLogger(__name__).warning("a figure could not be drawn: %r", error, location=docname)
    if include:
        notebooks.write(page, include.group(2), Path(app.outdir) / "notebooks")
        title, _, rest = text.partition("\n")
        link = f'<a href="../notebooks/{include.group(2)}.ipynb" download>Download this page as a notebook</a>'
        text = f'{title}\n\n```{{raw}} html\n<p class="notebook">{link}</p>\n```\n{rest}'
    marks = iter([piece for piece in page if isinstance(piece, Mark)])
    count = iter(range(1, 1000))
    text = MARK.sub(lambda _: directive(next(marks), f"{name}-{next(count)}", FIGURES), text)
    # doctest wants an empty line after the last output, readers do not.
    source[0] = text.replace("\n\n```\n", "\n```\n")


def on_page(app: Sphinx, name: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """A corner of a table without words is no heading: nobody should hear of it. The first page is named once in its tab."""
    if name == "index":
        context["docstitle"] = ""
    if "body" in context:
        context["body"] = re.sub(r'<th class="head[^>]*><p></p></th>', "<td></td>", context["body"])


def on_finished(app: Sphinx, error: Exception | None) -> None:
    """Copy the part of MathJax that is used beside the pages."""
    spec = find_spec("sphinx-mathjax-offline")
    if error is not None or spec is None or spec.origin is None or app.builder.format != "html":
        return
    source, target = Path(spec.origin).parent / "static" / "mathjax", Path(app.outdir) / "_static" / "mathjax"
    for name in MATHJAX:
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name, dirs_exist_ok=True)
        else:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, target / name)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the build."""
    app.connect("source-read", on_read)
    app.connect("html-page-context", on_page)
    app.connect("build-finished", on_finished)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
