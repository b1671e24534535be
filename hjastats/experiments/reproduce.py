"""Which experiments there are, and how one becomes tables, figures and a comparison in a folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import resources, util
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import ComparisonError
from ..writing import write
from . import diagnostics, real, reports, synthetic
from .inputs import distinct
from .ledger import Ledger, Rows, work_off


@dataclass(frozen=True)
class Settings:
    """How much to do.

    Attributes
    ----------
    quick : bool
        A few repetitions of a few settings, to see that everything works.
    files : tuple of str
        Data for the experiments on real verdicts; the panel that comes with the package if empty.
    volume : float
        Records of a noisy judge, in multiples of the mean judge.

    Examples
    --------
    >>> Settings(quick=True).seeds(full=50, quick=8)
    8
    """

    quick: bool = False
    files: tuple[str, ...] = ()
    volume: float = real.NOISE_VOLUME

    @property
    def data_files(self) -> list[str]:
        """Files to work on."""
        return distinct(self.files) or [str(resources.files("hjastats.datasets") / "panel.csv")]

    def seeds(self, full: int, quick: int) -> int:
        """Number of repetitions."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Experiment:
    """Tasks, how to run one, and what to make of all.

    Attributes
    ----------
    title : str
    tasks : callable
        Settings to a list of tasks, each the keyword arguments of ``run``.
    run : callable
        One task to its rows.
    report : callable
        All rows and the folder to the text that is printed; writes tables and figures.
    """

    title: str
    tasks: Callable[[Settings], list[dict[str, Any]]]
    run: Callable[..., Rows]
    report: Callable[[pd.DataFrame, Path], str]


def _recovery_tasks(settings: Settings) -> list[dict[str, Any]]:
    levels = (0.0, 1.0) if settings.quick else synthetic.HETEROGENEITY
    return synthetic.recovery_tasks(_sizes(settings), levels, settings.seeds(50, 8))


def _sizes(settings: Settings) -> tuple[int, ...]:
    return (400, 1600) if settings.quick else synthetic.SIZES


def _bic_tasks(settings: Settings) -> list[dict[str, Any]]:
    sizes = (800, 6400) if settings.quick else synthetic.BIC_SIZES
    return synthetic.bic_tasks(sizes, settings.seeds(50, 5))


def _table_tasks(settings: Settings) -> list[dict[str, Any]]:
    steps = 5 if settings.quick else 10
    return real.tasks(settings.data_files, settings.seeds(20, 2), steps, settings.volume)


EXPERIMENTS = {
    "synthetic": Experiment(
        "recovery of scores and ranking on the main process (fig:synthetic)",
        _recovery_tasks,
        partial(synthetic.run_recovery, methods=synthetic.MAIN),
        reports.recovery,
    ),
    "ja-dgp": Experiment(
        "the same without any disagreement (fig:sim-ja-dgp)",
        lambda settings: synthetic.recovery_tasks(_sizes(settings), (), settings.seeds(50, 8)),
        partial(synthetic.run_recovery, methods=synthetic.WITHOUT_DISAGREEMENT, rank=0),
        reports.sensitivity_only,
    ),
    "bic": Experiment(
        "how often information criteria find the true rank (thm:bic_consistency)",
        _bic_tasks,
        synthetic.run_bic,
        reports.bic,
    ),
    "convergence": Experiment(
        "paths and iterations of the alternating algorithm and the default solver (fig:convergence)",
        lambda settings: synthetic.convergence_tasks(settings.seeds(50, 8)),
        synthetic.run_convergence,
        reports.convergence,
    ),
    "ablation": Experiment(
        "HJA without re-anchoring, and without structure (fig:ablation)",
        _recovery_tasks,
        partial(synthetic.run_recovery, methods=synthetic.ABLATED),
        partial(reports.recovery, name="ablation"),
    ),
    "table1": Experiment(
        "noisy judges, held-out records and close pairs on real verdicts (tab:dataset_comparison)",
        _table_tasks,
        real.run,
        reports.real_data,
    ),
    "diagnostics": Experiment(
        "composite figures, profiles, leverage and clusters of real panels (fig:chatbot_arena)",
        lambda settings: diagnostics.tasks(settings.data_files),
        diagnostics.run,
        diagnostics.report,
    ),
}


def reproduce(
    name: str, folder: str | Path, settings: Settings | None = None, *, jobs: int = 1, progress: bool = False
) -> str:
    """Run an experiment, or all of them, and write its tables and figures.

    Finished tasks are kept in ``<name>.jsonl`` in the folder: an interrupted run goes on where it was. Tasks whose data or whose
    code have changed since are computed again, and the text says so. Files are written whole or not at all.

    Parameters
    ----------
    name : str
        One of ``EXPERIMENTS``, or "all".
    folder : str or Path
    jobs : int
        Parallel processes.

    Returns
    -------
    str
        What was found, in words and tables.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     text = reproduce("convergence", folder, Settings(quick=True))
    >>> text.splitlines()[0][:32]
    'convergence: paths and iteration'
    """
    settings = Settings() if settings is None else settings
    if name != "all" and name not in EXPERIMENTS:
        raise ComparisonError(f"there is no experiment called {name!r}; there are {', '.join(EXPERIMENTS)} and all.")
    for file in settings.files:
        if not Path(file).is_file():
            raise ComparisonError(f"there is no file {file}: give the data of table1 as paths.")
    if util.find_spec("matplotlib") is None:
        raise ComparisonError("the experiments draw figures: pip install 'hjastats[plots]'.")
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise ComparisonError(f"{str(folder)!r} is a file: name a folder for tables and figures.")
    folder.mkdir(parents=True, exist_ok=True)
    texts = []
    for one in EXPERIMENTS if name == "all" else [name]:
        experiment = EXPERIMENTS[one]
        ledger = Ledger(folder / f"{one}.jsonl")
        frame = work_off(
            experiment.tasks(settings),
            experiment.run,
            ledger,
            jobs=jobs,
            label=one,
            progress=progress,
        )
        notes = "".join(f"note: {note}.\n" for note in ledger.notes)
        text = f"{one}: {experiment.title}\n{notes}{experiment.report(frame, folder)}"
        write(folder / f"{one}.txt", text + "\n")
        texts.append(text)
    return "\n\n".join(texts)
