"""What used to be missed: copies, circles, changes half-way (S15), and judges that only stretch the consensus (S17)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import expit, ndtr

import hjastats as hja
from hjastats.diagnostics.goodness import LEVEL

from .registry import Told, claim

JUDGES, ITEMS, VERDICTS = 8, 8, 400
DESIGN = "8 judges, 8 items, 400 verdicts each"


class Panel:
    """Judges of sensitivities 0.6 to 1.4 in random order of rows and presentation, and the chances of their verdicts."""

    def __init__(self, rng: np.random.Generator, n: int = VERDICTS) -> None:
        self.rng, size = rng, JUDGES * n
        self.judge = rng.permutation(np.repeat(np.arange(JUDGES), n))
        self.first = rng.integers(ITEMS, size=size)
        self.second = (self.first + rng.integers(1, ITEMS, size=size)) % ITEMS
        self.is_late = np.arange(size) >= size / 2
        mu, gamma = rng.standard_normal(ITEMS), rng.uniform(0.6, 1.4, JUDGES)
        self.odds = gamma[self.judge] * (mu[self.first] - mu[self.second])

    def fitted(self, chance: np.ndarray, columns: pd.DataFrame | None = None) -> hja.HJAResults:
        wins = (self.rng.random(len(chance)) < chance).astype(float)
        data = hja.Comparisons.from_arrays(_names("j", self.judge), self.first, self.second, wins, columns=columns)
        return hja.JAModel.from_comparisons(data).fit()


def _names(letter: str, index: np.ndarray) -> pd.Categorical:
    return pd.Categorical.from_codes(index, [f"{letter}{i}" for i in range(JUDGES)])


def _same_prompts(rng: np.random.Generator, copied: float, with_prompts: bool, effect: float = 0.0) -> hja.HJAResults:
    """Everybody judges the same 400 prompts; j1 takes over a share of the verdicts of j0."""
    mu = rng.standard_normal(ITEMS)
    first = rng.integers(ITEMS, size=VERDICTS)
    second = (first + rng.integers(1, ITEMS, size=VERDICTS)) % ITEMS
    odds = mu[first] - mu[second] + effect * rng.standard_normal(VERDICTS)
    wins = rng.random((JUDGES, VERDICTS)) < expit(odds)
    wins[1] = np.where(rng.random(VERDICTS) < copied, wins[0], wins[1])
    judge, row = np.divmod(rng.permutation(JUDGES * VERDICTS), VERDICTS)
    columns = pd.DataFrame({"prompt_id": row}) if with_prompts else None
    data = hja.Comparisons.from_arrays(
        _names("j", judge), first[row], second[row], wins[judge, row].astype(float), columns=columns
    )
    return hja.JAModel.from_comparisons(data).fit()


@claim(
    "S15", "false alarms", f"independent judges on the same prompts are called redundant; {DESIGN}", n=1000, n_quick=60
)
def independent_judges(rng: np.random.Generator) -> Told:
    return float(_same_prompts(rng, 0.0, True).judges.redundancy().is_warning), 1.0


@claim("S15", "false alarms", f"independent judges without prompts are called redundant; {DESIGN}", n=1000, n_quick=60)
def independent_judges_without_prompts(rng: np.random.Generator) -> Told:
    return float(_same_prompts(rng, 0.0, False).judges.redundancy().is_warning), 1.0


@claim(
    "S15", "false alarms", f"prompts that move everybody (sd 2) are taken for near-copies; {DESIGN}", n=400, n_quick=60
)
def prompt_effects(rng: np.random.Generator) -> Told:
    return float(bool(_same_prompts(rng, 0.0, True, 2.0).judges.redundancy().copies)), 1.0


@claim("S15", "power", f"a copy of 90% of the verdicts is named, and nobody else; {DESIGN}", n=400, n_quick=40)
def copies(rng: np.random.Generator) -> Told:
    return float(_same_prompts(rng, 0.9, True).judges.redundancy().copies == [("j0", "j1")]), 1.0


@claim("S15", "power", f"a copy of 90% of the verdicts is named without a prompt column; {DESIGN}", n=400, n_quick=40)
def copies_without_prompts(rng: np.random.Generator) -> Told:
    return float(_same_prompts(rng, 0.9, False).judges.redundancy().copies == [("j0", "j1")]), 1.0


@claim("S15", "false alarms", f"goodness of fit is rejected although the model holds; {DESIGN}", n=1000, n_quick=60)
def good_fits(rng: np.random.Generator) -> Told:
    panel = Panel(rng)
    return float(panel.fitted(expit(panel.odds)).judges.goodness_of_fit().is_warning), 1.0


@claim(
    "S15", "false alarms", "goodness of fit is rejected although the model holds; 80 verdicts each", n=1000, n_quick=60
)
def good_fits_of_few_verdicts(rng: np.random.Generator) -> Told:
    panel = Panel(rng, 80)
    found = panel.fitted(expit(panel.odds)).judges.goodness_of_fit()
    return (0.0, 0.0) if found.note else (float(found.is_warning), 1.0)


@claim("S15", "size", f"the test of a single judge's pairs at 5%; {DESIGN}", n=600, n_quick=60)
def dispersion_of_judges(rng: np.random.Generator) -> Told:
    panel = Panel(rng)
    p_value = panel.fitted(expit(panel.odds)).judges.goodness_of_fit().table["p_value"].iloc[1:]
    return float((p_value < 0.05).sum()), float(len(p_value))


@claim("S15", "size", f"the test that a single judge's preferences go round at 5%; {DESIGN}", n=600, n_quick=60)
def circles_of_judges(rng: np.random.Generator) -> Told:
    panel = Panel(rng)
    p_value = panel.fitted(expit(panel.odds)).judges.goodness_of_fit().table["p_circular"].iloc[1:]
    return float((p_value < 0.05).sum()), float(len(p_value))


@claim("S15", "power", f"one judge whose preferences go round 90 to 10 is named; {DESIGN}", n=400, n_quick=40)
def cyclic_judges(rng: np.random.Generator) -> Told:
    panel = Panel(rng)
    ahead = (panel.second - panel.first) % ITEMS
    forward = np.where(2 * ahead == ITEMS, panel.first < panel.second, 2 * ahead < ITEMS)
    chance = np.where(panel.judge == 0, np.where(forward, 0.9, 0.1), expit(panel.odds))
    return float(panel.fitted(chance).judges.goodness_of_fit().table.loc["j0", "p_circular_holm"] < LEVEL), 1.0


@claim(
    "S15",
    "power",
    f"Thurstone's link instead of the logistic one is noticed (hardly); {DESIGN}",
    n=400,
    n_quick=30,
    band=(0, 1),
)
def thurstone(rng: np.random.Generator) -> Told:
    panel = Panel(rng)
    return float(panel.fitted(ndtr(panel.odds)).judges.goodness_of_fit().is_warning), 1.0


@claim(
    "S15",
    "power",
    f"a judge that flips a coin in 20% of its verdicts is noticed (hardly); {DESIGN}",
    n=400,
    n_quick=30,
    band=(0, 1),
)
def lapses(rng: np.random.Generator) -> Told:
    panel = Panel(rng)
    chance = np.where(panel.judge == 0, 0.1 + 0.8 * expit(2.0 * panel.odds), expit(panel.odds))
    return float(panel.fitted(chance).judges.goodness_of_fit().table.loc["j0", "p_holm"] < LEVEL), 1.0


@claim(
    "S15", "false alarms", f"something is said to change half-way although nothing does; {DESIGN}", n=1000, n_quick=60
)
def nothing_changes(rng: np.random.Generator) -> Told:
    panel = Panel(rng)
    return float(panel.fitted(expit(panel.odds)).judges.stability().is_warning), 1.0


@claim(
    "S15",
    "false alarms",
    f"something is said to change half-way, but only prompts do (80 in blocks of rows, sd 1); {DESIGN}",
    n=600,
    n_quick=40,
)
def nothing_changes_but_prompts(rng: np.random.Generator) -> Told:
    panel = Panel(rng)
    prompt = np.arange(len(panel.odds)) * 80 // len(panel.odds)
    # What a prompt does depends on the items.
    effect = rng.standard_normal((80, ITEMS))
    odds = panel.odds + effect[prompt, panel.first] - effect[prompt, panel.second]
    return float(panel.fitted(expit(odds), pd.DataFrame({"prompt_id": prompt})).judges.stability().is_warning), 1.0


@claim("S15", "power", f"a judge that turns round half-way is named first; {DESIGN}", n=400, n_quick=40)
def judge_turns(rng: np.random.Generator) -> Told:
    panel = Panel(rng)
    odds = np.where((panel.judge == 0) & panel.is_late, -panel.odds, panel.odds)
    return _named_first(panel.fitted(expit(odds)), "sensitivity", "j0")


@claim("S15", "power", f"an item that moves by 2 half-way is named first; {DESIGN}", n=400, n_quick=40)
def item_moves(rng: np.random.Generator) -> Told:
    panel = Panel(rng)
    move = (panel.first == 0) * 1.0 - (panel.second == 0)
    return _named_first(panel.fitted(expit(panel.odds + 2.0 * panel.is_late * move)), "score", "0")


def _named_first(result: hja.HJAResults, kind: str, name: str) -> Told:
    worst = result.judges.stability().table.nsmallest(1, "p_value").iloc[0]
    return float((worst["kind"], worst["name"]) == (kind, name) and worst["p_holm"] < 0.05), 1.0


@claim("S17", "false alarms", f"one judge of pure noise is called the most influential; {DESIGN}", n=400, n_quick=30)
def noise_first(rng: np.random.Generator) -> Told:
    panel = Panel(rng)
    chance = np.where(panel.judge == 0, 0.5, expit(panel.odds))
    return float(panel.fitted(chance).judges.influence().table.index[0] == "j0"), 1.0
