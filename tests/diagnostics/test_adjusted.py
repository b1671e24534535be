import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from hjastats.diagnostics.adjusted import holm


@pytest.mark.parametrize("seed", range(3))
def test_holm_is_that_of_statsmodels(seed):
    p_value = np.random.default_rng(seed).random(20) ** 4
    p_value[3] = p_value[7]
    np.testing.assert_allclose(holm(p_value), multipletests(p_value, method="holm")[1], rtol=1e-12)


def test_what_was_not_tested_does_not_count():
    np.testing.assert_array_equal(holm(np.array([np.nan, 0.01, np.nan])), [np.nan, 0.01, np.nan])
