"""What docs/how_well.md claims, with fewer replications: ``python -m benchmarks.claims`` makes that table."""

import pytest

from benchmarks.claims import CLAIMS, run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.finding}: {claim.text}")
def test_a_claim_keeps_its_band(claim):
    """A share may leave its band by three Monte-Carlo errors."""
    share = run(claim, claim.n_quick)
    assert share.holds, f"{share.share:.3f} (Monte-Carlo error {share.error:.3f}), wanted {claim.band}"
