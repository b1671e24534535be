"""From the rows of an experiment to its tables, figures and sentences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from ..data.readers import read_comparisons
from ..writing import write
from . import figures, published
from .inputs import short_names
from .real import STEPS
from .synthetic import averages, paired_errors


def recovery(frame: pd.DataFrame, folder: Path, name: str = "synthetic") -> str:
    """Means over repetitions for both sweeps, and where HJA is not best."""
    table = averages(frame, ["sweep", "n", "h", "method"])
    write(folder / f"{name}.csv", table.to_csv(index=False))
    figures.sweep(table[table["sweep"] == "n"], "n", "comparisons", folder / f"{name}_n.png")
    figures.sweep(table[table["sweep"] == "h"], "h", "heterogeneity", folder / f"{name}_h.png")
    paired = paired_errors(frame, "HJA", "BTL+SVD")
    write(folder / f"{name}_paired.csv", paired.to_csv(index=False))
    note = "mean squared error on the repetitions in which both estimates exist:"
    return f"{_shown(table)}\n\n{note}\n{_shown(paired)}"


def sensitivity_only(frame: pd.DataFrame, folder: Path) -> str:
    """Means over repetitions along the sample sizes."""
    table = averages(frame, ["n", "method"])
    write(folder / "ja-dgp.csv", table.to_csv(index=False))
    figures.sweep(table, "n", "comparisons", folder / "ja-dgp.png")
    return _shown(table)


def bic(frame: pd.DataFrame, folder: Path) -> str:
    """Share of repetitions in which the true rank was chosen."""
    correct = frame.assign(**{name: (frame[name] == frame["rank"]).astype(float) for name in ("bic", "aic")})
    grouped = correct.groupby(["rank", "n"])[["bic", "aic"]]
    table = pd.concat([grouped.mean(), grouped.sem().add_suffix(" se")], axis=1).reset_index()
    write(folder / "bic.csv", table.to_csv(index=False))
    figures.selection(table, folder / "bic.png")
    largest = table[table["n"] == table["n"].max()]
    shares = ", ".join(f"{row.bic:.0%} for rank {row.rank:.0f}" for row in largest.itertuples())
    text = f"With {largest['n'].iloc[0]:,} comparisons BIC finds the true rank in {shares} of the repetitions."
    return f"{_shown(table)}\n{text}"


def convergence(frame: pd.DataFrame, folder: Path) -> str:
    """Iterations of each solver."""
    counts = frame.groupby("solver", sort=False)["iterations"].describe()[["count", "mean", "min", "50%", "max"]]
    excess = frame.assign(excess=[path[-1] - best for path, best in zip(frame["path"], frame["best"], strict=True)])
    # The order in which a machine adds moves the last digits of a likelihood; they are no excess.
    largest = excess.groupby("solver", sort=False)["excess"].max().round(10)
    table = counts.assign(**{"largest excess": largest}).reset_index()
    write(folder / "convergence.csv", table.to_csv(index=False))
    figures.convergence(frame, folder / "convergence.png")
    return table.to_string(index=False, float_format=lambda value: f"{value:.4g}")


def real_data(frame: pd.DataFrame, folder: Path) -> str:
    """The paper's table with ours beside it, what position effects add, and how long it took."""
    names = short_names(frame["file"].unique())
    known, said = _recognised(names)
    frame = frame.assign(data=frame["file"].map(names))
    held_out = frame[frame["part"] == "held-out"]
    noise = frame[(frame["part"] == "robustness") & frame["step"].isin(list(STEPS))]
    noise = noise.assign(level=noise["step"].map(STEPS))
    measures = ["accuracy", "decided accuracy", "log-loss", "calibration error", "closest", "middle", "farthest"]
    by = ["data", "method"]
    kept = noise.pivot_table(index=by, columns="level", values="same places", sort=False)
    means = kept.join(held_out.groupby(by, sort=False)[measures].mean())
    spread = noise.pivot_table(index=by, columns="level", values="same places", aggfunc="std", sort=False)
    spread = spread.join(held_out.groupby(by, sort=False)[measures].std())
    write(folder / "table1.csv", means.join(spread.add_suffix(" sd")).reset_index().to_csv(index=False))
    beside = published.beside(means[means.index.get_level_values("data").isin(list(known))].rename(known, level="data"))
    write(folder / "table1_printed.csv", beside.to_csv(index=False))
    parts = [means.round(3).to_string(), *said]
    if len(beside):
        parts.append("beside the printed numbers:\n" + beside.round(3).to_string(index=False))
    parts.append(_position_gain(held_out))
    parts.append(_duration(frame))
    return "\n\n".join(parts)


def _recognised(names: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    """The paper's name of every file that holds one of its data sets, and a sentence for each that is called like one."""
    known, said = {}, []
    for file, name in names.items():
        data = read_comparisons(file)
        which = published.recognise(data)
        if which is not None:
            known[name] = which
            said.append(f"{name}: {which} of the paper, by the numbers of its records, models, judges and cells.")
        elif (called := Path(file).stem.lower()) in published.DATASETS:
            differences = published.Facts.of(data).differences(published.DATASETS[called])
            said.append(
                f"{name} is called like a data set of the paper and is not that ({differences}): no printed numbers."
            )
    return known, said


def _position_gain(held_out: pd.DataFrame) -> str:
    """JA with position effects against HJA without, paired over the seeds."""
    lines = ["JA + position against HJA, paired over the splits (difference, standard error):"]
    for data, rows in held_out.groupby("data", sort=False):
        wide = rows.pivot_table(index="seed", columns="method", values=["accuracy", "log-loss"])
        told = []
        for measure in ("accuracy", "log-loss"):
            difference = (wide[(measure, "JA + position")] - wide[(measure, "HJA")]).to_numpy(dtype=float)
            error = difference.std(ddof=1) / np.sqrt(len(difference))
            told.append(f"{measure} {difference.mean():+.4f} ({error:.4f})")
        lines.append(f"  {data!s}: {', '.join(told)}")
    return "\n".join(lines)


def _duration(frame: pd.DataFrame) -> str:
    """Seconds of one repetition of the robustness experiment against the time the paper states."""
    noise = frame[frame["part"] == "robustness"]
    lines = []
    for data, rows in noise.groupby("data", sort=False):
        seconds = rows.groupby("seed")["seconds"].first().mean()
        ratio = published.ROBUSTNESS_SECONDS / seconds
        lines.append(
            f"  {data}: one repetition ({int(rows['step'].max())} noisy judges, three methods with and without position effects, "
            f"ranks by cross-validation at every step) took {seconds:.1f} s on one core; the paper states "
            f"{published.ROBUSTNESS_SECONDS / 60:.0f} minutes on {published.ROBUSTNESS_CORES} cores: {ratio:.0f} times as long."
        )
    return "robustness, time:\n" + "\n".join(lines)


def _shown(table: pd.DataFrame) -> str:
    columns = [column for column in table if not str(column).endswith(" se")]
    return str(table[columns].replace({np.nan: ""}).to_string(index=False, float_format=lambda value: f"{value:.3f}"))
