"""All benchmarks in one run, and a table of their ratios: ``python -m benchmarks [peers judges reading scale imports]``.

Each is a script of its own, in a process of its own, and writes ``benchmarks/results/NAME.json``. Other packages come with
``pip install 'hjastats[peers]'``; what is missing, R with gnm among it, is skipped with a message.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from recording import recorded

PARTS = ("peers", "judges", "reading", "scale", "imports")


def peers() -> list[str]:
    rows, lines = recorded("peers") or [], []
    for size in dict.fromkeys((row["items"], row["rows"]) for row in rows):
        here = [row for row in rows if (row["items"], row["rows"]) == size and row["accurate"]]
        for label, own, rest in (
            ("scores", "hjastats", [row for row in here if not row["package"].startswith("hjastats")]),
            ("with errors", "hjastats, errors", [row for row in here if row["errors"]]),
        ):
            mine = next(row for row in here if row["package"] == own)
            others = [row for row in rest if row is not mine]
            if others:
                best = min(others, key=lambda row: row["seconds"])
                what = f"BTL, {size[0]} items, {size[1]:,} rows, {label}"
                lines.append(_line(what, mine["seconds"], best["seconds"], best["package"]))
    return lines


def judges() -> list[str]:
    lines = []
    for row in recorded("judges") or []:
        for other in ("gnm", "alternating"):
            if row[f"{other}_seconds"] is not None:
                what = f"{row['model']}, {row['data']}"
                lines.append(_line(what, row["seconds"], row[f"{other}_seconds"], f"{other}, one start"))
    return lines


def reading() -> list[str]:
    times = {row["source"]: row["smallest"] for row in recorded("reading") or []}
    own = [name for name in times if not name.endswith("own group-by")]
    return [
        _line(f"10^7 records to cells, {name}", times[name], seconds, other)
        for other, seconds in times.items()
        if other not in own
        for name in own
    ]


def scale() -> list[str]:
    found = recorded("scale") or {}
    lines = []
    for row in found.get("large", []):
        name = {-1: "BTL", 0: "JA"}.get(row["rank"], f"HJA({row['rank']})") + (", ridge" if row.get("ridge") else "")
        table = f", {row['errors']:.1f} s for the consensus" if row.get("table", True) else ""
        lines.append(
            f"{name}, {row['judges']} judges, {row['items']} items, {row['rows']:,} rows: {row['fit']:.1f} s, "
            f"{row['contrasts']:.1f} s for three contrasts{table}, {row['peak'] / 1024:.1f} GB"
        )
    return lines + [
        f"time grows like {name} to the power {power:.2f}" for name, power in found.get("growth", {}).items()
    ]


def imports() -> list[str]:
    return [f"{row['what']}: {row['best']:.3f} s" for row in recorded("imports") or []]


def _line(what: str, ours: float, theirs: float, other: str) -> str:
    return f"{what:62s}{1e3 * ours:10.1f} ms{1e3 * theirs:10.1f} ms{theirs / ours:8.2f} x  {other}"


def main(wanted: list[str]) -> int:
    unknown = [name for name in wanted if name not in PARTS]
    if unknown:
        print(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(PARTS)}.")
        return 2
    for name in wanted or PARTS:
        print(f"\n== {name}", flush=True)
        code = subprocess.run([sys.executable, str(Path(__file__).with_name(f"{name}.py"))], check=False).returncode
        if code:
            return code
    print("\n== ours, theirs, how many times as long they take")
    for name in wanted or PARTS:
        print("\n".join(globals()[name]()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
