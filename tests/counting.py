"""Cells from one array per field, for tests that write their data by hand."""

import numpy as np

from hjastats.data.cells import Cells, collapse


def aggregate(judge, first, second, outcome, weight, n_judges, n_items, judge_terms=None, shared_terms=None):
    nothing = np.zeros((len(judge), 0))
    terms = [nothing if block is None else block for block in (judge_terms, shared_terms)]
    return collapse(Cells(judge, first, second, weight, weight * outcome, n_judges, n_items, *terms))
