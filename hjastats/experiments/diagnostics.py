"""The paper's diagnostic figures for real verdicts, with all judges and without those that dominate the disagreement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..data.readers import read_comparisons
from ..diagnostics.findings import outlying
from ..models import HJAModel
from ..results import HJAResultsWrapper

# The fits behind the printed figures have one direction.
RANK = 1


def tasks(files: list[str]) -> list[dict[str, Any]]:
    """One per file."""
    return [{"file": file} for file in files]


def run(file: str) -> list[dict[str, Any]]:
    """Sensitivity and leverage of every judge in every variant."""
    rows = []
    for variant, result in fits(file).items():
        leverage, sensitivity = result.leverage(), result.sensitivity
        for judge in result.model.judges:
            rows.append(
                {
                    "variant": variant,
                    "judge": judge,
                    "gamma": float(sensitivity.loc[judge, "estimate"]),
                    "std_err": float(sensitivity.loc[judge, "std_err"]),
                    "h": float(leverage.loc[judge, "h"]),
                    "rho": float(leverage.loc[judge, "rho"]),
                }
            )
    return rows


def fits(file: str) -> dict[str, HJAResultsWrapper]:
    """The rank-one fit, the same without the judges that dominate it, and with position effects instead."""
    data = read_comparisons(file)
    results = {"all judges": HJAModel.from_comparisons(data, rank=RANK).fit(warn_convergence=False)}
    outliers = list(outlying(results["all judges"].leverage()).index)
    if outliers:
        others = HJAModel.from_comparisons(data.without_judges(outliers), rank=RANK)
        results["without outliers"] = others.fit(warn_convergence=False)
    with_position = HJAModel.from_comparisons(data, rank=RANK, position="judge")
    return results | {"with position": with_position.fit(warn_convergence=False)}


def report(frame: pd.DataFrame, folder: Path) -> str:
    """Draw the figures and say who stands out."""
    frame.assign(data=frame["file"].map(lambda file: Path(file).stem)).drop(columns="file").to_csv(
        folder / "diagnostics.csv", index=False
    )
    lines = []
    for file in frame["file"].unique():
        results = fits(str(file))
        for variant, result in results.items():
            _draw(result, folder, f"{Path(file).stem}_{variant.replace(' ', '_')}")
        lines.append(f"{Path(file).stem}: {_words(results)}")
    return "\n".join(lines)


def _draw(result: HJAResultsWrapper, folder: Path, name: str) -> None:
    from matplotlib import pyplot as plt

    drawings = {
        "composite": result.plot_disagreement,
        "profiles": result.plot_profiles,
        "leverage": result.plot_leverage,
    }
    for kind, draw in drawings.items():
        drawn = draw()
        figure = getattr(drawn, "figure", drawn)
        figure.savefig(folder / f"diagnostics_{name}_{kind}.png", dpi=120)
        plt.close(figure)
    groups = result.bicluster(of="scores")
    (folder / f"diagnostics_{name}_groups.txt").write_text(f"{groups}\n", encoding="utf-8")


def _words(results: dict[str, HJAResultsWrapper]) -> str:
    """Which judges dominate, and what remains of it with position effects."""
    whole, positioned = results["all judges"], results["with position"]
    outliers = list(outlying(whole.leverage()).index)
    median = np.median(whole.leverage()["h"])
    if not outliers:
        return f"no judge dominates the disagreement (median h {median:.2f})."
    named = ", ".join(
        f"{judge} (gamma {whole.sensitivity.loc[judge, 'estimate']:.2f}, h {whole.leverage().loc[judge, 'h']:.2f}; with position "
        f"effects gamma {positioned.sensitivity.loc[judge, 'estimate']:.2f}, h {positioned.leverage().loc[judge, 'h']:.2f}, "
        f"position {positioned.position.loc[judge, 'estimate']:+.2f})"
        for judge in outliers
    )
    return f"the disagreement is dominated by {named}, against a median h of {median:.2f}."
