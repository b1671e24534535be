import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.data.groups import group_rows, time_column


@pytest.fixture(scope="module")
def data():
    n = 120
    rng = np.random.default_rng(0)
    columns = pd.DataFrame(
        {
            "language": np.where(np.arange(n) % 3, "en", "de"),
            "length": rng.normal(size=n),
            "when": pd.date_range("2024-01-15", periods=n, freq="1D").astype(str),
            "epoch": 1.7e9 + 86400.0 * np.arange(n),
            "version": np.where(np.arange(n) < 60, "v9", "v10"),
            "number": (np.arange(n) % 12).astype(str),
        }
    )
    columns.loc[:4, "language"] = None
    first = rng.integers(4, size=n)
    second = (first + rng.integers(1, 4, size=n)) % 4
    names = np.array(list("abcd"))
    judges = np.array(["x", "y"])[rng.integers(2, size=n)]
    made = hja.Comparisons.from_arrays(judges, names[first], names[second], np.ones(n), columns=columns)
    family = pd.DataFrame({"family": ["one", "two"]}, index=["x", "y"])
    return made.with_metadata(
        judges=family, items=pd.DataFrame({"size": ["big", "big", "small", "small"]}, index=list("abcd"))
    )


def test_labels_of_a_column_are_groups_and_rows_without_one_are_in_none(data):
    found = group_rows(data, "language")
    assert found.labels == ("de", "en")
    assert (found.code[:5] == -1).all()
    assert not found.is_ordered


@pytest.mark.parametrize(
    ("by", "options", "labels"),
    [
        ("version", {}, ("v9", "v10")),
        ("number", {"breaks": [4, 8], "labels": ["low", "mid", "high"]}, ("low", "mid", "high")),
        ("number", {"breaks": [6]}, ("below 6", "from 6")),
        ("when", {"period": "month"}, ("2024-01", "2024-02", "2024-03", "2024-04", "2024-05")),
        ("epoch", {"period": "quarter"}, ("2023Q4", "2024Q1")),
        ("family", {}, ("one", "two")),
        ("judge", {}, ("x", "y")),
        (["language", "version"], {}, ("de / v9", "de / v10", "en / v9", "en / v10")),
        ({"x": "left", "y": "right"}, {}, ("left", "right")),
    ],
)
def test_ways_to_make_groups(data, by, options, labels):
    assert group_rows(data, by, **options).labels == labels


def test_order_means_something_for_numbers_times_and_versions(data):
    ordered = [group_rows(data, "version"), group_rows(data, "number"), group_rows(data, "when", period="month")]
    assert all(found.is_ordered for found in ordered)
    assert group_rows(data, "number").labels == tuple(map(str, range(12)))
    ranked = pd.Series(pd.Categorical(np.where(np.arange(120) % 2, "low", "high"), ["low", "high"], ordered=True))
    assert group_rows(data, ranked).labels == ("low", "high")


def test_quantiles_are_about_as_large(data):
    found = group_rows(data, "length", quantiles=4)
    assert np.bincount(found.code).tolist() == [30, 30, 30, 30]
    values = data.columns["length"].to_numpy()
    assert values[found.code == 0].max() < values[found.code == 1].min()


def test_a_column_of_many_labels_is_cut_and_says_so(data, set_limits):
    set_limits(MOST_GROUPS=8)
    assert len(group_rows(data, "length").labels) == 4
    found = group_rows(data, "when")
    assert found.labels[0] == "2024-01"
    assert "cut by month" in found.told


def test_pairs_across_a_trait_of_items_are_a_group(data):
    found = group_rows(data, "size")
    assert found.labels == ("big", "big against small", "small")
    same = (data.first_index < 2) == (data.second_index < 2)
    assert ((found.code != 1) == same).all()


@pytest.mark.parametrize(
    ("by", "options", "text"),
    [
        ("colour", {}, "no column is called so"),
        (np.zeros(3), {}, "a label for each of the 120 rows"),
        ("language", {"breaks": [1]}, "'en' is none"),
        ("language", {"period": "month"}, "is cut as a time"),
        ("length", {"quantiles": 1}, "whole number from 2"),
        ("length", {"quantiles": 2, "breaks": [0]}, "cut in one way"),
        ("length", {"labels": ["a"]}, "labels name the groups"),
        ("length", {"breaks": [0], "labels": ["a"]}, "2 groups need as many"),
        ("length", {"breaks": [np.inf]}, "cannot be cut"),
        (np.zeros(120), {}, "there is one group"),
        ({"x": 1}, {}, "neither all judges"),
        ([], {}, "empty list"),
    ],
)
def test_what_cannot_be_grouped_is_refused_in_a_sentence(data, by, options, text):
    with pytest.raises((hja.ComparisonError, hja.OptionError), match=text):
        group_rows(data, by, **options)


def test_too_many_labels_that_are_neither_numbers_nor_times_are_refused(data, set_limits):
    set_limits(MOST_GROUPS=1)
    with pytest.raises(hja.ComparisonError, match="map labels to groups"):
        group_rows(data, "language")


def test_a_column_of_times_is_known_by_its_name():
    def with_column(name, values):
        columns = pd.DataFrame({name: values})
        return hja.Comparisons.from_arrays("j", list("ab"), list("bc"), [1, 0], columns=columns)

    assert time_column(with_column("timestamp", [1.7e9, 1.8e9])) == "timestamp"
    assert time_column(with_column("date", ["2024-01-01", "2024-01-02"])) == "date"
    assert time_column(with_column("date", ["soon", "later"])) is None
    assert time_column(with_column("date", ["2024-01-01", "2024-01-01"])) is None


def test_breaks_that_do_not_rise_are_refused():
    columns = pd.DataFrame({"length": [10, 250, 900]})
    data = hja.Comparisons.from_arrays("j", list("aba"), list("bcc"), [1, 0, 1], columns=columns)
    with pytest.raises(hja.OptionError, match="breaks must rise"):
        group_rows(data, "length", breaks=[500, 100], labels=["a", "b", "c"])
