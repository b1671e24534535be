"""Work that is spread over a real cluster of dask.distributed gives the numbers of one process."""

import joblib
import numpy as np
import pytest

import hjastats as hja

SAME = 1e-8


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as local, distributed.Client(local) as client:
        yield client


@pytest.mark.filterwarnings("default")
def test_bootstrap_influence_and_rank_choice_do_not_depend_on_the_cluster(panel, cluster):
    result = hja.JAModel.from_comparisons(panel, position="judge").fit()

    def numbers(n_jobs):
        drawn = result.bootstrap(12, rng=5, n_jobs=n_jobs).params
        rows = result.bootstrap(12, "rows", rng=5, n_jobs=n_jobs).params
        without = result.judges.influence("refit", n_jobs=n_jobs).table.sort_index().select_dtypes("number")
        losses = hja.select_rank(panel, ranks=[0, 1], criterion="cv", n_jobs=n_jobs).table
        return [np.asarray(frame, dtype=float) for frame in (drawn, rows, without, losses)]

    alone = numbers(1)
    with joblib.parallel_config(backend="dask"):
        together = numbers(2)
    assert len(cluster.scheduler_info()["workers"]) == 2
    for here, there in zip(together, alone, strict=True):
        np.testing.assert_allclose(here, there, atol=SAME)
