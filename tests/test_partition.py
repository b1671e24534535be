"""Trees of judges against psychotree, and on judges whose groups are known."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import hjastats as hja

ORACLE = 1e-6
TRAITS = ["french", "spanish", "italian", "study", "work", "gender", "intdegree"]


@pytest.fixture
def students(shared_data):
    folder = shared_data / "r"
    table = pd.read_csv(folder / "cemschoice.csv")
    data = hja.read_comparisons(table, judge="judge", first="first", second="second", outcome="winner")
    return data.with_metadata(judges=pd.read_csv(folder / "cemschoice_judges.csv").set_index("judge"))


def crowd(n_judges, taste, rng):
    """Judges of four items, of whom ``taste`` says how they value them, shape (n_judges, 4)."""
    judge = np.repeat(np.arange(n_judges), 20)
    first = rng.integers(0, 4, len(judge))
    second = (first + rng.integers(1, 4, len(judge))) % 4
    wins = rng.random(len(judge)) < expit(taste[judge, first] - taste[judge, second])
    labels = np.array([*"abcd"])
    return hja.Comparisons.from_arrays([f"j{k:03d}" for k in judge], labels[first], labels[second], wins.astype(float))


def test_the_tree_of_students_is_that_of_psychotree(students, oracles):
    expected = json.loads((oracles / "r" / "bttree.json").read_text())["cems"]
    tree = hja.partition(students, TRAITS, min_size=5, ties="davidson")
    assert tree.llf == pytest.approx(-3786.467367, abs=ORACLE)
    assert tree.df == 34
    assert {str(n): len(result.model.judges) for n, result in tree.leaves.items()} == expected["n"]
    assert tree.rules[7] == "italian: poor & french: good & study: commerce"
    tested = 0
    for node in tree.root:
        for name, line in zip(("statistic", "p_adjusted"), expected["tests"][str(node.number)] or (), strict=False):
            known = {trait: value for trait, value in line.items() if trait in TRAITS and value is not None}
            for trait, value in known.items():
                assert node.tests.loc[trait, name] == pytest.approx(value, abs=ORACLE)
                tested += 1
    assert tested >= 90
    for row in expected["itempar_log"]:
        scores = tree.leaves[int(row["node"])].params
        # psychotree's log-worths differ from scores of Davidson's model by their mean alone.
        worth = pd.Series({item: value for item, value in row.items() if item not in ("node", "_row")})
        np.testing.assert_allclose(scores[[f"mu[{item}]" for item in worth.index]], worth - worth.mean(), atol=1e-5)


def test_voters_are_not_parted_as_in_psychotree(shared_data):
    folder = shared_data / "r"
    table = pd.read_csv(folder / "germanparties.csv")
    names = {"judge": "judge", "first": "first", "second": "second", "outcome": "winner"}
    judges = pd.read_csv(folder / "germanparties_judges.csv").set_index("judge").astype({"education": str})
    tree = hja.partition(
        hja.read_comparisons(table, **names, codes="names"),
        judges[["gender", "age", "education", "crisis"]],
        min_size=20,
    )
    assert len(tree.leaves) == 1
    assert tree.llf == pytest.approx(-1716.807322, abs=ORACLE)
    assert "No trait of the judges changes the ranking at level 0.05" in str(tree)


def test_known_groups_are_found_by_number_and_by_label():
    rng = np.random.default_rng(7)
    age, school = rng.integers(20, 80, 240), rng.choice([*"uvw"], 240)
    base = np.array([1.0, 0.3, -0.3, -1.0])
    taste = np.where((age > 50)[:, None], -base, np.where((school == "v")[:, None], base[[1, 0, 3, 2]] * 2.0, base))
    data = crowd(240, taste, rng)
    traits = pd.DataFrame({"age": age, "school": school, "coin": rng.choice([*"ht"], 240)}, index=data.judges)
    tree = hja.partition(data, traits)
    assert tree.root.split.trait == "age"
    assert 47 <= tree.root.split.at <= 53
    younger, older = tree.root.children
    assert not older.children
    assert younger.split.trait == "school"
    assert set(map(frozenset, younger.split.labels)) == {frozenset("v"), frozenset("uw")}
    assert [node.number for node in tree.root] == [1, 2, 3, 4, 5]
    assert tree.consensus[5].idxmax() == "d"
    new = tree.leaf_of(pd.DataFrame({"age": [70, 30, 30], "school": [*"vvu"]}))
    assert new.iloc[0] == 5
    assert set(new.iloc[1:]) == {3, 4}
    assert (tree.leaf_of(tree.traits) == tree.leaf_of(traits)).all()


def test_leaves_add_up_to_all_judges_and_are_fits_of_their_own():
    rng = np.random.default_rng(8)
    group = np.repeat([*"xy"], 60)
    data = crowd(120, np.where((group == "x")[:, None], 1.0, -1.0) * np.array([1.0, 0.0, 0.0, -1.0]), rng)
    tree = hja.partition(data, pd.DataFrame({"group": group}, index=data.judges))
    assert sorted(judge for node in tree.root if not node.children for judge in node.judges) == sorted(data.judges)
    alone = hja.BTLModel.from_comparisons(data.without_judges(data.judges[60:])).fit()
    first = next(result for result in tree.leaves.values() if "j000" in result.model.judges)
    np.testing.assert_allclose(first.params, alone.params, atol=1e-8)
    assert tree.tests.loc[(1, "group"), "p_adjusted"] < 1e-6
    assert tree.bic == pytest.approx(-2 * tree.llf + np.log(data.n_comparisons) * tree.df)


def test_depth_and_size_limit_the_tree():
    rng = np.random.default_rng(9)
    group = np.repeat([*"xyz"], 30)
    shift = np.repeat([1.5, 0.0, -1.5], 30)
    data = crowd(90, shift[:, None] * np.array([1.0, 0.0, 0.0, -1.0]), rng)
    traits = pd.DataFrame({"group": group}, index=data.judges)
    assert len(hja.partition(data, traits).leaves) == 3
    assert len(hja.partition(data, traits, max_depth=1).leaves) == 2
    assert len(hja.partition(data, traits, min_size=46).leaves) == 1


def test_a_tree_of_few_judges_says_that_nothing_was_tested(panel):
    tree = hja.partition(panel, pd.DataFrame({"age": range(8)}, index=panel.judges))
    assert "Nothing was tested: 8 judges are too few for 9 parameters" in str(tree)
    assert tree.tests.empty


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"traits": ["height"]}, "no trait of the judges is called 'height'"),
        ({"alpha": 5}, "alpha must lie between 0 and 1"),
        ({"min_size": 0}, "min_size must be a whole number"),
    ],
)
def test_bad_arguments_get_a_sentence(options, message):
    data = crowd(20, np.zeros((20, 4)), np.random.default_rng(0))
    data = data.with_metadata(judges=pd.DataFrame({"age": range(20)}, index=data.judges))
    with pytest.raises(hja.InputError, match=message):
        hja.partition(data, **options)
