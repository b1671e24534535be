"""A board for people and for machines."""

import io
import json

import numpy as np
import pandas as pd
import pytest

import hjastats as hja
from hjastats.looks import escaped_csv


@pytest.fixture(scope="module")
def board(panel_fit):
    return panel_fit.leaderboard("elo")


@pytest.mark.parametrize("scale", ["log-odds", "elo", "win-rate"])
def test_a_board_prints_in_80_columns_whatever_its_labels(panel, scale):
    frame = panel.to_frame()
    for column in ("first", "second"):
        frame[column] = "a-very-long-prefix-of-a-model-name-" + frame[column] + "-and-an-ending"
    data = hja.Comparisons.from_arrays(*(frame[name] for name in ("judge", "first", "second", "outcome")))
    told = repr(hja.BTLModel.from_comparisons(data).fit().leaderboard(scale))
    assert max(map(len, told.splitlines())) <= 80
    # Where the labels differ is what is left of them.
    assert any(f"{before}I" in told for before in ("model-", "el-", "l-", "-", "..."))


def test_machines_get_exact_numbers_and_people_rounded_ones(board):
    read = pd.read_csv(io.StringIO(board.to_csv()), index_col="item")
    pd.testing.assert_frame_equal(read, board.table, check_exact=False, rtol=1e-14)
    assert json.loads(json.dumps(board.to_dict()))["model-I"]["score"] == board.table.loc["model-I", "score"]
    for text in (board.to_markdown(), board.to_latex(), board.to_html(), repr(board)):
        assert "1241" in text
        assert str(board.table["score"].iloc[0]) not in text


def test_a_board_says_where_its_chances_come_from(panel_fit):
    assert "normal distribution" in repr(panel_fit.leaderboard()).replace("\n", " ")
    assert "flat prior" in repr(panel_fit.leaderboard(prior="flat")).replace("\n", " ")


def test_markdown_has_a_cell_for_every_column_in_every_row(board):
    lines = board.to_markdown().splitlines()
    assert {line.count(" | ") for line in lines} == {board.rounded.shape[1]}


def test_labels_are_only_text_in_every_format(panel):
    frame = panel.to_frame().replace({"model-I": "=cmd|x", "model-H": r"50% \input{x}_<i>"})
    data = hja.Comparisons.from_arrays(*(frame[name] for name in ("judge", "first", "second", "outcome")))
    board = hja.BTLModel.from_comparisons(data).fit().leaderboard()
    assert escaped_csv("=cmd|x") in board.to_csv()
    assert r"=cmd\|x" in board.to_markdown()
    assert r"50\% \textbackslash{}input\{x\}\_\textless{}i\textgreater{}" in board.to_latex()
    assert "&lt;i&gt;" in board.to_html()


def test_long_boards_print_their_beginning(panel_fit, set_limits):
    set_limits(PRINTED_ITEMS=3)
    assert "... and 7 more" in repr(panel_fit.leaderboard())


def test_a_figure_shows_the_scores_of_the_board(board):
    ax = board.plot(max_rows=4)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(board.table.index[:4])
    assert "Elo" in ax.get_xlabel()


def test_a_board_goes_to_a_file(board, tmp_path):
    board.to_csv(tmp_path / "board.csv")
    assert np.isclose(pd.read_csv(tmp_path / "board.csv")["score"].iloc[0], board.table["score"].iloc[0])
