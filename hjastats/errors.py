"""The errors and warnings a user can meet, all raised at the border and all catchable by type."""

from __future__ import annotations

from collections.abc import Iterable

from statsmodels.tools.sm_exceptions import ModelWarning


class ComparisonError(ValueError):
    """The table of verdicts cannot be read as comparisons.

    Examples
    --------
    >>> import hjastats as hja
    >>> hja.read_comparisons([{"judge": "j", "model_a": "a", "model_b": "b", "winner": "perhaps"}])
    Traceback (most recent call last):
        ...
    hjastats.errors.ComparisonError: outcome column 'winner' has 1 value that is neither first,...
    """


class IdentificationError(ValueError):
    """The data or the parameter values do not determine what was asked for.

    Examples
    --------
    >>> import hjastats as hja
    >>> hja.HJAModel.from_comparisons(hja.datasets.load_panel(), rank=8)
    Traceback (most recent call last):
        ...
    hjastats.errors.IdentificationError: rank must be an integer between 0 and min(n_judges - 1,...
    """


class ContrastError(ValueError):
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


class SizeError(ValueError):
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


class CovarianceWarning(ModelWarning):
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


class NonRegularWarning(ModelWarning):
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


class SeparationWarning(ModelWarning):
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


class LocalOptimaWarning(ModelWarning):
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


def shown(names: Iterable[object], limit: int = 5) -> str:
    """Quote the first few names for a message: ``'a', 'b', 'c' and 4 more``.

    Examples
    --------
    >>> shown(["gpt-4", "claude"])
    "'gpt-4', 'claude'"
    >>> shown("abcdefg", limit=2)
    "'a', 'b' and 5 more"
    """
    quoted = [repr(str(name)) for name in names]
    if len(quoted) <= limit:
        return ", ".join(quoted)
    return ", ".join(quoted[:limit]) + f" and {len(quoted) - limit} more"
