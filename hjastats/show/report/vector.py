"""Figures as SVG that can stand in a page: text stays text, colours are the page's, nothing is loaded from elsewhere."""

from __future__ import annotations

import io
import re
import threading
from dataclasses import dataclass
from typing import Any

from ..plots.canvas import LIGHT, paper

# Text as text: small files that can be searched; every browser has a sans-serif font.
SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial", "sans-serif"],
}
# Inches of a figure: letters stay legible where a telephone makes it smaller, and a desktop larger.
WIDTH = 4.6
# Pixels of a page beyond which a figure is not made smaller to fit, but moved sideways.
FITTING = 480
# The page's own names for the colours of light paper, so that it can exchange them for those of dark paper.
VARIABLES = {
    LIGHT.sheet: "--paper",
    LIGHT.ink: "--ink",
    LIGHT.soft: "--soft",
    LIGHT.rule: "--rule",
    LIGHT.grid: "--grid",
    LIGHT.pale: "--pale",
}
VARIABLES |= {hue: f"--hue-{number}" for number, hue in enumerate(LIGHT.hues)}
VARIABLES |= {hue: f"--letter-{number}" for number, hue in enumerate(LIGHT.letters)}

_DRAWING = threading.Lock()


@dataclass(frozen=True)
class Picture:
    """A figure with its words.

    Attributes
    ----------
    svg : str
    heading : str
        What it shows, and what it leaves out.
    caption : str
        What there is to see.
    width : int
        Pixels of the page at its own size.
    """

    svg: str
    heading: str
    caption: str
    width: int

    @property
    def is_wide(self) -> bool:
        """Whether it is too wide for a telephone."""
        return self.width > FITTING


def picture(draw: Any, caption: str, name: str, heading: str = "") -> Picture:
    """Draw, and keep the result as SVG.

    Parameters
    ----------
    draw : callable
        Returns matplotlib Axes, or a Figure, which keeps its titles.
    name : str
        Distinguishes the marks of this figure from those of others on the page.
    heading : str, optional
        In place of the title of the figure, up to what this says of rows that it leaves out.
    """
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    # Settings of matplotlib are those of the process: one page at a time changes and restores them. The salt makes identifiers
    # repeatable, so that the same fit gives the same page.
    with _DRAWING, mpl.rc_context(SETTINGS | {"svg.hashsalt": name}), paper(width=WIDTH):
        drawn = draw()
        figure, title, colon, left_out = drawn.figure, "", "", ""
        if drawn is not figure:
            # The page has headings of its own, to which belongs what a figure says that it leaves out.
            title, colon, left_out = " ".join(drawn.get_title(loc="left").split()).partition(": ")
            drawn.set_title("", loc="left")
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None}, transparent=True)
        width = round(figure.get_figwidth() * 96)
        plt.close(figure)
    return Picture(_inline(file.getvalue(), name, width), (heading or title) + colon + left_out, caption, width)


def _inline(svg: str, name: str, width: int) -> str:
    """Drop what only a file of its own needs, make identifiers unique on the page, and colours those of the page."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>", "", svg, flags=re.DOTALL)
    styles: dict[str, str] = {}
    # Within tags only: a label that looks like an identifier or a colour is drawn as it is.
    svg = re.sub(r"<[^>]*>", lambda tag: _of_page(tag[0], name, styles), svg)
    known = "".join(f".{short}{{{style}}}" for style, short in styles.items())
    head = (
        f'<svg role="img" aria-labelledby="{name}-heading" aria-describedby="{name}-caption" '
        f'width="{width}" style="--width:{width}px"'
    )
    box = re.search(r'viewBox="[^"]*"', svg)
    return re.sub(r"<svg[^>]*>", f"{head} {box[0] if box else ''}><style>{known}</style>", svg, count=1)


def _of_page(tag: str, name: str, styles: dict[str, str]) -> str:
    """A tag with identifiers and colours of the page, and every style, which many have, written once."""
    tag = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", tag)
    tag = re.sub(r"font: (?:(?:bold|italic|oblique|\d+) )*([\d.]+px) [^;\"]*", _font, tag)
    tag = re.sub(r"#[0-9a-f]{6}\b", _colour, tag)
    return re.sub(r'\bstyle="([^"]*)"', lambda found: f'class="{_short(found[1], name, styles)}"', tag)


def _short(style: str, name: str, styles: dict[str, str]) -> str:
    return styles.setdefault(style, f"{name}-{len(styles)}")


def _colour(found: re.Match[str]) -> str:
    """The page's own name of a colour, with the colour for pages that do not know it."""
    return f"var({VARIABLES[found[0]]}, {found[0]})" if found[0] in VARIABLES else found[0]


def _font(found: re.Match[str]) -> str:
    """Size, weight and slant of a font; which one it is, is up to the page."""
    told = found[0].split()
    weight = "; font-weight: bold" if {"bold", "700"} & set(told) else ""
    slant = "; font-style: italic" if {"italic", "oblique"} & set(told) else ""
    return f"font-size: {found[1]}{weight}{slant}"
