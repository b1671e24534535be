"""The errors and warnings a user can meet, all raised at the border and all catchable by type."""

from __future__ import annotations

from collections.abc import Iterable

from statsmodels.tools.sm_exceptions import ModelWarning


class ComparisonError(ValueError):
    """The table of verdicts cannot be read as comparisons."""


class IdentificationError(ValueError):
    """The data or the parameter values do not determine what was asked for."""


class ContrastError(ValueError):
    """A contrast or hypothesis cannot be read, or says nothing that could be tested."""


class CovarianceWarning(ModelWarning):
    """The asked-for covariance is available but should be read with care."""


class NonRegularWarning(ModelWarning):
    """A likelihood ratio does not have its usual chi-squared distribution."""


class SeparationWarning(ModelWarning):
    """The maximum likelihood estimate does not exist: some scores run to infinity."""


class LocalOptimaWarning(ModelWarning):
    """Different starting values ended at different optima; the best one was kept."""


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
