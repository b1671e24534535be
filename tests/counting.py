"""Designs from one array per field, for tests that write their data by hand."""

import numpy as np

from hjastats.data.cells import Cells, collapse
from hjastats.model.design import Design
from hjastats.model.terms import Term, Terms


def aggregate(judge, first, second, outcome, weight, n_judges, n_items, judge_terms=None, shared_terms=None):
    """Collapsed rows whose term columns are covariates."""
    nothing = np.zeros((len(judge), 0))
    own, shared = (nothing if block is None else block for block in (judge_terms, shared_terms))
    rows = Cells(judge, first, second, weight, weight * outcome, n_judges, n_items, own, shared)
    return collapse(Design.of(rows, covariates(shared.shape[1], own.shape[1])))


def covariates(n_shared, n_own):
    """Terms called x1, x2, ... for all judges and z1, z2, ... for each."""
    return Terms(
        tuple(Term(f"x{i + 1}", "common") for i in range(n_shared)),
        tuple(Term(f"z{i + 1}", "judge") for i in range(n_own)),
    )
