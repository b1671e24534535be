"""Tables of other shapes than one row per comparison: each in its documented form, tiny, with the answer known."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.data.readers import read_comparisons
from hjastats.diagnostics.order import has_order
from hjastats.errors import ComparisonError
from hjastats.inference.clusters import Clusters


def rows(data):
    """Judge, first, second, outcome."""
    return data.to_frame()[["judge", "first", "second", "outcome"]].to_numpy().tolist()


def written(tmp_path, name, records):
    path = tmp_path / name
    path.write_text("\n".join(map(json.dumps, records)) if name.endswith("jsonl") else json.dumps(records))
    return path


def asked(source, **options):
    """What the only message asks for."""
    with pytest.raises(ComparisonError) as caught:
        read_comparisons(source, **options)
    return caught.value


# Published files

FASTCHAT = [
    {
        "question_id": 81 + k,
        "model_1": "alpaca-13b",
        "model_2": "gpt-4",
        "g1_winner": g1,
        "g2_winner": g2,
        "judge": ["gpt-4", "pair-v2"],
        "g1_user_prompt": "...",
        "g1_judgment": "[[B]]",
        "turn": 1,
        "tstamp": 1686286924.1,
    }
    for k, (g1, g2) in enumerate([("model_2", "model_2"), ("model_1", "model_2"), ("tie", "error")])
]


def test_both_games_of_a_fastchat_pair_are_verdicts_in_opposite_orders(tmp_path):
    data = read_comparisons(written(tmp_path, "gpt-4_pair.jsonl", FASTCHAT))
    judge = "gpt-4/pair-v2"
    assert rows(data) == [
        [judge, "alpaca-13b", "gpt-4", 0.0],
        [judge, "alpaca-13b", "gpt-4", 1.0],
        [judge, "alpaca-13b", "gpt-4", 0.5],
        [judge, "gpt-4", "alpaca-13b", 1.0],
        [judge, "gpt-4", "alpaca-13b", 1.0],
    ]
    assert data.dropped["label"].tolist() == ["error"]
    assert data.has_order
    assert Clusters.of_prompts(data).name == "question_id"
    report = hja.swap_report(data).loc[judge]
    assert (report["swapped"], report["consistent"], report["first"]) == (2, 1, 1)


def games(*scores):
    return [{"user_prompt": "...", "judgment": "...", "score": score} for score in scores]


def test_arena_hard_shows_the_baseline_first_in_the_first_game_and_keeps_the_grades(tmp_path):
    records = [
        {"uid": "q1", "model": "llama", "judge": "gpt-4.1", "baseline": "o3-mini", "games": games("A>>B", "B>A")},
        {"uid": "q2", "model": "llama", "judge": "gpt-4.1", "baseline": "o3-mini", "games": games("A=B", None)},
        {"uid": "q1", "model": "o3-mini", "judge": "gpt-4.1", "baseline": "o3-mini", "games": games("A=B", "A=B")},
    ]
    data = read_comparisons(written(tmp_path, "llama.jsonl", records))
    assert rows(data) == [
        ["gpt-4.1", "o3-mini", "llama", 1.0],
        ["gpt-4.1", "llama", "o3-mini", 0.25],
        ["gpt-4.1", "o3-mini", "llama", 0.5],
    ]
    assert data.dropped["count"].sum() == 1
    assert Clusters.of_prompts(data).name == "uid"


def test_arena_hard_without_a_baseline_asks_for_it():
    records = [{"question_id": "q", "model": "llama", "judge": "gpt-4", "games": games("A>B", "B>>A")}]
    error = asked(records)
    assert "which baseline" in str(error)
    [hint] = error.hints
    data = read_comparisons(records, **{hint.name: hint.value})
    assert rows(data) == [["gpt-4", "gpt-4-0314", "llama", 0.75], ["gpt-4", "llama", "gpt-4-0314", 0.0]]


ONE_HOT = {
    "id": [1, 2, 3],
    "model_a": ["gpt", "gpt", "llama"],
    "model_b": ["llama", "claude", "claude"],
    "prompt": ["p", "q", "r"],
    "winner_model_a": [1, 0, 0],
    "winner_model_b": [0, 1, 0],
    "winner_tie": [0, 0, 1],
}


@pytest.mark.parametrize("kind", ["dict", "csv", "polars"])
def test_one_hot_verdicts_count_ties_as_ties(tmp_path, kind):
    source = ONE_HOT
    if kind == "csv":
        source = tmp_path / "train.csv"
        pd.DataFrame(ONE_HOT).to_csv(source, index=False)
    if kind == "polars":
        source = pytest.importorskip("polars").DataFrame(ONE_HOT)
    data = read_comparisons(source)
    assert data.judges == ("human",)
    assert data.outcome.tolist() == [1.0, 0.0, 0.5]
    assert read_comparisons(ONE_HOT, single_judge="me").judges == ("me",)


@pytest.mark.parametrize("bad", [{"winner_tie": [1, 0, 1]}, {"winner_tie": [0, 0, 0]}, {"winner_tie": [0, 0, 0.5]}])
def test_one_hot_verdicts_that_are_not_one_are_refused(bad):
    with pytest.raises(ComparisonError, match=r"exactly one of the columns 'winner_model_a'.* 1 rows"):
        read_comparisons(ONE_HOT | bad)


def test_alpaca_eval_preferences_run_from_one_to_two_and_say_nothing_about_the_order():
    records = [
        {
            "instruction": k,
            "generator_1": "gpt4_turbo",
            "generator_2": "llama",
            "annotator": "weighted",
            "preference": p,
        }
        for k, p in enumerate([1.0, 2.0, 1.5, 1.25, None])
    ]
    data = read_comparisons(records)
    assert data.outcome.tolist() == [1.0, 0.0, 0.5, 0.75]
    assert not data.has_order
    assert Clusters.of_prompts(data).name == "instruction"
    # Ones alone may be either: it asks.
    assert "never guessed" in str(asked([record | {"preference": 1} for record in records]))


LMARENA = [
    {
        "id": str(k),
        "model_a": "gpt",
        "model_b": b,
        "winner": winner,
        "evaluation_session_id": session,
        "conversation_a": [{"role": "user", "content": "hi"}],
        "conv_metadata": {"sum_assistant_a_tokens": 10 * k, "bold_count_a": {"**": k}},
        "category_tag": {"math_v0.1": {"math": k == 1}},
        "is_code": False,
    }
    for k, (b, winner, session) in enumerate(
        [("llama", "model_a", "s"), ("claude", "both_bad", "s"), ("llama", "tie", "t")]
    )
]


def test_lmarena_votes_are_one_judge_with_nested_columns_by_their_path(tmp_path):
    data = read_comparisons(written(tmp_path, "arena.jsonl", LMARENA))
    assert data.judges == ("human",)
    assert data.outcome.tolist() == [1.0, 0.5, 0.5]
    assert data.cluster == "evaluation_session_id"
    assert Clusters.of_prompts(data).n == 2
    assert data.columns["conv_metadata.sum_assistant_a_tokens"].tolist() == [0, 10, 20]
    assert data.columns["category_tag.math_v0.1.math"].tolist() == [False, True, False]
    assert read_comparisons(LMARENA, both_bad="drop").n_rows == 2


def test_nested_columns_of_an_engine_are_kept_by_their_path():
    polars = pytest.importorskip("polars")
    data = read_comparisons(polars.DataFrame(LMARENA), keep=["conv_metadata.bold_count_a.**"])
    assert data.columns["conv_metadata.bold_count_a.**"].tolist() == [0, 1, 2]


# Everyday tables


@pytest.mark.parametrize(
    "names", [("winner", "loser"), ("chosen", "rejected"), ("chosen_model", "rejected_model"), ("Winner", "Loser")]
)
def test_tables_of_winners_have_no_order(names):
    data = read_comparisons({"judge": ["j"] * 3, names[0]: list("aab"), names[1]: list("bcc"), "prompt": [1, 2, 3]})
    assert rows(data) == [["j", "a", "b", 1.0], ["j", "a", "c", 1.0], ["j", "b", "c", 1.0]]
    assert not data.has_order
    assert not has_order(data)
    assert "order       not known" in repr(data)
    assert "first item preferred" not in repr(data)


def test_nothing_is_said_of_positions_where_there_is_no_order(tmp_path):
    rng = np.random.default_rng(1)
    items = np.array(list("abcde"))
    first, second = (items[k] for k in np.array([rng.choice(5, 2, replace=False) for _ in range(400)]).T)
    score = dict(zip(items, [0.0, 0.4, 0.8, 1.2, 1.6], strict=True))
    wins = rng.random(400) < 1 / (1 + np.exp([score[b] - score[a] for a, b in zip(first, second, strict=True)]))
    table = {"judge": ["j", "k"] * 200, "winner": np.where(wins, first, second), "loser": np.where(wins, second, first)}
    data = read_comparisons(table)
    result = hja.BTLModel.from_comparisons(data).fit()
    told = " ".join(finding.text for finding in result.findings)
    assert "does not say what was shown first" in told
    assert "picks the first" not in told
    assert "position=" not in told
    result.to_json(tmp_path / "fit.json")
    assert not hja.load_results(tmp_path / "fit.json").model.comparisons.has_order
    assert not data.subset(np.arange(300)).has_order
    assert not data.pool_rare_judges(1000).has_order


def test_answers_are_no_items():
    answers = {"prompt": ["p", "q"], "chosen": ["Sure!\nHere", "x"], "rejected": ["No.", "y"], "judge": ["j", "j"]}
    for chosen in (answers["chosen"], [[{"role": "user"}], [{"role": "user"}]], ["long " * 60, "x"]):
        error = asked(answers | {"chosen": chosen})
        assert "hold answers, not the names of items" in str(error)
    models = answers | {"winning": ["gpt", "llama"], "losing": ["llama", "claude"]}
    data = read_comparisons(models, first="winning", second="losing", format="winner_loser")
    assert (data.outcome.tolist(), data.has_order) == ([1.0, 1.0], False)


WIDE = {
    "question_id": [1, 2],
    "model_a": ["gpt", "llama"],
    "model_b": ["llama", "claude"],
    "gpt-4": ["[[A]]", "[[C]]"],
    "claude-3": ["Assistant B", None],
    "note": ["fine", "fine"],
}


def test_a_column_for_each_judge_is_known_by_its_verdicts():
    data = read_comparisons(WIDE)
    assert rows(data) == [
        ["gpt-4", "gpt", "llama", 1.0],
        ["gpt-4", "llama", "claude", 0.5],
        ["claude-3", "gpt", "llama", 0.0],
    ]
    assert data.columns.columns.tolist() == ["question_id", "note"]
    same = read_comparisons(WIDE, outcome=["gpt-4", "claude-3"])
    assert rows(same) == rows(data)
    assert rows(read_comparisons(WIDE, format="wide")) == rows(data)


def test_names_of_items_are_verdicts_of_a_column_for_each_judge():
    data = read_comparisons(WIDE | {"gpt-4": ["gpt", "tie"], "claude-3": ["llama", "claude"]})
    assert data.outcome.tolist() == [1.0, 0.5, 0.0, 0.0]


def test_one_column_of_verdicts_or_several_of_one_judge_are_asked_about():
    one = {name: values for name, values in WIDE.items() if name != "claude-3"}
    error = asked(one, single_judge="me")
    assert [(hint.name, hint.value) for hint in error.hints] == [("outcome", "gpt-4")]
    assert read_comparisons(one, single_judge="me", outcome="gpt-4").outcome.tolist() == [1.0, 0.5]
    criteria = WIDE | {"judge": ["j", "j"]}
    for hint in asked(criteria).hints:
        assert read_comparisons(criteria, **{hint.name: hint.value}).judges == ("j",)


# Judged together

RATINGS = pd.DataFrame(
    {
        "judge": ["ann"] * 4 + ["bob"] * 2,
        "question_id": [1, 1, 1, 2, 1, 1],
        "model": ["gpt", "llama", "claude", "gpt", "gpt", "llama"],
        "score": [9, 7, 9, 3, 5, 6],
    }
)


def test_ratings_become_pairs_within_judge_and_prompt():
    data = read_comparisons(RATINGS)
    assert rows(data) == [
        ["ann", "gpt", "llama", 1.0],
        ["ann", "gpt", "claude", 0.5],
        ["ann", "llama", "claude", 0.0],
        # Half as much worse as the most that anything is.
        ["bob", "gpt", "llama", 0.25],
    ]
    assert (data.has_order, data.cluster) == (False, "question_id")
    assert data.made_of == "6 ratings: pairs within each 'judge' and 'question_id', graded by their difference"
    named = RATINGS.set_axis(["who", "task", "product x", "mark"], axis=1)
    same = read_comparisons(named, judge="who", cluster="task", item="product x", score="mark", format="ratings")
    assert rows(same) == rows(data)


def test_turns_are_rated_apart_and_repeated_ratings_count_as_their_mean():
    turns = pd.concat([RATINGS.assign(turn=1), RATINGS.assign(turn=2, score=-RATINGS["score"])])
    assert read_comparisons(turns).outcome.tolist() == [1.0, 0.5, 0.0, 0.25, 0.0, 0.5, 1.0, 0.75]
    again = pd.concat([RATINGS, RATINGS.assign(score=[1, 7, 7, 3, 9, 1])])
    # Means of 5, 7 and 8, and of 7 and 3.5, which is the largest difference.
    np.testing.assert_allclose(read_comparisons(again).outcome, 0.5 + np.array([-2, -3, -1, 3.5]) / 7)


def test_failed_ratings_of_fastchat_are_left_out():
    single = RATINGS.assign(judgment="...", score=[-1, 7, 9, 3, 5, 6])
    assert rows(read_comparisons(single)) == [["ann", "llama", "claude", 0.0], ["bob", "gpt", "llama", 0.25]]


def test_ratings_on_a_fine_scale_are_cut_into_as_many_strengths_as_have_thresholds():
    rng = np.random.default_rng(0)
    fine = pd.DataFrame(
        {
            "judge": "ann",
            "question_id": np.repeat(range(60), 2),
            "model": ["gpt", "llama"] * 60,
            "score": rng.random(120),
        }
    )
    data = read_comparisons(fine)
    higher = fine["score"].to_numpy()[::2] - fine["score"].to_numpy()[1::2]
    np.testing.assert_array_equal(np.sign(data.outcome - 0.5), np.sign(higher))
    np.testing.assert_array_equal(np.unique(np.abs(data.outcome - 0.5).round(9)), [0.1, 0.2, 0.3, 0.4, 0.5])
    assert (np.bincount(np.round(10 * np.abs(data.outcome - 0.5)).astype(int))[1:] == 12).all()
    # The order of the differences is kept.
    order = np.argsort(np.abs(higher))
    assert (np.diff(np.abs(data.outcome - 0.5)[order].round(9)) >= 0).all()


def test_of_two_items_of_a_ranking_the_one_that_was_shown_before_is_the_first():
    table = RANKINGS.assign(shown_at=[3, 1, 2, 2, 1])
    data = read_comparisons(table)
    assert data.has_order
    assert rows(data) == [
        ["ann", "b", "a", 1.0],
        ["ann", "c", "a", 0.5],
        ["ann", "b", "c", 1.0],
        ["bob", "b", "a", 0.0],
    ]
    swapped = read_comparisons(RANKINGS)
    assert not swapped.has_order
    assert sorted(data.columns.columns) == sorted(swapped.columns.columns)


def test_ratings_that_repeat_without_a_prompt_are_asked_about():
    plain = RATINGS.drop(columns="question_id")
    assert "pass cluster='column'" in str(asked(plain))
    once = plain.drop_duplicates(["judge", "model"])
    assert read_comparisons(once).n_rows == 4


def test_ratings_and_rankings_may_have_a_column_for_each_item():
    wide = pd.DataFrame(
        {"judge": ["ann", "bob"], "question_id": [1, 1], "gpt": [1, 2], "llama": [2, 1], "claude": [2, np.nan]}
    )
    items = ["gpt", "llama", "claude"]
    ratings = read_comparisons(wide, format="ratings", item=items)
    assert rows(ratings) == [
        ["ann", "gpt", "llama", 0.0],
        ["ann", "gpt", "claude", 0.0],
        ["ann", "llama", "claude", 0.5],
        ["bob", "gpt", "llama", 1.0],
    ]
    assert ratings.cluster == "question_id"
    rankings = read_comparisons(wide, format="rankings", item=items)
    # Who has no place was there, and is behind.
    assert rankings.outcome.tolist() == [1.0, 1.0, 0.5, 0.0, 1.0, 1.0]
    # Nobody can tell numbers from numbers: both ways are offered, then the columns.
    hints = {hint.value for hint in asked(wide).hints if hint.name == "format"}
    assert hints == {"ratings", "rankings"}
    for format in hints:
        [columns] = [hint.value for hint in asked(wide, format=format).hints if isinstance(hint.value, list)]
        assert columns == items


RANKINGS = pd.DataFrame(
    {
        "ranking": [1, 1, 1, 2, 2],
        "judge": ["ann"] * 3 + ["bob"] * 2,
        "segment": [7, 7, 7, 8, 8],
        "system": list("abcab"),
        "rank": [2, 1, 2, 1, None],
    }
)


def test_long_rankings_become_pairs_clustered_by_ranking():
    data = read_comparisons(RANKINGS)
    assert rows(data) == [
        ["ann", "a", "b", 0.0],
        ["ann", "a", "c", 0.5],
        ["ann", "b", "c", 1.0],
        ["bob", "a", "b", 1.0],
    ]
    assert (data.has_order, data.cluster) == (False, "ranking")
    assert data.columns["segment"].tolist() == [7, 7, 7, 8]
    assert Clusters.of_prompts(data).name == "ranking"
    assert "clusters    2 by 'ranking'" in repr(data)


@pytest.mark.parametrize(
    "table",
    [
        {"judge": ["j", "k"], "ranking": [["b", "a", "c"], ["a", "b"]]},
        {"judge": ["j", "k"], "ranking": ["b > a > c", "a>b"]},
        {"judge": ["j", "k"], "rank_1": ["b", "a"], "rank_2": ["a", "b"], "rank_3": ["c", None]},
    ],
)
def test_rankings_may_be_written_as_lists(table):
    data = read_comparisons(table)
    assert rows(data) == [["j", "b", "a", 1.0], ["j", "b", "c", 1.0], ["j", "a", "c", 1.0], ["k", "a", "b", 1.0]]
    assert data.cluster == "ranking"


def test_ties_within_a_written_ranking():
    assert read_comparisons({"judge": ["j"], "ranking": ["a = b > c"]}).outcome.tolist() == [0.5, 1.0, 1.0]
    assert "must be a list of items" in str(asked({"judge": ["j"], "ranking": ["abc"]}))


def test_a_rating_and_a_place_are_two_readings():
    both = RANKINGS.assign(score=[1, 2, 1, 5, 4])
    error = asked(both)
    outcomes = [read_comparisons(both, **{hint.name: hint.value}).outcome.tolist() for hint in error.hints]
    assert outcomes == [[0.0, 0.5, 1.0, 1.0], [0.0, 0.5, 1.0, 1.0]]


BEST_WORST = {
    "judge": ["f1", "f2"],
    "variety_a": ["x", "y"],
    "variety_b": ["y", "z"],
    "variety_c": ["z", "x"],
    "best": ["C", "y"],
    "worst": ["variety_a", "B"],
    "var_a": ["Worse", "Worse"],
    "var_b": ["Worse", "Better"],
    "var_c": ["Better", "Worse"],
}


def test_best_and_worst_of_three_is_a_full_ranking():
    data = read_comparisons(BEST_WORST)
    assert rows(data) == [
        ["f1", "x", "y", 0.0],
        ["f1", "x", "z", 0.0],
        ["f1", "y", "z", 0.0],
        ["f2", "y", "z", 1.0],
        ["f2", "y", "x", 1.0],
        ["f2", "z", "x", 0.0],
    ]
    assert (data.has_order, data.cluster) == (False, "ranking")
    assert asked(BEST_WORST | {"best": ["C", "q"]}).args[0].startswith("the column 'best' names none of the items")


def test_of_four_only_pairs_with_the_best_follow_the_model():
    four = {
        "judge": ["f"],
        "item_a": ["w"],
        "item_b": ["x"],
        "item_c": ["y"],
        "item_d": ["z"],
        "best": ["B"],
        "worst": ["C"],
    }
    data = read_comparisons(four, format="best_worst")
    assert rows(data) == [["f", "w", "x", 0.0], ["f", "x", "y", 1.0], ["f", "x", "z", 1.0]]


def test_pairs_of_rankings_recover_the_scores_that_made_them():
    """Margins of Plackett-Luce are Bradley-Terry's: full rankings, best of four, best and worst of three, first two of four."""
    rng, truth, n = np.random.default_rng(7), np.array([0.9, 0.3, -0.2, -1.0]), 4000
    drawn = np.argsort(-(truth + rng.gumbel(size=(n, 4))), axis=1)
    place = np.argsort(drawn, axis=1) + 1
    items = list("abcd")
    wide = pd.DataFrame(place, columns=items).assign(judge="j")
    names = np.array(items)[drawn]
    best = {f"item_{k}": [k] * n for k in items} | {"judge": ["j"] * n, "best": names[:, 0], "worst": names[:, 3]}
    first_two = wide.assign(**{k: wide[k].where(wide[k] <= 2) for k in items})
    sources = [
        read_comparisons(wide, format="rankings", item=items),
        read_comparisons(best, format="best_worst"),
        read_comparisons(first_two, format="rankings", item=items),
    ]
    for data in sources:
        scores = hja.BTLModel.from_comparisons(data).fit().consensus["estimate"].to_numpy()
        # Some four standard errors of the choice of the best alone.
        np.testing.assert_allclose(scores, truth, atol=0.15)


# What is asked


def test_short_answers_are_no_items_and_models_are_taken_where_they_are_named():
    n = 12
    texts = {
        "chosen": [f"The answer is number {i}." for i in range(n)],
        "rejected": [f"I do not know {i}." for i in range(n)],
    }
    assert "hold answers, not the names of items" in str(asked(texts | {"judge": ["j"] * n}))
    models = {"chosen_model": ["gpt", "llama", "claude"] * 4, "rejected_model": ["llama", "claude", "gpt"] * 4}
    assert hja.read_comparisons(texts | models, single_judge="j").items == ("claude", "gpt", "llama")
    # Names of several words come again, or could not be compared.
    names = {
        "winner": ["a large model one", "a large model two"] * 6,
        "loser": ["a large model two", "a large model three"] * 6,
    }
    assert len(hja.read_comparisons(names, single_judge="j").items) == 3


def test_one_message_asks_who_judged_and_what_the_numbers_mean():
    table = {"home": ["x", "y", "z"], "away": ["y", "z", "x"], "result": [1, 0, -1]}
    text = str(asked(table))
    assert "no judge column" in text
    assert "codes='1..-1' if 1 is the strongest preference for the first item" in text
    data = hja.read_comparisons(table, single_judge="all", codes="1..-1")
    assert data.outcome.tolist() == [1.0, 0.5, 0.0]
    assert str(asked(table, codes="1..-1")).endswith("if one judge of that name gave all verdicts.")


def test_who_ranked_is_asked_among_all_columns_of_a_file_that_an_engine_reads(tmp_path):
    path = tmp_path / "rankings.parquet"
    pd.DataFrame({"voter": ["v1", "v2"], "ranking": ["a > b > c", "b > a > c"]}).to_parquet(path)
    assert "found among 'voter', 'ranking': pass judge='voter'" in str(asked(str(path)))


def test_a_column_of_counts_is_asked_about_and_both_answers_are_right():
    table = {"judge": ["j"] * 2, "home": ["a", "a"], "away": ["b", "b"], "winner": ["home", "away"], "n": [4, 3]}
    by_value = {hint.value: read_comparisons(table, weight=hint.value).weight.tolist() for hint in asked(table).hints}
    assert by_value == {"n": [4.0, 3.0], False: [1.0, 1.0]}


def test_numbers_of_wins_are_asked_about():
    table = {"judge": ["j"], "player1": ["a"], "player2": ["b"], "win1": [5], "win2": [3], "tie": [2]}
    hints = {hint.name: hint.value for hint in asked(table).hints if hint.value != "column"}
    data = read_comparisons(table, **hints)
    assert (data.outcome.tolist(), data.weight.tolist()) == ([1.0, 0.0, 0.5], [5.0, 3.0, 2.0])


def test_one_message_asks_for_all_that_is_missing_and_following_it_reads_the_table():
    table = {
        "student": ["s", "t"],
        "school1": ["a", "b"],
        "school2": ["b", "c"],
        "winner": ["school1", "school2"],
        "n": [2, 3],
    }
    error = asked(table)
    assert str(error).startswith("no pair of item columns and no judge column found among 'student', 'school1'")
    hints = {hint.name: hint.value for hint in reversed(error.hints) if hint.name != "single_judge"}
    data = read_comparisons(table, **hints)
    assert rows(data) == [["s", "a", "b", 1.0], ["t", "b", "c", 0.0]]
    assert data.weight.tolist() == [2.0, 3.0]


def test_a_format_that_the_table_does_not_have_is_named():
    with pytest.raises(ComparisonError, match="the table is not of format='fastchat': its columns are 'judge'"):
        read_comparisons({"judge": ["j"], "model_a": ["a"], "model_b": ["b"], "winner": ["a"]}, format="fastchat")


def test_a_format_can_be_declined():
    table = {"judge": ["j"], "generator_1": ["a"], "generator_2": ["b"], "preference": ["a"]}
    assert read_comparisons(table, format="pairs").outcome.tolist() == [1.0]


def test_a_column_to_cluster_by_is_carried():
    table = {"judge": ["j"] * 2, "left": ["a", "b"], "right": ["b", "c"], "winner": ["left", "right"], "block": [3, 3]}
    data = read_comparisons(table, cluster="block", keep=[])
    assert (data.cluster, data.columns["block"].tolist()) == ("block", [3, 3])


# Labels that look alike

ALIKE = {
    "judge": ["j"] * 5,
    "left": ["gpt-4", "gpt-4 ", "GPT-4", "caf\u00e9", "gpt-4"],
    "right": ["cafe\u0301", "x", "x", "x\u200b", "x"],
    "winner": ["left", "gpt-4", "left", "right", "GPT-4 "],
}


def test_labels_that_look_alike_are_named_with_counts_and_joined_if_asked():
    with pytest.warns(hja.LabelWarning, match="some item labels look alike") as caught:
        data = read_comparisons(ALIKE | {"winner": ["left"] * 5})
    assert data.n_items == 7
    text = str(caught[0].message)
    assert "'gpt-4' (2) and 'gpt-4 ' (1) and 'GPT-4' (1)" in text
    assert r"'cafe\u0301' (1)" in text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_comparisons(ALIKE | {"winner": ["left"] * 5}, clean=False).n_items == 7
        joined = read_comparisons(ALIKE, clean=True)
    assert joined.items == ("caf\u00e9", "gpt-4", "x")
    assert joined.outcome.tolist() == [1.0, 1.0, 1.0, 0.0, 1.0]


def test_a_verdict_that_looks_like_an_item_is_joined_as_the_message_says():
    table = {"judge": ["j"], "left": ["gpt-4"], "right": ["x"], "winner": ["gpt-4 "]}
    [hint] = asked(table).hints
    assert read_comparisons(table, **{hint.name: hint.value}).outcome.tolist() == [1.0]


def test_bytes_are_text():
    table = {"judge": [b"j", "j"], "left": [b"gpt-4", "gpt-4"], "right": ["x", b"x"], "winner": [b"left", "right"]}
    data = read_comparisons(table)
    assert (data.judges, data.items, data.outcome.tolist()) == (("j",), ("gpt-4", "x"), [1.0, 0.0])
    with pytest.raises(ComparisonError, match="must be valid text"):
        read_comparisons(table | {"left": [b"\xff", b"\xff"]})


# What files have that nobody thought of


def given(error, **others):
    """The arguments that a message names, but those it leaves to the reader."""
    named = {hint.name: hint.value for hint in error.hints if hint.name not in ("first_wins", "second_wins")}
    return {name: value for name, value in named.items() if value not in (None, "column")} | others


ANSWERS = pd.DataFrame(
    {
        "annotator": ["ann", "ann", "bob", "bob"],
        "response_1": ['Sure, here is "it",\nin two lines.'] * 4,
        "response_2": ["I would say: 42."] * 4,
        "response_1_model": ["gpt", "llama", "gpt", "claude"],
        "response_2_model": ["llama", "claude", "claude", "gpt"],
        "preferred": ["1", "2", "tie", "1"],
    }
)


def test_a_message_names_the_columns_of_models_and_not_those_of_their_answers_and_leads_to_a_ranking():
    named = given(asked(ANSWERS))
    assert named == {"first": "response_1_model", "second": "response_2_model", "outcome": "preferred"}
    codes = given(asked(ANSWERS, **named))
    assert codes == {"codes": {"1": "first", "2": "second"}}
    data = read_comparisons(ANSWERS, **named, **codes)
    assert rows(data)[:3] == [["ann", "gpt", "llama", 1], ["ann", "llama", "claude", 0], ["bob", "gpt", "claude", 0.5]]


def test_answers_are_no_items_and_the_message_names_the_columns_of_their_models():
    error = asked(
        ANSWERS, first="response_1", second="response_2", outcome="preferred", codes={"1": "first", "2": "second"}
    )
    assert "hold answers" in str(error)
    assert given(error) == {"first": "response_1_model", "second": "response_2_model"}
    only = ANSWERS.drop(columns=["response_1_model", "response_2_model"])
    assert "first" not in given(asked(only))


@pytest.mark.parametrize(
    "pair", [("Model A", "Model B"), ("modelA", "modelB"), ("MODEL-A", "MODEL-B"), ("Model.A", "model_B")]
)
def test_columns_are_found_whatever_stands_between_the_words_of_their_names(pair):
    table = pd.DataFrame({"Judge Name": ["j"] * 2, pair[0]: ["x", "y"], pair[1]: ["y", "z"], "Winner ": ["A", "B"]})
    data = read_comparisons(table.assign(**{"Prompt ID": [1, 1]}))
    assert data.outcome.tolist() == [1, 0]
    assert Clusters.of_prompts(data).name == "Prompt ID"


def test_a_column_for_each_judge_is_seen_where_the_items_are_named():
    wide = pd.DataFrame(
        {"Nr": [1, 2], "One": ["x", "y"], "Two": ["y", "z"], "gpt-4": ["A", "tie"], "Anna": ["b ", None]}
    )
    data = read_comparisons(wide, first="One", second="Two")
    assert data.judges == ("Anna", "gpt-4")
    assert rows(data) == [["gpt-4", "x", "y", 1], ["gpt-4", "y", "z", 0.5], ["Anna", "x", "y", 0]]


EVERY_VERDICT = pd.DataFrame(
    {
        "model_a": list("xyxz"),
        "model_b": list("yzzx"),
        "judge": ["ann", "ann", "bob", "bob"],
        "winner_model_a": [1, 0, 0, 0],
        "winner_model_b": [0, 1, 0, 0],
        "winner_tie": [0, 0, 1, 0],
        "winner_tie (bothbad)": [0, 0, 0, 1],
    }
)


def test_columns_of_zeros_and_ones_have_every_verdict_that_a_label_can_have():
    assert read_comparisons(EVERY_VERDICT).outcome.tolist() == [1, 0, 0.5, 0.5]
    data = read_comparisons(EVERY_VERDICT, both_bad="drop")
    assert data.n_rows == 3
    assert data.dropped.to_numpy().tolist() == [["bob", "tie (bothbad)", 1]]


def test_rows_without_a_win_of_either_and_without_a_tie_are_counted():
    data = read_comparisons(EVERY_VERDICT, first_wins="winner_model_a", second_wins="winner_model_b", tied="winner_tie")
    assert (data.n_rows, data.n_empty) == (3, 1)
    assert "1 row without a verdict" in str(data)
    [told] = [finding.text for finding in hja.fit(data).findings if finding.topic == "dropped"]
    assert "1 row without a verdict" in told


def test_columns_that_stand_for_verdicts_are_not_taken_for_judges():
    columns = [name for name in EVERY_VERDICT if name.startswith("winner_")]
    table = EVERY_VERDICT.rename(columns=lambda name: name.replace("winner_", "is_"))
    error = asked(table, outcome=[name.replace("winner_", "is_") for name in columns])
    named = {hint.name: hint.value for hint in error.hints if hint.name != "format"}
    assert read_comparisons(table, **named).outcome.tolist() == [1, 0, 0.5]
    assert {hint.name: hint.value for hint in asked(EVERY_VERDICT, outcome=columns).hints}["format"] == "one_hot"
    assert read_comparisons(EVERY_VERDICT, format="one_hot").n_rows == 4


def test_rankings_that_are_missing_or_of_one_item_are_counted_and_the_clusters_are_the_others():
    table = {"annotator": ["ann", "bob", "bob", "ann", "ann"], "ranking": [["x", "y", "z"], None, [], ["x"], "z > y"]}
    data = read_comparisons(table)
    assert data.dropped.to_numpy().tolist() == [["ann", "a single item", 1], ["bob", "missing", 2]]
    assert data.made_of == "2 rankings: pairs within each row"
    assert data.columns["ranking"].nunique() == 2
    alone = read_comparisons({"ranking": [["x", "y", "z"], None]}, single_judge="me")
    assert alone.dropped["judge"].tolist() == ["me"]


def test_a_ranking_with_an_item_twice_and_one_that_is_none_are_named_by_their_row():
    table = {"annotator": ["ann"] * 3, "ranking": [["x", "y"], ["y", "x", "y"], ["x", "z"]]}
    assert "1 ranking has an item at several places, first at row 2, counted from 1 ('y')" in str(asked(table))
    table["ranking"][1] = 7
    assert "got 7 at row 2, counted from 1" in str(asked(table))


def test_a_best_that_is_the_worst_is_counted_and_says_nothing():
    labels = {"item_1": ["x"] * 4, "item_2": ["y"] * 4, "item_3": ["z"] * 4}
    table = {"worker": ["ann"] * 4, **labels, "best": ["x", "y", None, "z"], "worst": ["z", "y", "x", None]}
    data = read_comparisons(table)
    assert rows(data) == [["ann", a, b, 1] for a, b in ("xy", "xz", "yz")] + [["ann", a, "z", 0] for a in "xy"]
    assert data.dropped.to_numpy().tolist() == [["ann", "best is worst", 1], ["ann", "missing", 1]]


def test_ratings_given_twice_are_counted_and_those_that_differ_are_a_warning_that_can_be_followed():
    table = pd.DataFrame(
        {
            "judge": ["ann"] * 5,
            "prompt": ["p"] * 5,
            "model": ["x", "y", "z", "x", "y"],
            "score": [9, 9, 3, 9, 1],
        }
    )
    data = read_comparisons(table)
    assert "1 rating given again, the same, count once" in data.made_of
    [doubt] = data.doubts
    assert "1 item had several ratings within one 'judge' and 'prompt' that differ, such as 9 and 1 for 'y'" in doubt
    assert "call the column that tells them apart 'run'" in doubt
    apart = read_comparisons(table.assign(run=[1, 1, 1, 2, 2]))
    assert not apart.doubts
    assert apart.n_rows == 4


def test_what_was_doubtful_when_reading_is_among_the_warnings_and_is_kept_in_files(tmp_path):
    table = pd.DataFrame(
        {"judge": "j", "left": ["gpt", "gpt ", "llama"] * 4, "right": ["llama", "claude", "claude"] * 4}
    )
    table["winner"] = ["left", "right", "left", "right", "left", "right"] * 2
    with pytest.warns(hja.LabelWarning, match="look alike"):
        data = read_comparisons(table)
    result = hja.BTLModel.from_comparisons(data.pool_rare_judges(1)).fit()
    assert any("'gpt' (4) and 'gpt ' (4)" in text for text in result.findings.warnings)
    result.to_json(tmp_path / "fit.json")
    assert hja.load_results(tmp_path / "fit.json").model.comparisons.doubts == data.doubts
    assert read_comparisons(table, clean=True).doubts == read_comparisons(table, clean=False).doubts == ()


@pytest.mark.parametrize("make", [pd.Series, list, np.array])
def test_labels_instead_of_a_name_are_refused_in_a_sentence(make):
    """Also where nothing says which column holds the outcome, so that the contents of the columns are looked at."""
    table = {"judge": ["j1", "j2"] * 5, "a": list("xyzxyzxyzx"), "b": list("yzxyzxyzxy")}
    with pytest.raises(hja.ComparisonError):
        hja.read_comparisons(table, first=make(table["a"]), second="b")
    with pytest.raises(hja.ComparisonError, match="first must be the name of a column, got"):
        hja.read_comparisons(table | {"winner": ["a", "b"] * 5}, first=make(table["a"]), second="b")
