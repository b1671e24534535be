"""What a fit says about its judges: who carries the consensus, who departs from it, and how."""

from __future__ import annotations

from typing import Any

from ..data.rows import check_option
from ..diagnostics.influence import Influence, by_one_step, by_refitting, influence_table
from ..errors import IdentificationError
from ..estimation.trust import NO_RIDGE


class ExaminationMethods:
    """Methods of :class:`hjastats.HJAResults` that examine its judges."""

    model: Any
    estimate: Any
    decomposition: Any
    _need_data: Any

    def influence(self, method: str = "one-step", n_jobs: int = 1) -> Influence:
        """What leaving out each judge does to the consensus.

        The consensus without a judge is the mean of the remaining judges' scores, as the paper's normalisation has it: part of the
        change is the judge's own row leaving the mean, the rest is that it no longer pulls on the others.

        Parameters
        ----------
        method : {"one-step", "refit"}
            One Newton step from the full estimate with the judge's comparisons and parameters removed
            (:func:`hjastats.diagnostics.deletion.one_step`), or the same model fitted to the other judges. The step is good while
            changes are small against the scores; confirm the judges it points at by refitting.
        n_jobs : int
            Parallel refits (joblib).

        Returns
        -------
        Influence
            ``table`` with one row per judge and ``consensus`` without each. Where the others do not determine the model, or their
            estimate does not exist, the row is empty and ``note`` says why.

        Raises
        ------
        IdentificationError
            When the fit itself has no finite estimate to start from.

        Examples
        --------
        >>> import hjastats as hja
        >>> result = hja.JAModel.from_comparisons(hja.datasets.load_panel(), position="judge").fit()
        >>> result.influence().table["rms_change"].head(2).round(3)
        judge
        judge-1    0.361
        judge-2    0.126
        Name: rms_change, dtype: float64
        """
        check_option("method", method, ("one-step", "refit"))
        if not self.estimate.converged:
            raise IdentificationError(
                "the fit has no finite, determined estimate whose change could be measured: use fit_regularized()."
            )
        model, at, penalty = self.model, self.estimate.at, self.estimate.penalty
        if method == "refit":
            self._need_data()
            without = by_refitting(model, at, penalty, n_jobs)
        elif penalty is not None and penalty.kind == "firth":
            raise IdentificationError("bias-reduced estimates maximise no likelihood to step on: use method='refit'.")
        else:
            ridge = NO_RIDGE if penalty is None else penalty.ridge
            frame, judges = self.estimate.frame, range(len(model.judges))
            without = [by_one_step(model.cells, model.layout, at, frame, ridge, k) for k in judges]
        return influence_table(method, model.judges, model.items, self.decomposition.mu, without)
