"""Random designs of every kind: each ends at a verified optimum, in one of our warnings, or in one of our errors."""

import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hjastats as hja
from hjastats.errors import ComparisonError, IdentificationError, LocalOptimaWarning, SeparationWarning
from tests.reference import best_loglike

LABELS = st.text(min_size=1, max_size=12)


@st.composite
def panels(draw, max_judges=30, max_items=40):
    """Judges, items, outcomes, weights: sparse and dense, balanced and not, with constant judges and all kinds of labels."""
    K, N = draw(st.integers(2, max_judges)), draw(st.integers(2, max_items))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    # From mostly empty cells to many verdicts per score.
    n = 1 + int(rng.uniform(0.0, draw(st.sampled_from([1.0, 6.0, 40.0]))) * min(K * N, 300))
    judge = rng.choice(K, size=n, p=rng.dirichlet(np.full(K, draw(st.sampled_from([0.5, 50.0])))))
    first = rng.integers(N, size=n)
    second = (first + rng.integers(1, N, size=n)) % N
    strength = draw(st.sampled_from([0.0, 0.3, 0.7, 20.0]))
    scores = strength * rng.standard_normal((K, N))
    eta = scores[judge, first] - scores[judge, second]
    outcome = (rng.random(n) < 1.0 / (1.0 + np.exp(-np.clip(eta, -500, 500)))).astype(float)
    kind = draw(st.sampled_from(["decided", "decided", "some ties", "all ties", "first always", "soft"]))
    if kind == "some ties":
        outcome[rng.random(n) < 0.3] = 0.5
    elif kind == "all ties":
        outcome[:] = 0.5
    elif kind == "first always":
        outcome[judge == judge[0]] = 1.0
    elif kind == "soft":
        outcome = rng.random(n)
    weight = 10.0 ** rng.uniform(*draw(st.sampled_from([(0, 0), (-9, -9), (9, 9), (0, 6), (-9, 9)])), size=n)
    return judge, first, second, outcome, weight, K, N


def fitted(panel, cls, **options):
    judge, first, second, outcome, weight, *_ = panel
    model = cls(outcome, judge=judge, item_a=first, item_b=second, weights=weight, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = model.fit()
    # No arithmetic warning escapes; what is said is ours or statsmodels' own convergence warnings.
    ours = [w for w in caught if not issubclass(w.category, RuntimeWarning)]
    assert ours == caught, [str(w.message) for w in caught]
    return result, caught


def test_every_panel_ends_in_an_optimum_or_in_words():
    ends = Counter()

    @settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(panel=panels(), rank=st.integers(-1, 3), position=st.sampled_from([None, "common", "judge"]))
    def check(panel, rank, position):
        cls, options = (hja.BTLModel, {}) if rank < 0 else (hja.HJAModel, {"rank": rank})
        try:
            result, caught = fitted(panel, cls, position=position, **options)
            text = str(result.summary())
        except (ComparisonError, IdentificationError):
            ends["refused"] += 1
            return
        if not result.converged:
            ends["warned"] += 1
            assert any(not issubclass(w.category, LocalOptimaWarning) for w in caught)
            assert "Converged:                         False" in text
            return
        ends["converged"] += 1
        assert np.isfinite(result.params).all()
        assert np.isfinite(result.bse).all()
        assert (result.bse > 0).any()
        slope = result.model.score_free(result.params)
        information = result.model.information(result.params)
        # Far below a standard error from stationary, whatever the scale of the weights.
        assert slope @ np.linalg.solve(information, slope) <= 1e-8 * max(1.0, panel[4].mean())

    check()
    assert min(ends[end] for end in ("refused", "warned", "converged")) >= 5, ends


@pytest.mark.slow
def test_converged_fits_are_as_good_as_an_independent_solver():
    compared = []

    @settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(panel=panels(max_judges=6, max_items=7), rank=st.integers(-1, 2), has_position=st.booleans())
    def check(panel, rank, has_position):
        judge, first, second, outcome, weight, *_ = panel
        # The reference is a general-purpose optimiser: weights over eighteen decades are beyond it.
        weight = np.ones_like(weight) if weight.max() > 1e3 * weight.min() else weight
        panel = (judge, first, second, outcome, weight)
        cls, options = (hja.BTLModel, {}) if rank < 0 else (hja.HJAModel, {"rank": rank})
        try:
            result, _ = fitted(panel, cls, position="judge" if has_position else None, **options)
        except (ComparisonError, IdentificationError):
            return
        if not result.converged:
            return
        data = result.model.comparisons
        rows = (data.judge_index, data.first_index, data.second_index, data.outcome, data.weight)
        reference = best_loglike(*rows, data.n_judges, data.n_items, rank=rank, has_position=has_position)
        compared.append(result.llf - reference)
        assert result.llf >= reference - 1e-4 * max(1.0, data.weight.mean())

    check()
    assert len(compared) >= 5


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    names=st.lists(LABELS, min_size=3, max_size=6, unique_by=str.strip),
    judges=st.lists(LABELS, min_size=2, max_size=4, unique_by=str.strip),
)
def test_labels_of_any_alphabet_are_read_or_refused_and_never_merged(names, judges):
    rows = [
        (j, a, b, (i + k) % 2)
        for k, j in enumerate(judges)
        for i, (a, b) in enumerate(zip(names, names[1:] + names[:1], strict=True))
    ]
    rows += [(j, a, b, 1 - w) for j, a, b, w in rows]
    judge, first, second, outcome = zip(*rows, strict=True)
    try:
        result = hja.BTLModel(outcome, judge=judge, item_a=first, item_b=second).fit()
    except ComparisonError:
        return
    assert result.model.comparisons.n_items == len(set(names))
    assert set(result.consensus.index) == set(result.model.items)
    assert str(result.summary())


def test_a_single_verdict_among_a_million_does_not_decide_alone():
    counts = {("a", "b"): 10**6, ("b", "a"): 10**6, ("b", "c"): 1, ("c", "b"): 1}
    rows = [(judge, *pair, 1.0, n) for judge in ("j", "k") for pair, n in counts.items()]
    judge, first, second, outcome, weight = zip(*rows, strict=True)
    result = hja.BTLModel(outcome, judge=judge, item_a=first, item_b=second, weights=weight).fit()
    assert result.converged
    np.testing.assert_allclose(result.consensus["estimate"], 0.0, atol=1e-8)
    # Two comparisons of c against b by each of two judges at even odds: variance 1 / (4 / 4).
    assert result.contrast("mu[c] - mu[b]").std_err == pytest.approx(1.0, rel=1e-5)


def test_separation_is_a_warning_of_its_own():
    with pytest.warns(SeparationWarning):
        hja.BTLModel([1.0, 1.0], judge=["j", "j"], item_a=["a", "b"], item_b=["b", "c"]).fit()
