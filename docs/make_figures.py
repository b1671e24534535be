"""Draws the figure of the README: ``python docs/make_figures.py``."""

from pathlib import Path

import matplotlib as mpl

import hjastats as hja

if __name__ == "__main__":
    mpl.use("svg")
    # The same file from the same numbers; text stays text.
    mpl.rcParams.update({"svg.hashsalt": "hjastats", "svg.fonttype": "none"})
    result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=1, position="judge").fit()
    ax = result.plot.ranking()
    ax.get_figure().savefig(Path(__file__).with_name("ranking.svg"), metadata={"Date": None})
