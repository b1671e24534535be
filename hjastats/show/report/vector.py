"""Figures as SVG that can stand in a page: text stays text, nothing is loaded from elsewhere."""

from __future__ import annotations

import io
import re
import threading
from dataclasses import dataclass
from typing import Any

# Text as text: small files that can be searched; every browser has a sans-serif font.
SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial", "sans-serif"],
}


_DRAWING = threading.Lock()


@dataclass(frozen=True)
class Picture:
    """A figure with its words.

    Attributes
    ----------
    svg : str
    caption : str
    """

    svg: str
    caption: str


def picture(draw: Any, caption: str, name: str) -> Picture:
    """Draw, and keep the result as SVG.

    Parameters
    ----------
    draw : callable
        Returns matplotlib Axes or a Figure.
    name : str
        Distinguishes the marks of this figure from those of others on the page.
    """
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    # Settings of matplotlib are those of the process: one page at a time changes and restores them. The salt makes identifiers
    # repeatable, so that the same fit gives the same page.
    with _DRAWING, mpl.rc_context(SETTINGS | {"svg.hashsalt": name}):
        drawn = draw()
        figure = getattr(drawn, "figure", drawn)
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
        plt.close(figure)
    return Picture(_inline(file.getvalue(), name), caption)


def _inline(svg: str, name: str) -> str:
    """Drop what only a file of its own needs, and make identifiers unique on the page."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # Within tags only: a label that looks like an identifier is drawn as it is.
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", tag[0]), svg)
    # Its width follows the page; the view box keeps the proportions.
    svg = re.sub(r'<svg([^>]*?) height="[^"]*"', r"<svg\1", svg, count=1)
    svg = re.sub(r'<svg([^>]*?) width="([^"]*)"', r'<svg\1 style="max-width:\2" width="100%"', svg, count=1)
    return svg.replace("<svg", f'<svg role="img" aria-labelledby="{name}-caption"', 1)
