import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from hjastats.show import plots
from hjastats.show.plots.labels import MAX_LETTERS, MISSING_GLYPH, drawable, label_points, names

from .reading import n_overlaps, row_names

HOSTILE = [
    "$x_1$",
    "$\\frac{broken",
    "<script>alert('x')</script>",
    "a" * 300,
    "שלום עולם",
    "\u202eright-to-left override",
    "emoji 😀👩‍🚀",
    "中文名字",
    "_begins_with_underscore",
    "{brace} % # & ~ ^ \\",
    "line\nbreak\ttab",
    "null\x00byte",
]


def test_long_names_are_cut_in_the_middle():
    assert names(["x" * 40]) == ["x" * 40]
    (short,) = names(["begin" + "x" * 300 + "end"])
    assert len(short) == MAX_LETTERS
    assert short.startswith("begin")
    assert short.endswith("end")


def test_names_that_differ_only_in_the_middle_stay_distinct():
    labels = ["x" * 50 + str(i) + "x" * 50 for i in range(12)]
    assert len(set(names(labels))) == 12
    assert max(map(len, names(labels))) <= MAX_LETTERS


def test_names_no_font_can_draw_stay_distinct():
    assert len(set(names(["中文", "日本"]))) == 2


def test_characters_without_a_glyph_become_boxes_and_controls_vanish():
    assert drawable("a\ud800") == "a" + MISSING_GLYPH
    assert drawable("a\u202eb\x00") == "ab"


@pytest.mark.parametrize("usual", [True, False], ids=["alone", "with-families"])
def test_hostile_names_are_drawn_as_text(usual):
    n = len(HOSTILE)
    # As objects: text of pyarrow, which pandas prefers where it is installed, cannot hold half a surrogate pair.
    index = pd.Index(HOSTILE, dtype=object)
    rng = np.random.default_rng(0)
    family = None if usual else pd.Series(HOSTILE[::-1], index=index, dtype=object)
    table = pd.DataFrame({"estimate": np.arange(n)[::-1], "ci_lower": -1.0, "ci_upper": n}, index=index)
    matrix = pd.DataFrame(rng.normal(size=(n, n)), index, index)
    axes = [
        plots.plot_intervals(table, family=family, title=HOSTILE[1]),
        plots.plot_ranking(table.rename(columns={"estimate": "score"}), family=family),
        plots.plot_heatmap(matrix, family=family),
        plots.plot_probabilities(matrix.abs().clip(0, 1), family=family),
        plots.plot_profiles(matrix, table["estimate"], highlight=HOSTILE[:5], family=family),
        plots.plot_leverage(
            pd.DataFrame({"sensitivity": rng.random(n), "h": rng.random(n)}, index), outliers=HOSTILE, family=family
        ),
        plots.plot_comparisons(matrix.abs(), family=family),
        plots.plot_convergence({name: [2.0, 1.0] for name in HOSTILE}),
    ]
    for ax in axes:
        ax.get_figure().canvas.draw()
    assert row_names(axes[0])[0] == "$x_1$"
    assert row_names(axes[0])[2] == "<script>alert('x')</script>"
    assert row_names(axes[0])[4] == "שלום עולם"
    for ax in axes[:-1]:  # the scale of the last one has powers of ten
        assert not any(
            text.get_parse_math() for text in [*ax.get_yticklabels(), *ax.get_xticklabels()] if "$" in text.get_text()
        )


def test_names_beside_crowded_points_do_not_cover_each_other():
    rng = np.random.default_rng(1)
    figure, ax = plt.subplots(figsize=(8, 6))
    x, y = rng.normal(size=(2, 25))
    ax.plot(x, y, "o")
    written = label_points(ax, x, y, [f"a name of some length {i}" for i in range(25)], [i < 5 for i in range(25)])
    figure.canvas.draw()
    assert {f"a name of some length {i}" for i in range(5)} <= {text.get_text() for text in written}
    assert n_overlaps(written) == 0


def test_a_name_is_left_out_rather_than_read_as_that_of_another_point():
    figure, ax = plt.subplots(figsize=(4, 4))
    # A point in each of two corners, and a three by three grid so narrow that there is no room for the name of its middle.
    x, y = np.r_[0, 1, np.tile([0.48, 0.5, 0.52], 3)], np.r_[0, 1, np.repeat([0.48, 0.5, 0.52], 3)]
    ax.plot(x, y, "o")
    crowded = label_points(ax, x, y, list("abcdefghijk"), [False] * 11)
    figure.canvas.draw()
    assert {text.get_text() for text in crowded} == set("abcdefhijk")
    points = ax.transData.transform(np.column_stack([x, y]))
    for text in crowded:
        box = text.get_window_extent()
        middle = np.array([(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2])
        nearest = np.linalg.norm(points - middle, axis=1).argmin()
        assert text.get_text() == "abcdefghijk"[nearest]
