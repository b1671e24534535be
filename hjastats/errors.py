"""The errors and warnings a user can meet, all raised at the border, all catchable by type, with what to do next as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from statsmodels.tools.sm_exceptions import ModelWarning


@dataclass(frozen=True)
class Hint:
    """What to do next: an argument to pass, or a call to make.

    Its text is for users of Python; whoever offers the same under another name, as the command line does, spells it anew.

    Attributes
    ----------
    name : str
        The argument; the function or method where ``is_call``.
    value : object, optional
        What to pass. A dict or a list is the beginning of one, with which the user goes on, unless it ``is_whole``.
    is_call : bool
        The value of a call is what stands between its parentheses.

    Examples
    --------
    >>> print(Hint("single_judge", "GPT-4"), Hint("outcome"), Hint("codes", {"L": "first"}), Hint("drop", []))
    single_judge='GPT-4' outcome= codes={'L': 'first', ...} drop=[...]
    >>> print(Hint("fit_regularized", "terms=True", is_call=True))
    fit_regularized(terms=True)
    """

    name: str
    value: object = None
    is_call: bool = False
    is_whole: bool = False

    def __str__(self) -> str:
        if self.is_call:
            return f"{self.name}({'' if self.value is None else self.value})"
        more = [] if self.is_whole else ["..."]
        if isinstance(self.value, Mapping):
            pairs = [f"{key!r}: {meaning!r}" for key, meaning in self.value.items()]
            return f"{self.name}={{{', '.join([*pairs, *more])}}}"
        if isinstance(self.value, list):
            return f"{self.name}=[{', '.join([*map(repr, self.value), *more])}]"
        return f"{self.name}=" if self.value is None else f"{self.name}={self.value!r}"


def spelled(pieces: Iterable[object], spell: Callable[[Hint], str] = str) -> str:
    """A message made of text and hints; the text is never touched, whatever it quotes.

    Examples
    --------
    >>> pieces = ["the file holds x='y': pass ", Hint("judge", "column"), "."]
    >>> print(spelled(pieces))
    the file holds x='y': pass judge='column'.
    >>> print(spelled(pieces, lambda hint: f"--{hint.name} {hint.value}"))
    the file holds x='y': pass --judge column.
    """
    return "".join(spell(piece) if isinstance(piece, Hint) else str(piece) for piece in pieces)


# What is said of results whose rows are gone.
REMOVED = "the data of these results were removed: this needs them."


class Message:
    """An error or a warning whose arguments are the pieces of its message, text and hints in turn."""

    args: tuple[object, ...]

    def __str__(self) -> str:
        return spelled(self.args)

    @property
    def hints(self) -> list[Hint]:
        """What to do next."""
        return [piece for piece in self.args if isinstance(piece, Hint)]


class InputError(Message, ValueError):
    """What was asked for cannot be done, and the user can put it right; every error of this package is one.

    Examples
    --------
    >>> import hjastats as hja
    >>> try:
    ...     hja.read_comparisons("verdicts.csv")
    ... except hja.InputError as error:
    ...     print(type(error).__name__)
    ComparisonError
    """


class ComparisonError(InputError):
    """The table of verdicts cannot be read as comparisons.

    Examples
    --------
    >>> import hjastats as hja
    >>> hja.read_comparisons([{"judge": "j", "model_a": "a", "model_b": "b", "winner": "perhaps"}])
    Traceback (most recent call last):
        ...
    hjastats.errors.ComparisonError: outcome column 'winner' has 1 value that is neither first,...
    """


class IdentificationError(InputError):
    """The data or the parameter values do not determine what was asked for.

    Examples
    --------
    >>> import hjastats as hja
    >>> hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=8)
    Traceback (most recent call last):
        ...
    hjastats.errors.IdentificationError: rank must be an integer between 0 and min(n_judges - 1,...
    """


class ContrastError(InputError):
    """A contrast or hypothesis cannot be read, or says nothing that could be tested.

    Examples
    --------
    >>> import hjastats as hja
    >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
    >>> result.contrast("mu[model-Z]")
    Traceback (most recent call last):
        ...
    hjastats.errors.ContrastError: no item is called 'model-Z'. Did you mean 'model-J'?
    """


class OptionError(InputError):
    """An argument has a value that it cannot have, or one that does not fit the model.

    Examples
    --------
    >>> import hjastats as hja
    >>> hja.BTLModel.from_comparisons(hja.datasets.load_panel()).fit(maxiter=0)
    Traceback (most recent call last):
        ...
    hjastats.errors.OptionError: maxiter must be a positive integer, got 0.
    """


class SizeError(InputError):
    """What was asked for would take hours, or more memory than there is.

    Examples
    --------
    >>> import numpy as np
    >>> import hjastats as hja
    >>> items = np.array([f"item-{i}" for i in range(3001)])
    >>> data = hja.Comparisons.from_arrays("judge", items, np.roll(items, 1), np.full(len(items), 0.5))
    >>> hja.BTLModel.from_comparisons(data).fit().ranking()
    Traceback (most recent call last):
        ...
    hjastats.errors.SizeError: places of 3,001 items need all 4,501,500 differences between them: name at most 3,000,...
    """


class LabelWarning(Message, UserWarning):
    """Labels that look alike are taken for different judges or items.

    Examples
    --------
    >>> import warnings
    >>> import hjastats as hja
    >>> table = {"judge": ["j"] * 2, "left": ["gpt-4", "GPT-4 "], "right": ["llama"] * 2, "winner": ["left", "right"]}
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     data = hja.read_comparisons(table)
    >>> caught[0].category.__name__, data.n_items, hja.read_comparisons(table, clean=True).n_items
    ('LabelWarning', 3, 2)
    """


class CovarianceWarning(Message, ModelWarning):
    """The asked-for covariance is available but should be read with care.

    Examples
    --------
    >>> import warnings
    >>> import hjastats as hja
    >>> data = hja.datasets.load_panel()
    >>> data.columns["session"] = [i % 4 for i in range(data.n_rows)]      # few clusters
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     result = hja.BTLModel.from_comparisons(data).fit(cov_type="cluster", cov_kwds={"groups": "session"})
    >>> [warning.category.__name__ for warning in caught]
    ['CovarianceWarning']
    """


class NonRegularWarning(Message, ModelWarning):
    """A likelihood ratio does not have its usual chi-squared distribution.

    Examples
    --------
    >>> import warnings
    >>> import hjastats as hja
    >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel()).fit()
    >>> larger = result.model.with_rank(1).fit()
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     test = larger.compare_lr_test(result)
    >>> caught[0].category.__name__, test.pvalue
    ('NonRegularWarning', nan)
    """


class SeparationWarning(Message, ModelWarning):
    """The maximum likelihood estimate does not exist: some scores run to infinity.

    Examples
    --------
    >>> import warnings
    >>> import hjastats as hja
    >>> table = {"judge": ["j"] * 4, "first": list("abac"), "second": list("bccb"), "outcome": [1.0, 1.0, 1.0, 1.0]}
    >>> data = hja.read_comparisons(table, codes="unit")      # a never loses
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     result = hja.BTLModel.from_comparisons(data).fit()
    >>> caught[0].category.__name__, result.converged
    ('SeparationWarning', False)
    """


class LocalOptimaWarning(Message, ModelWarning):
    """Different starting values ended at different optima; the best one was kept.

    Examples
    --------
    >>> import warnings
    >>> import hjastats as hja
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", hja.LocalOptimaWarning)      # the summary still says so
    ...     result = hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=3).fit()
    >>> sum(optimum["starts"] for optimum in result.mle_retvals["optima"]) > 0
    True
    """
