"""What a fit says about the verdicts that are still missing: how many, and which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .data.asking import n_rounds
from .fitted import Fit
from .inference.planning import NextQuestions, Power, SampleSize, Stopping, next_questions, power, sample_size, stopping
from .looks import Menu

if TYPE_CHECKING:
    from .models import HJAModel


class PlanQuestions(Menu):
    """Questions about further verdicts, as ``result.plan``.

    A goal is a contrast, as in :meth:`hjastats.HJAResults.contrast`; two items as a tuple; ``"top2"`` or ``"separate the top 2"``,
    the first two places; ``"order all"``, all neighbours told apart when all pairs are compared; or ``"places"``, as many pairs
    told apart as possible. Errors are those of the fit: where they are clustered, by prompt, say, what prompts and what verdicts
    contribute is kept apart. New comparisons have covariates of zero.

    Examples
    --------
    >>> import hjastats as hja
    >>> result = hja.BTLModel.from_comparisons(hja.datasets.load_panel()).fit()
    >>> result.plan.stopping("top2").is_enough
    True
    """

    def __init__(self, model: HJAModel, fit: Fit) -> None:
        self._model, self._fit = model, fit

    def power(
        self,
        contrast: Any,
        n: float,
        design: str = "present",
        *,
        prompts: str = "new",
        effect: float | None = None,
        alpha: float = 0.05,
    ) -> Power:
        """The chance that a goal is reached after n further verdicts, if the estimates are true.

        Parameters
        ----------
        contrast : str, callable, dict or list
            Or another goal.
        n : float
            Further verdicts.
        design : {"present", "best"}
            In the present mix of judges and pairs, or on the comparisons that tell most.
        prompts : {"new", "same"}
            Where errors are clustered: on new clusters, as many on each as now, or on those there are.
        effect : float, optional
            Take this for the distance from the value tested against, instead of the estimate.
        alpha : float
            Of the tests, two-sided.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.BTLModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> round(float(result.plan.power("mu[model-B] - mu[model-F]", 3000)), 2)
        0.17
        """
        return power(self._fit, contrast, n, design=design, prompts=prompts, alpha=alpha, effect=effect)

    def sample_size(self, goal: Any = "top2", power: float = 0.8, *, alpha: float = 0.05) -> SampleSize:
        """How many further verdicts reach a goal with some power, if the estimates are true.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.BTLModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> needed = result.plan.sample_size(("model-A", "model-H"))
        >>> int(needed.verdicts), int(needed.best)      # in the present mix, and where those are asked that tell most
        (1834, 200)
        """
        return sample_size(self._fit, goal, power=power, alpha=alpha)

    def stopping(
        self, goal: Any = "top2", *, alpha: float = 0.05, power: float = 0.8, looks: int | None = None
    ) -> Stopping:
        """Whether what is known is enough for a goal, and if not, what is missing.

        Parameters
        ----------
        goal : str, callable, dict or list
        alpha, power : float
            Level of the test, and power that further verdicts should reach.
        looks : int, optional
            How often the question was asked while verdicts came in, this time included. Each look is tested at its share of the
            level. By default the rounds that the data declare (``asked_in``), or one.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.BTLModel.from_comparisons(hja.datasets.load_panel()).fit()
        >>> bool(result.plan.stopping("order all"))
        False
        """
        looks = n_rounds(self._model.comparisons) if looks is None else looks
        return stopping(self._fit, goal, alpha=alpha, power=power, looks=looks)

    def next(
        self,
        budget: float,
        goal: Any = "top2",
        *,
        cost: Mapping[str, float] | None = None,
        candidates: Any = None,
        batch: int | None = None,
        per_judge: int | None = None,
        rng: int | np.random.Generator | None = 0,
    ) -> NextQuestions:
        """Which judge to ask about which pair of items, in which order, next.

        One comparison after the other is chosen that lowers the goal's variance most for its price. The two orders of a pair take
        turns; where the data have a column of prompts, no judge gets a prompt again with the same pair, and all are asked on new
        ones where these are what makes the error smaller.

        Parameters
        ----------
        budget : float
            Number of comparisons, or money where prices are given.
        goal : str, callable, dict or list
        cost : mapping, optional
            Price of a verdict, of every judge.
        candidates : DataFrame or sequence of pairs, optional
            What can be asked: pairs of items; or rows with columns judge, first and second, each of them once and as it stands.
            Every judge about every pair by default.
        batch : int, optional
            Number the comparisons by batches of this size, after each of which to fit again.
        per_judge : int, optional
            Where judges are a sample: verdicts that a new judge gives before another one is found; by default as many as the median
            judge gave.
        rng : int or numpy.random.Generator
            For the order of prompts that are used equally often.

        Returns
        -------
        NextQuestions
            ``table``, ``errors`` as they are expected to be, ``to_csv`` and ``to_jsonl``.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel(), position="judge").fit()
        >>> asked = result.plan.next(100, "mu[model-B] - mu[model-F]")
        >>> asked.table[["judge", "first", "second"]].head(2)
             judge    first   second
        0  judge-1  model-B  model-F
        1  judge-1  model-F  model-B
        >>> asked.errors.round(3).iloc[0].to_dict()
        {'now': 0.111, 'after': 0.065, 'lower': 0.062, 'upper': 0.07}
        """
        observed = None if self._model.comparisons is None else self._model.observations
        return next_questions(
            self._fit,
            observed,
            budget,
            goal=goal,
            cost=cost,
            candidates=candidates,
            batch=batch,
            per_judge=per_judge,
            rng=rng,
        )
