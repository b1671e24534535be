"""The paper's diagnostic figures for real verdicts, with all judges and without those that dominate the disagreement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..data.readers import read_comparisons
from ..diagnostics.findings import outlying
from ..models import HJAModel
from ..results import HJAResults
from ..writing import write
from .figures import save
from .inputs import short_names

# The fits behind the printed figures have one direction.
RANK = 1


def tasks(files: list[str]) -> list[dict[str, Any]]:
    """One per file."""
    return [{"file": file} for file in files]


def run(file: str) -> list[dict[str, Any]]:
    """Sensitivity and leverage of every judge in every variant."""
    tables = []
    for variant, result in fits(file).items():
        table = result.sensitivity[["estimate", "std_err"]].rename(columns={"estimate": "gamma"})
        table = table.join(result.judges.leverage()[["h", "rho"]]).rename_axis("judge").reset_index()
        table.insert(0, "variant", variant)
        tables.append(table)
    return pd.concat(tables).to_dict("records")  # type: ignore[return-value]


def fits(file: str) -> dict[str, HJAResults]:
    """The rank-one fit, the same without the judges that dominate it, and with position effects instead."""
    data = read_comparisons(file)
    results = {"all judges": HJAModel.from_comparisons(data, rank=RANK).fit(warn_convergence=False)}
    outliers = list(outlying(results["all judges"].judges.leverage()).index)
    if outliers:
        others = HJAModel.from_comparisons(data.without_judges(outliers), rank=RANK)
        results["without outliers"] = others.fit(warn_convergence=False)
    with_position = HJAModel.from_comparisons(data, rank=RANK, position="judge")
    return results | {"with position": with_position.fit(warn_convergence=False)}


def report(frame: pd.DataFrame, folder: Path) -> str:
    """Draw the figures and say who stands out."""
    names = short_names(frame["file"].unique())
    table = frame.assign(data=frame["file"].map(names)).drop(columns="file")
    write(folder / "diagnostics.csv", table.to_csv(index=False))
    lines = []
    for file, name in names.items():
        results = fits(str(file))
        for variant, result in results.items():
            _draw(result, folder, f"{name}_{variant.replace(' ', '_')}")
        lines.append(f"{name}: {_words(results)}")
    return "\n".join(lines)


def _draw(result: HJAResults, folder: Path, name: str) -> None:
    from matplotlib import pyplot as plt

    drawings: dict[str, Any] = {
        "composite": result.plot.disagreement(),
        "profiles": result.plot.profiles(),
        "leverage": result.plot.leverage(),
    }
    for kind, drawn in drawings.items():
        figure = getattr(drawn, "figure", drawn)
        save(figure, folder / f"diagnostics_{name}_{kind}.png", dpi=120)
        plt.close(figure)
    groups = result.judges.bicluster(of="scores")
    write(folder / f"diagnostics_{name}_groups.txt", f"{groups}\n")


def _words(results: dict[str, HJAResults]) -> str:
    """Which judges dominate, and what remains of it with position effects."""
    whole, positioned = results["all judges"], results["with position"]
    outliers = list(outlying(whole.judges.leverage()).index)
    median = np.median(whole.judges.leverage()["h"])
    if not outliers:
        return f"no judge dominates the disagreement (median h {median:.2f})."
    sizes, moved = whole.judges.leverage()["h"], positioned.judges.leverage()["h"]
    named = ", ".join(
        f"{judge} (gamma {whole.sensitivity.loc[judge, 'estimate']:.2f}, h {sizes[judge]:.2f}; with position effects gamma "
        f"{positioned.sensitivity.loc[judge, 'estimate']:.2f}, h {moved[judge]:.2f}, "
        f"position {positioned.position.loc[judge, 'estimate']:+.2f})"
        for judge in outliers
    )
    return f"the disagreement is dominated by {named}, against a median h of {median:.2f}."
