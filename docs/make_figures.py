"""Draws the figure of the README, and of the first page on a telephone: ``python docs/make_figures.py``."""

from pathlib import Path

import matplotlib as mpl

import hjastats as hja
from hjastats.show.plots import paper

if __name__ == "__main__":
    mpl.use("svg")
    # The same file from the same numbers; text stays text.
    mpl.rcParams.update({"svg.hashsalt": "hjastats", "svg.fonttype": "none"})
    result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
    for name, width in (("ranking.svg", None), ("ranking-narrow.svg", 3.9)):
        with paper(width=width):
            figure = result.plot.ranking().get_figure()
            # That of the site stands on the page's own ground, light or dark.
            figure.savefig(Path(__file__).with_name(name), metadata={"Date": None}, transparent=width is not None)
