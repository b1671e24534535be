"""Forty nasty files, what a right tool must do with each, and who does it: ``python benchmarks/nasty.py``; prints a table.

Everybody gets the same bytes. The package reads them itself; choix, evalica and arena-rank are given what pandas reads, as their
documentation does, and label codes as any careful user would make them. For peers any exception counts as a refusal. A word must
be about the matter, from everybody; so must the refusals of the package. "-" is what a tool has no argument for; missing peers
are skipped.
"""

from __future__ import annotations

import gzip
import re
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import hjastats as hja

SECONDS = 30
BASE = ["j1,a,b,model_a", "j1,b,c,model_a", "j1,c,a,model_a", "j1,b,a,model_a", "j2,a,b,model_a", "j2,c,b,model_b"]
BASE += ["j2,a,c,model_a", "j2,c,a,model_b", "j1,c,b,model_a", "j2,b,a,model_b", "j2,a,c,model_b", "j1,b,c,model_a"]
HEADER = "judge,model_a,model_b,winner"
CLOSE = 1e-3


def lines(*rows: str, header: str = HEADER, end: str = "\n") -> bytes:
    return end.join([header, *rows, ""]).encode()


@dataclass(frozen=True)
class Case:
    """A file; whether a right tool refuses it, says a word about it, or answers; and what the answer must fulfil."""

    name: str
    content: bytes
    must: str
    says: str = ""
    holds: Callable[[pd.Series], bool] = lambda scores: True
    weighted: bool = False


def close(left: float, right: float) -> bool:
    return abs(left - right) < CLOSE


def weighted(weight: str) -> bytes:
    return lines(*[f"{row},1" for row in BASE[:-1]], f"{BASE[-1]},{weight}", header=f"{HEADER},weight")


def maximum(rows: list[str]) -> pd.Series:
    """The scores of rows on a, b and c without ties: Newton's method, nobody's code but this."""
    split = [row.split(",") for row in rows]
    design = np.array([[(row[1] == name) - (row[2] == name) for name in "bc"] for row in split], dtype=float)
    wins, at = np.array([row[3] == "model_a" for row in split], dtype=float), np.zeros(2)
    for _ in range(50):
        chance = 1 / (1 + np.exp(-design @ at))
        at += np.linalg.solve((design * (chance * (1 - chance))[:, None]).T @ design, design.T @ (wins - chance))
    return pd.Series(np.r_[0.0, at], list("abc"))


def equal_to(rows: list[str]) -> Callable[[pd.Series], bool]:
    expected = maximum(rows)

    def holds(scores: pd.Series) -> bool:
        if not set(expected.index) <= set(scores.index):
            return False
        found = scores[expected.index]
        return bool(np.allclose(found - found["a"], expected, atol=CLOSE))

    return holds


as_base = equal_to(BASE)


def with_verdict(row: str, verdict: str) -> str:
    return f"{row.rsplit(',', 1)[0]},{verdict}"


def swapped(row: str) -> str:
    judge, a, b, winner = row.split(",")
    return f"{judge},{b},{a},{'model_b' if winner == 'model_a' else 'model_a'}"


def repeated(pair: str, n_first: int, n_second: int) -> list[str]:
    return [f"j1,{pair},model_a"] * n_first + [f"j1,{pair},model_b"] * n_second


CHAIN = [row for i in range(300) for row in repeated(f"m{i:03d},m{i + 1:03d}", 3, 1)]
NO_ESTIMATE = "not exist|infinit|never|keeps? rising|separat|no finite|lost|beat"
NAMED = {name: f"j1,{name},b,model_a" for name in ("NA", "007", "7")}

CASES = [
    Case("empty file", b"", "refuse", "empty"),
    Case("header only", lines(), "refuse", "empty"),
    Case("one row", lines(BASE[0]), "say", NO_ESTIMATE),
    Case("one item", lines("j1,a,a,model_a", "j1,a,a,model_b"), "refuse", "itself|same|two items"),
    Case("an item against itself", lines(*BASE, "j1,a,a,model_a"), "refuse", "itself|same"),
    Case("unknown verdict", lines(*BASE, "j1,a,b,perhaps"), "refuse", "perhaps"),
    Case("missing item", lines(*BASE, "j1,a,,model_a"), "refuse", "missing|model_b"),
    Case("weight nan", weighted("nan"), "refuse", "weight", weighted=True),
    Case("weight -1", weighted("-1"), "refuse", "weight", weighted=True),
    Case("weight inf", weighted("inf"), "refuse", "weight", weighted=True),
    Case("weight 1e308", weighted("1e308"), "refuse", "weight", weighted=True),
    Case("two panels that nothing links", lines(*BASE, *repeated("x,y", 1, 1)), "say", "link|connect"),
    Case("an item that never loses", lines(*BASE, "j1,d,a,model_a", "j2,d,b,model_a"), "say", NO_ESTIMATE),
    Case(
        "nothing but ties",
        lines(*[with_verdict(row, "tie") for row in BASE]),
        "answer",
        holds=lambda s: bool(np.allclose(s - s.mean(), 0, atol=CLOSE)),
    ),
    Case(
        "a judge who takes the first",
        lines(*BASE, *[f"j3,{p},model_a" for p in ("a,b", "b,a", "a,c", "c,a", "b,c", "c,b") * 10]),
        "say",
        "first|position",
    ),
    Case(
        "labels that differ by a space",
        lines(*BASE, "j1,a ,b,model_b", "j1,a ,c,model_a", "j1,c,a ,model_a"),
        "say",
        "alike|space",
    ),
    Case(
        "labels that differ by what cannot be seen",
        lines(*BASE, "j1,a\u200b,b,model_b", "j1,a\u200b,c,model_a", "j1,c,a\u200b,model_a"),
        "say",
        "alike|invisible",
    ),
    Case(
        "two columns called winner",
        lines(*[f"{row},model_b" for row in BASE], header=f"{HEADER},winner"),
        "refuse",
        "winner",
    ),
    Case("a file that ends in a row", lines(*BASE)[:-9], "say", "left out|missing|row|unusable|no verdict"),
    Case(
        "cp1252 that is taken for UTF-8",
        lines(*BASE, "j1,clàude,a,model_a", "j1,a,clàude,model_a").decode().encode("cp1252"),
        "refuse",
        "UTF-8|encoding",
    ),
    Case("UTF-16 with a mark", lines(*BASE).decode().encode("utf-16"), "answer", holds=as_base),
    Case(
        "items 7 and 007",
        lines(*BASE, NAMED["7"], "j1,b,7,model_a", NAMED["007"], "j1,b,007,model_a"),
        "answer",
        holds=lambda s: {"7", "007"} <= set(s.index),
    ),
    Case(
        "an item called NA",
        lines(*BASE, NAMED["NA"], "j1,b,NA,model_a"),
        "say or answer",
        "missing|NA",
        lambda s: "NA" in s.index,
    ),
    Case(
        "a comma and a line end in a label",
        lines(*BASE, 'j1,"a,\nb",b,model_a', 'j1,b,"a,\nb",model_a'),
        "answer",
        holds=lambda s: "a,\nb" in s.index,
    ),
    Case(
        "columns in another order",
        lines(
            *[",".join([row.split(",")[i] for i in (3, 2, 0, 1)]) for row in BASE],
            header="winner,model_b,judge,model_a",
        ),
        "answer",
        holds=as_base,
    ),
    Case("line ends of Windows, blank lines", lines(*BASE, "", "", end="\r\n"), "answer", holds=as_base),
    Case("a row with a field too many", lines(*BASE, "j1,a,b,model_a,more"), "refuse", "field|row|column"),
    Case("rows in another order", lines(*BASE[::-1]), "answer", holds=as_base),
    Case("sides swapped with their verdicts", lines(*map(swapped, BASE)), "answer", holds=as_base),
    Case(
        "weights that are repeated rows",
        lines(*[f"{row},{2 - i % 2}" for i, row in enumerate(BASE)], header=f"{HEADER},weight"),
        "answer",
        holds=equal_to(BASE + BASE[::2]),
        weighted=True,
    ),
    Case(
        "weight 0 of an item that is nowhere else",
        lines(*[f"{row},1" for row in BASE], "j1,a,ghost,model_a,0", header=f"{HEADER},weight"),
        "answer",
        holds=lambda s: bool(np.isfinite(s).all()) and as_base(s),
        weighted=True,
    ),
    Case(
        "tie (bothbad)",
        lines(*repeated("a,b", 6, 2), *["j1,a,b,tie (bothbad)"] * 2),
        "answer",
        holds=lambda s: close(s["a"] - s["b"], np.log(7 / 3)),
    ),
    Case(
        "one half always beats the other",
        lines(
            *[f"j1,{p},model_a" for p in ("a,x", "a,y", "b,x", "b,y")], *repeated("a,b", 2, 2), *repeated("x,y", 2, 2)
        ),
        "say",
        NO_ESTIMATE,
    ),
    Case(
        "20,000 verdicts on one pair, 3 on another",
        lines(*repeated("a,b", 19990, 10), *repeated("b,c", 2, 1)),
        "answer",
        holds=lambda s: close(s["a"] - s["b"], np.log(1999)) and close(s["b"] - s["c"], np.log(2)),
    ),
    Case(
        "a verdict of 1.7",
        lines(*[with_verdict(row, str(int(row.endswith("a")))) for row in BASE], "j1,a,b,1.7"),
        "refuse",
        "1.7",
    ),
    Case(
        "a NUL in a label",
        lines(*BASE, "j1,a\0,b,model_a", "j1,b,a\0,model_a"),
        "say",
        "NUL|null|alike|control|character|format",
    ),
    Case(
        "a picture that is called verdicts.csv",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)),
        "refuse",
        "format|text|UTF-8",
    ),
    Case("packed, but called verdicts.csv", gzip.compress(lines(*BASE)), "answer", holds=as_base),
    Case(
        "a chain of 301 items", lines(*CHAIN), "answer", holds=lambda s: close((s["m000"] - s["m300"]) / 300, np.log(3))
    ),
    Case(
        "verdicts by name of the item",
        lines(*[with_verdict(row, row.split(",")[1 if row.endswith("a") else 2]) for row in BASE]),
        "say or answer",
        "winner",
        as_base,
    ),
]


def ours(path: Path, case: Case) -> pd.Series:
    """A pooled fit of what is read; sensitivities where the question is about a judge."""
    data = hja.read_comparisons(path, weight="weight" if case.weighted else None)
    model = hja.JAModel if "judge" in case.name else hja.BTLModel
    result = model.from_comparisons(data).fit()
    for finding in result.findings:
        if finding.is_warning:
            warnings.warn(str(finding.text), stacklevel=2)
    if len(data.dropped):
        warnings.warn(f"left out: {data.dropped.to_dict('records')}", stacklevel=2)
    return result.consensus["estimate"]


def coded(path: Path) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, np.ndarray]:
    frame = pd.read_csv(path)
    codes, names = pd.factorize(pd.concat([frame["model_a"], frame["model_b"]]), sort=True)
    return frame, np.asarray(names), codes[: len(frame)], codes[len(frame) :]


def by_choix(path: Path, case: Case) -> pd.Series:
    import choix

    if case.weighted:
        raise NotImplementedError
    frame, names, first, second = coded(path)
    won, lost = frame["winner"] == "model_a", frame["winner"] == "model_b"
    pairs = [*zip(first[won], second[won], strict=True), *zip(second[lost], first[lost], strict=True)]
    return pd.Series(choix.ilsr_pairwise(len(names), pairs), names.astype(str))


def by_evalica(path: Path, case: Case) -> pd.Series:
    import evalica

    frame, *_ = coded(path)
    known = {"model_a": evalica.Winner.X, "model_b": evalica.Winner.Y, "tie": evalica.Winner.Draw}
    winners = [known.get(one, evalica.Winner.Draw if "tie" in str(one) else one) for one in frame["winner"]]
    options = {"weights": frame["weight"].tolist()} if case.weighted else {}
    found = evalica.bradley_terry(
        frame["model_a"].tolist(), frame["model_b"].tolist(), winners, limit=10_000, tolerance=1e-9, **options
    )
    return np.log(found.scores).rename(index=str)


def by_arena_rank(path: Path, case: Case) -> pd.Series:
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    if case.weighted:
        raise NotImplementedError
    frame, *_ = coded(path)
    dataset = PairDataset.from_pandas(frame)
    model = BradleyTerry(n_competitors=len(dataset.competitors), hessian_reg=0.0)
    found = model.compute_ratings_and_cis(dataset)
    return pd.Series(np.asarray(found["ratings"]) / model.alpha, [str(one) for one in found["competitors"]])


TOOLS = {"hjastats": ours, "choix": by_choix, "evalica": by_evalica, "arena-rank": by_arena_rank}


def verdict(tool: str, path: Path, case: Case) -> str:
    """Right, or what happened instead."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            scores = TOOLS[tool](path, case)
    except NotImplementedError:
        return "-"
    except ImportError:
        return "absent"
    except Exception as error:
        is_told = isinstance(error, hja.InputError) and names_it(case, str(error))
        is_right = case.must != "answer" and (is_told if tool == "hjastats" else not isinstance(error, TimeoutError))
        return "right" if is_right else f"{type(error).__name__}: {' '.join(str(error).split())[:60]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    said = [str(warning.message) for warning in caught]
    if "say" in case.must and any(names_it(case, text) for text in said):
        return "right"
    if "answer" in case.must:
        return "right" if case.holds(scores) else "another answer"
    return "answers without a word" if not said else f"says: {said[0][:50]}"


def names_it(case: Case, text: str) -> bool:
    return re.search(case.says, text, re.IGNORECASE) is not None


def main() -> int:
    # Found beside this file where it is run as a script.
    from recording import record

    def late(*_: object) -> None:
        raise TimeoutError(f"no answer in {SECONDS} s of processor time")

    signal.signal(signal.SIGPROF, late)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(CASES, 1):
            path = Path(folder) / "verdicts.csv"
            path.write_bytes(case.content)
            rows.append({"case": case.name, "must": case.must, **{tool: verdict(tool, path, case) for tool in TOOLS}})
            print(
                f"{number:2d} {case.name:46s} {case.must:14s}",
                *(f"{rows[-1][tool][:28]:28s}" for tool in TOOLS),
                flush=True,
            )
    for tool in TOOLS:
        tried = [row[tool] for row in rows if row[tool] not in ("-", "absent")]
        print(f"{tool}: {tried.count('right')} of {len(tried)}")
    record("nasty", rows)
    return int(any(row["hjastats"] != "right" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
