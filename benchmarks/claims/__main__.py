"""All claims: ``python -m benchmarks.claims [FINDING ...] [--quick | --share 0.5]``; without names they go to docs/how_well.md."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import CLAIMS
from .registry import Claim, Share, run_all

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how_well.md"
BEGIN, END = "<!-- claims: begin -->", "<!-- claims: end -->"
# Stands by a band that the share has left, be it by Monte-Carlo error.
OUTSIDE = "†"
HEAD = "| | claim and design | kind | share | wanted | replications |\n|---|---|---|---|---|---|"


def line(share: Share) -> str:
    what = share.claim
    low, high = what.band
    told = f"{share.share:.3f} ± {share.error:.3f}"
    outside = "" if low <= round(share.share, 3) <= high else f" {OUTSIDE}"
    return f"| {what.finding} | {what.text} | {what.kind} | {told} | {low:g} to {high:g}{outside} | {share.n:,} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("findings", nargs="*", help="only claims about these, such as S1")
    parser.add_argument("--quick", action="store_true", help="as many replications as the tests run")
    parser.add_argument("--share", type=float, default=1.0, help="of the replications of the full run")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    some = [what for what in CLAIMS if not options.findings or what.finding in options.findings]
    lines, broken = [], []
    some = sorted(some, key=lambda what: (what.finding[0], int(what.finding[1:])))

    def size(what: Claim) -> int:
        return what.n_quick if options.quick else max(round(options.share * what.n), what.n_quick)

    for share in run_all(some, size, options.jobs):
        lines.append(line(share))
        print(lines[-1], "" if share.holds else "  <-- broken", flush=True)
        broken += [] if share.holds else [share.claim.text]
    if not options.findings and not options.quick:
        text = PAGE.read_text(encoding="utf-8")
        before, after = text.split(BEGIN)[0], text.split(END)[1]
        PAGE.write_text(f"{before}{BEGIN}\n{HEAD}\n" + "\n".join(lines) + f"\n{END}{after}", encoding="utf-8")
    print(f"{len(lines) - len(broken)} of {len(lines)} claims hold")


if __name__ == "__main__":
    main()
