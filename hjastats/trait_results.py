"""What a user holds where scores follow from traits of items and judges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from .data.arrays import check_alpha
from .data.traits import Interactions
from .errors import ContrastError, OptionError
from .inference.traits import TraitCoefficients, new_items, slopes, trait_table, trait_tests
from .looks import TermTests
from .mixed import MixedFit
from .results import HJAResults
from .words import quoted

if TYPE_CHECKING:
    from .models import HJAModel

# What says nothing where all judges are alike but for their traits.
_LEFT_OUT = {"sensitivity", "disagreement", "rank_test"}


class TraitResults(HJAResults):
    """Results of models with traits: ``items``, or ``interactions`` or ``random`` of :class:`hjastats.BTLModel`.

    Examples
    --------
    >>> import pandas as pd
    >>> import hjastats as hja
    >>> data = hja.datasets.load_panel()
    >>> sizes = pd.DataFrame({"size": [8, 7, 8, 4, 7, 3, 1, 13, 34, 2]}, index=data.items)
    >>> result = hja.BTLModel.from_comparisons(data, items=sizes).fit()
    >>> result.contrast("2 * beta[size]").summary_frame()[["estimate", "std_err"]].round(3)
                    estimate  std_err
    contrast
    2 * beta[size]     0.096    0.006
    """

    _look = ".summary(), .traits, .predict_item(...), .ranking(), .plot"
    model: HJAModel

    def __dir__(self) -> list[str]:
        own = {name for name in vars(TraitResults) if not name.startswith("_")}
        hidden = {"spread"} if self.fit.layout.structure.has_sensitivities else _LEFT_OUT
        return sorted({*super().__dir__(), *own} - hidden)

    def with_covariance(self, *args: Any, **kwargs: Any) -> TraitResults:
        """The same estimate with another covariance, as of any fit; random effects have that of the model alone."""
        if isinstance(self.fit, MixedFit):
            raise OptionError("standard errors with random effects are those of the model: cov_type='nonrobust'.")
        return super().with_covariance(*args, **kwargs)

    @property
    def traits(self) -> pd.DataFrame:
        """Coefficients of the traits, with tests that they are zero and 95% intervals.

        Examples
        --------
        >>> import pandas as pd
        >>> import hjastats as hja
        >>> data = hja.datasets.load_panel()
        >>> kinds = pd.DataFrame({"kind": ["strict"] * 4 + ["lax"] * 4}, index=data.judges)
        >>> result = hja.BTLModel.from_comparisons(data.with_metadata(judges=kinds), interactions="~ kind").fit()
        >>> result.traits.loc["kind[T.strict]", "estimate"].round(2).head(3).to_dict()
        {'model-A': 0.27, 'model-B': -0.02, 'model-C': -0.43}
        """
        return trait_table(self.fit, self.model.traits, self.model.categories)

    def wald_test_terms(self, skip_single: bool = False, *args: Any, **kwargs: Any) -> TermTests:
        """Joint tests by term and kind of parameter, and of what a term of ``items`` or ``interactions`` says: which traits matter?

        A term has a coefficient for each column that the formula makes of it, of interactions for each item. Tests have the
        covariance of the fit. Random effects are not tested: their standard deviations say what there is of them.

        Examples
        --------
        >>> import pandas as pd
        >>> import hjastats as hja
        >>> data = hja.datasets.load_panel()
        >>> people = pd.DataFrame({"kind": ["strict", "lax"] * 4, "age": [20, 35, 50, 28, 61, 44, 39, 70]}, index=data.judges)
        >>> result = hja.BTLModel.from_comparisons(data.with_metadata(judges=people), interactions="~ kind + age").fit()
        >>> result.wald_test_terms().table.astype(float).round(3)
              statistic  pvalue  df_constraint
        kind     68.219     0.0            9.0
        age      99.014     0.0            9.0
        mu      436.551     0.0            9.0
        """
        made = [f"{name} {by}" for name in self.model.categories for by in ("by item", "by trait")]
        try:
            others = super().wald_test_terms(skip_single, *args, **kwargs).table.drop(index=made, errors="ignore")
        except ContrastError:
            others = None
        found = TraitCoefficients.of(self.fit, self.model.traits, self.model.categories)
        of_items = {} if self.model.traits is None else self.model.traits.formula.terms
        table = trait_tests(self.fit, found, of_items, self._interaction_terms())
        table = table[table["df_constraint"] > 1] if skip_single else table
        return TermTests(None, "chi2", None, table=table if others is None else pd.concat([table, others]))

    def _interaction_terms(self) -> dict[str, list[str]]:
        """Columns that scores differ by, and that are not drawn from a distribution, by the term that made them."""
        options = self.model.options
        if options.get("interactions") is None or "interactions" in (options["random"] or ()):
            return {}
        return Interactions.of(options["interactions"], self.model.observations.data).formula.terms

    def predict_item(self, traits: Any, against: str | None = None, alpha: float = 0.05) -> pd.DataFrame:
        """Scores of items that were never compared, by what they are.

        Parameters
        ----------
        traits : pandas.DataFrame or dict
            A row for each item with the columns of the formula, under its name in the index or in a column called item.
        against : str, optional
            An item that was compared: also the probabilities of being preferred to it.
        alpha : float
            Intervals cover with probability ``1 - alpha``, in models with random items what the new item has for itself, too.

        Returns
        -------
        pandas.DataFrame
            Beside ``against`` differences from its score, and ``p``, ``p_lower``, ``p_upper``.

        Raises
        ------
        OptionError
            Where scores do not follow from traits of items.

        Examples
        --------
        >>> import pandas as pd
        >>> import hjastats as hja
        >>> data = hja.datasets.load_panel()
        >>> sizes = pd.DataFrame({"size": [8, 7, 8, 4, 7, 3, 1, 13, 34, 2]}, index=data.items)
        >>> result = hja.BTLModel.from_comparisons(data, items=sizes).fit()
        >>> new = pd.DataFrame({"size": [20, 70]}, index=["model-K", "model-L"])
        >>> result.predict_item(new, against="model-A")[["estimate", "p", "p_lower", "p_upper"]].round(2)
                 estimate     p  p_lower  p_upper
        model-K      0.58  0.64     0.62     0.66
        model-L      2.99  0.95     0.93     0.97
        """
        known = self.model.traits
        if known is None:
            raise OptionError("scores of new items need traits of the items: fit a model with items='~ size'.")
        check_alpha(alpha)
        if against is not None and (not isinstance(against, str) or against not in self.model.items):
            raise OptionError(f"no item is called {against!r}; there are {quoted(self.model.items)}.")
        place = None if against is None else self.model.items.index(against)
        return new_items(self.fit, slopes(self.fit, known), known.of_new(traits), place, alpha)

    @property
    def spread(self) -> pd.DataFrame:
        """Standard deviations of random effects with 95% intervals; no rows without any.

        Those of interactions are per standard deviation of the trait.

        Examples
        --------
        >>> import pandas as pd
        >>> import hjastats as hja
        >>> data = hja.datasets.load_panel()
        >>> sizes = pd.DataFrame({"size": [8, 7, 8, 4, 7, 3, 1, 13, 34, 2]}, index=data.items)
        >>> result = hja.BTLModel.from_comparisons(data, items=sizes, random="items").fit()
        >>> result.spread.round(2)
                   estimate  std_err  ci_lower  ci_upper
        effect
        sd[items]      0.45     0.12      0.27      0.74
        """
        if isinstance(self.fit, MixedFit):
            return self.fit.spread()
        return pd.DataFrame(columns=["estimate", "std_err", "ci_lower", "ci_upper"], dtype=float)
