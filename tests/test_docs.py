"""The documentation names everything public, and shows an example of it."""

import inspect
import re
from functools import cached_property
from pathlib import Path

import pytest

import hjastats as hja
from hjastats import datasets, experiments, simulation
from hjastats.cli.commands import COMMANDS
from hjastats.cli.main import parser
from hjastats.data import roles, shapes, vocabulary
from hjastats.fitted import Fit, Observations
from hjastats.judges import JudgeQuestions
from hjastats.plan import PlanQuestions
from hjastats.show import plots
from hjastats.show.figures import FitPlots

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = sorted((ROOT / "docs" / "api").glob("*.md"))
CLASSES = (hja.Comparisons, hja.HJAModel, hja.HJAResults, hja.RankSelection, JudgeQuestions, PlanQuestions, FitPlots)
# The page of a record shows all its members; what they are worth is shown on the page that lists it.
RECORDS = (Fit, Observations)
# Without an underscore because other modules of the package, or statsmodels, call them; not for users.
INTERNAL = {
    *("Comparisons.cells", "Comparisons.ordered_cells", "Comparisons.row_cells"),
    *("HJAModel.folds", "HJAModel.initialize", "HJAModel.results_class", "HJAModel.observations"),
    *("HJAModel.row_design", "HJAModel.labelled_rows", "HJAModel.covariate_formula"),
    *("HJAResults.cov_params_default", "HJAResults.normalized_cov_params", "HJAResults.df_modelwc"),
    # Refused with a sentence that says what to use instead.
    *("HJAResults.bsejac", "HJAResults.bsejhj", "HJAResults.covjac", "HJAResults.covjhj", "HJAResults.get_nlfun"),
    *("HJAModel.expandparams", "HJAModel.reduceparams", "HJAModel.hessian_factor"),
}


def _functions(module):
    return {
        f"{module.__name__}.{name}": value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }


def _members(cls):
    """Methods and properties a class of ours defines itself, not those statsmodels gives it."""
    for name in dir(cls):
        owner = next(base for base in cls.__mro__ if name in vars(base))
        value = inspect.getattr_static(cls, name)
        is_code = callable(value) or isinstance(value, property | cached_property | classmethod | staticmethod)
        if not name.startswith("_") and owner.__module__.startswith("hjastats") and is_code:
            yield f"{cls.__name__}.{name}", value


def _full_name(cls):
    return f"hjastats.{cls.__name__}" if cls.__name__ in hja.__all__ else f"{cls.__module__}.{cls.__name__}"


PUBLIC = {f"hjastats.{name}": getattr(hja, name) for name in hja.__all__ if not inspect.ismodule(getattr(hja, name))}
PUBLIC |= {f"hjastats.show.plots.{name}": getattr(plots, name) for name in plots.__all__}
PUBLIC |= {f"hjastats.experiments.{name}": getattr(experiments, name) for name in ("reproduce", "Settings")}
PUBLIC |= _functions(datasets) | _functions(simulation)
PUBLIC |= {_full_name(cls): cls for cls in CLASSES}
PUBLIC |= {
    f"{_full_name(cls)}.{name.partition('.')[2]}": value
    for cls in CLASSES
    for name, value in _members(cls)
    if name not in INTERNAL
}


def _listed():
    """Full names in the tables of the reference."""
    names = set()
    for path in REFERENCE:
        for module, table in re.findall(r"currentmodule:: (\S+)\n(.*?)```", path.read_text(), flags=re.DOTALL):
            names |= {f"{module}.{name}" for name in re.findall(r"^   ([A-Za-z]\S*)$", table, flags=re.MULTILINE)}
    return names


def test_the_reference_lists_every_public_name():
    assert sorted((set(PUBLIC) | {_full_name(record) for record in RECORDS}) - _listed()) == []


def test_nothing_is_called_internal_that_does_not_exist():
    assert sorted(INTERNAL - {name for cls in CLASSES for name, _ in _members(cls)}) == []


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_every_member_of_a_record_says_what_it_is(record):
    assert [name for name, value in _members(record) if not value.__doc__] == []


def _examples(value):
    """Lines of code in the Examples section of a docstring."""
    value = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    text = (value.func if isinstance(value, cached_property) else value).__doc__ or ""
    return [line for line in text.partition("Examples\n")[2].splitlines() if line.strip().startswith((">>>", "..."))]


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_name_has_an_example(name):
    owner, _, short = name.rpartition(".")
    shown = _examples(PUBLIC[name])
    if isinstance(PUBLIC[name], property | cached_property):
        # A plain attribute may be shown in the example of its class.
        shown += [line for line in _examples(PUBLIC[owner]) if re.search(rf"\.{short}\b", line)]
    assert shown, f"{name} has no runnable example in its docstring"


def test_the_page_on_data_names_every_column_and_label_that_is_found():
    text = (ROOT / "docs" / "data.md").read_text().lower()
    named = {word.strip() for row in text.splitlines() for word in re.split(r"[|,:;]| and ", row)}
    columns = {
        *roles.JUDGE_COLUMNS,
        *roles.OUTCOME_COLUMNS,
        *roles.OTHER_OUTCOME_COLUMNS,
        *roles.WEIGHT_COLUMNS,
        *sum(roles.ITEM_COLUMNS, ()),
    }
    labels = (
        vocabulary.FIRST_LABELS | vocabulary.SECOND_LABELS | vocabulary.TIE_LABELS | (vocabulary.UNUSABLE_LABELS - {""})
    )
    assert sorted((columns | labels) - named) == []


def test_the_page_on_files_names_every_format_and_shows_it():
    text = (ROOT / "docs" / "from_your_file.md").read_text()
    shown = {
        **{
            "fastchat": "## FastChat",
            "arena_hard": "## Arena-Hard",
            "alpaca_eval": "## AlpacaEval",
            "wide": "## A column for each",
        },
        **{
            "one_hot": "winner_tie",
            "lmarena": "## LMArena",
            "winner_loser": "winner_loser",
            "chosen_rejected": "rejected",
        },
        **{"ratings": "## Ratings", "rankings": "## Rankings", "best_worst": "best_worst"},
    }
    assert shown.keys() == shapes.SHAPES.keys()
    assert [name for name, heading in shown.items() if heading not in text] == []


def test_the_page_on_the_command_line_names_every_option_of_fit():
    text = (ROOT / "docs" / "command_line.md").read_text()
    actions = parser()._subparsers._group_actions[0].choices["fit"]._actions
    options = {action.option_strings[-1] for action in actions if action.option_strings} - {"--help", "--debug"}
    assert sorted(option for option in options if option not in text) == []
    assert all(f"hjastats {name}" in text for name in COMMANDS)
