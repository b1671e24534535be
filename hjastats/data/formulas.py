"""Formulas of covariates: the columns they make of a frame, and of later frames in the same way, by patsy or by formulaic."""

from __future__ import annotations

import difflib
import importlib
import keyword
import pickle
import re
import threading
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from formulaic.errors import DataMismatchWarning, FormulaicError
from patsy import DesignInfo, EvalEnvironment, PatsyError, build_design_matrices
from statsmodels.formula._manager import FormulaManager

from .. import limits
from ..errors import ComparisonError, OptionError
from ..words import mentions, quoted, shortened

# What the engines of statsmodels raise for formulas that they cannot read or evaluate.
UNREADABLE = (PatsyError, FormulaicError)
_FILTERING = threading.Lock()
_DOT = re.compile(r"(?<![\w.)\]])\.(?![\w.])")


# Functions that compute columns from columns, and nothing else.
SAFE_FUNCTIONS = (
    *(
        "C",
        "I",
        "Treatment",
        "Sum",
        "Poly",
        "Helmert",
        "Diff",
        "center",
        "standardize",
        "scale",
        "bs",
        "cr",
        "cc",
        "poly",
    ),
    *("log", "log2", "log10", "log1p", "exp", "sqrt", "abs"),
    *("np.log", "np.log2", "np.log10", "np.log1p", "np.exp", "np.sqrt", "np.abs"),
)
# What they are called by, where the names of the caller are not looked up.
SAFE_NAMES: Mapping[str, Any] = {name: getattr(np, name) for name in SAFE_FUNCTIONS if hasattr(np, name)} | {"np": np}
_PIECES = re.compile(
    r"""(?P<space>\s+)|(?P<number>(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?(?!\w))|(?P<text>'[^'\\\n]*'|"[^"\\\n]*")"""
    r"""|(?P<name>[^\W\d]\w*(\.[^\W\d]\w*)*)(?P<call>\s*\()?|(?P<power>\*\*\s*[2-4](?![\w.])(?!\s*\*\*))|(?P<sign>[-+*/:~(),=<>])"""
)


def check_formula(text: str, functions: Sequence[str] = SAFE_FUNCTIONS) -> str:
    """A formula that may come from anybody: names, numbers, arithmetic, ``C()`` and a list of functions.

    This refuses everything else that Python knows (attributes, indices, calls of other functions) and executes nothing.

    Parameters
    ----------
    text : str
    functions : sequence of str
        What may be called; those with a dot are named in full.

    Returns
    -------
    str
        The same text.

    Raises
    ------
    OptionError

    Examples
    --------
    >>> check_formula("outcome ~ 0 + np.log(tokens) * C(topic, Treatment('news'))")
    "outcome ~ 0 + np.log(tokens) * C(topic, Treatment('news'))"
    >>> check_formula("outcome ~ __import__('os').getpid()")
    Traceback (most recent call last):
        ...
    hjastats.errors.OptionError: the formula may not call '__import__': allowed are 'C', 'I', 'Treatment', 'Sum',...
    """
    if not isinstance(text, str):
        raise OptionError(f"a formula is a text, got {type(text).__name__}.")
    if len(text) > limits.CONTRAST_LENGTH:
        raise OptionError(f"a formula may have {limits.CONTRAST_LENGTH:,} characters, got {len(text):,}.")
    at, after_value, after_name = 0, False, False
    while at < len(text):
        piece = _PIECES.match(text, at)
        name = piece and piece["name"]
        # Powers of powers, or high ones, take forever.
        # Two values in a row are a call, or a text with a prefix that is executed; an equals sign belongs to a keyword.
        if piece is None or (
            (after_value and (piece["sign"] == "(" or not (piece["sign"] or piece["space"] or piece["power"])))
            or (piece["sign"] == "=" and not after_name)
            or (piece["sign"] == "*" and text.startswith("**", at))
        ):
            raise OptionError(
                f"the formula may not hold {text[at : at + 10]!r}: names, numbers, arithmetic and calls are allowed."
            )
        if name and piece["call"] and name not in functions:
            raise OptionError(f"the formula may not call {shortened(name)!r}: allowed are {quoted(functions)}.")
        if name and not piece["call"] and (keyword.iskeyword(name) or "." in name or name.startswith("__")):
            raise OptionError(f"the formula may not hold {shortened(name)!r}: names of columns are allowed.")
        if piece["space"] is None:
            after_name = bool(name) and piece["call"] is None
            after_value = piece["call"] is None and piece["sign"] in (None, ")")
        at = piece.end()
    return text


def refuse_code(trusted: Any, formulas: Iterable[Any]) -> None:
    """Refuse formulas that do more than arithmetic, if they are not trusted; what is no text is no formula.

    Raises
    ------
    OptionError
    """
    if not isinstance(trusted, bool):
        raise OptionError(f"trusted must be True or False, got {type(trusted).__name__}.")
    for text in formulas:
        if isinstance(text, str) and not trusted:
            # A dot of its own stands for the covariates there are.
            check_formula(_DOT.sub("x", text))


@dataclass(frozen=True)
class Names:
    """What formulas mention beside columns: the caller's functions, modules and values.

    Those that cannot be pickled are left out of a pickle; modules are imported again.
    """

    values: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_caller(cls, eval_env: Any, reference: int, texts: Iterable[Any], columns: Iterable[Any]) -> Names:
        """Names that texts mention beside columns, as ``eval_env`` or the caller ``reference`` calls above knows them."""
        if isinstance(eval_env, int) and eval_env == -1:
            return cls()
        if isinstance(eval_env, Mapping):
            known = dict(eval_env)
        else:
            there = EvalEnvironment.capture(0 if eval_env is None else eval_env, reference=reference + 1)
            known = {name: value for space in reversed(there._namespaces) for name, value in space.items()}
        wanted = {word for text in texts if isinstance(text, str) for word in re.findall(r"[^\W\d]\w*", text)}
        return cls({name: known[name] for name in (wanted & set(known)) - set(columns)})

    def __getstate__(self) -> dict[str, Any]:
        modules = {name: value.__name__ for name, value in self.values.items() if isinstance(value, ModuleType)}
        others = {name: value for name, value in self.values.items() if name not in modules and _can_be_pickled(value)}
        return {"modules": modules, "others": others}

    def __setstate__(self, state: dict[str, Any]) -> None:
        modules = {name: importlib.import_module(module) for name, module in state["modules"].items()}
        object.__setattr__(self, "values", state["others"] | modules)


def _can_be_pickled(value: Any) -> bool:
    try:
        pickle.dumps(value)
    except (pickle.PicklingError, TypeError, AttributeError, NotImplementedError):
        return False
    return True


@dataclass(frozen=True)
class CovariateFormula:
    """The right side of a formula, and the design it became on the data of a model.

    Attributes
    ----------
    text : str
    design : patsy.DesignInfo or formulaic.ModelSpec
        Knows categories, knots and means of the data, so that later frames get the same columns.
    names : Names
        What the text mentions beside columns.
    frame : pandas.DataFrame or None
        The columns that it mentions, of which the design is made again after pickling; None where somebody else does that.

    Examples
    --------
    >>> frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "topic": ["a", "b", "c"]})
    >>> formula = CovariateFormula.of("0 + center(x) + C(topic)", frame)
    >>> formula.columns(frame.iloc[[2]])["center(x)"].tolist()
    [1.0]
    >>> formula.terms
    {'C(topic)': ['C(topic)[a]', 'C(topic)[b]', 'C(topic)[c]'], 'center(x)': ['center(x)']}
    """

    text: str
    design: Any
    names: Names = Names()
    frame: pd.DataFrame | None = None

    @classmethod
    def of(
        cls, text: str, frame: pd.DataFrame, names: Names = Names(), called: str = "", others: Sequence[str] = ()
    ) -> CovariateFormula:
        """The design of a right side on some data; errors say what it is ``called``, and name ``others`` beside the columns.

        Raises
        ------
        ComparisonError
            For what cannot be read, mentions an unknown column, or has missing values.
        """
        mentioned = frame[[name for name in frame.columns if mentions(text, name)]]
        return cls(text, _design(text, frame, names, called, others=others), names, mentioned)

    @property
    def terms(self) -> dict[str, list[str]]:
        """Columns by the term of the formula that made them, without the intercept."""
        columns = list(self.design.column_names)
        if isinstance(self.design, DesignInfo):
            slices = {name: columns[where] for name, where in self.design.term_name_slices.items()}
        else:
            slices = {str(term): columns[where] for term, where in self.design.term_slices.items()}
        return {name: made for name, made in slices.items() if made and made != ["Intercept"]}

    @property
    def has_intercept(self) -> bool:
        """Whether there is one."""
        return "Intercept" in self.design.column_names

    def columns(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The columns that the formula makes of another frame.

        Raises
        ------
        ComparisonError
        """
        try:
            if isinstance(self.design, DesignInfo):
                made: Any = build_design_matrices([self.design], frame, NA_action="raise")[0]
            else:
                # The filters are those of the process: one thread at a time changes and restores them.
                with _FILTERING, warnings.catch_warnings():
                    # formulaic makes zeros of levels that it does not know.
                    warnings.simplefilter("error", DataMismatchWarning)
                    made = self.design.get_model_matrix(frame, context=dict(self.names.values), na_action="raise")
        except (*UNREADABLE, DataMismatchWarning, NameError, KeyError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise ComparisonError(f"cannot build {self.text!r} for the new data: {reason}") from None
        return pd.DataFrame(np.asarray(made, dtype=float), frame.index, list(self.design.column_names))

    def updated(self, change: str) -> str:
        """The right side after a change such as ``"~ . + x"``, in which a dot is what it was.

        Raises
        ------
        OptionError
            If the change has another left side.
        """
        left, tilde, right = change.partition("~") if isinstance(change, str) else ("", "", "")
        if not tilde or left.strip() not in ("", "."):
            raise OptionError(
                f"update changes covariates and keeps the verdicts: expected '~ . + x' or '~ . - x', got {change!r}."
            )
        intercept = "1" if self.has_intercept else "0"
        if not _DOT.search(right):
            return right.strip()
        terms = " + ".join(self.terms)
        return f"{intercept} + {_DOT.sub(f'({terms})', right).strip()}" if terms else _DOT.sub(intercept, right).strip()

    def __getstate__(self) -> dict[str, Any]:
        # patsy refuses to be pickled.
        return {"text": self.text, "names": self.names, "frame": self.frame}

    def __setstate__(self, state: dict[str, Any]) -> None:
        design = _design(state["text"], state["frame"], state["names"])
        for name, value in (state | {"design": design}).items():
            object.__setattr__(self, name, value)


def _design(
    text: str, frame: pd.DataFrame, names: Names, called: str = "", missing: str = "raise", others: Sequence[str] = ()
) -> Any:
    manager = FormulaManager()
    try:
        manager.get_matrices(text, frame, eval_env=dict(names.values), na_action=manager.get_na_action(missing))
    except (*UNREADABLE, NameError, ValueError) as error:
        raise ComparisonError(f"cannot build {called}{text!r}: {_why(error, [*others, *frame.columns])}") from None
    return manager.spec


def _why(error: Exception, known: Sequence[Any]) -> str:
    """The first line of an error; of an unknown name, which there are, and what it was probably meant to be."""
    told = str(error).splitlines()[0]
    unknown = re.search(r"name '(\w+)' is not defined", str(error))
    if not unknown:
        return told
    names = list(dict.fromkeys(map(str, known)))
    near = difflib.get_close_matches(unknown[1], names, n=1)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    return f"nothing is called {unknown[1]!r}; there are {quoted(names, 12) or 'no columns'}.{meant}"


def design_of(formula: str, frame: pd.DataFrame, names: Names) -> Any:
    """The design of a whole formula, made once more of the same frame, incomplete rows left out."""
    return _design(formula, frame, names, missing="drop")


@dataclass(frozen=True)
class Origin:
    """What a model remembers of the frame it was made from, to read later ones in the same way.

    Attributes
    ----------
    roles : mapping of str to str
        Columns that held judge, item_a and item_b.
    names : Names
        What the formula mentions beside columns.
    judge : CovariateFormula or None
        How covariates with slopes per judge are made.
    """

    roles: Mapping[str, str] = field(default_factory=dict)
    names: Names = Names()
    judge: CovariateFormula | None = None

    def column(self, role: str, usual: tuple[str, ...], frame: pd.DataFrame) -> str | None:
        """The column of a frame that holds a role: that of the data, or one of the usual names; None if there is none."""
        return next(
            (name for name in (self.roles.get(role), *usual) if name is not None and name in frame.columns), None
        )


NO_ORIGIN = Origin()
