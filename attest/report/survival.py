"""Which reading of a model survived erasure best, by how much, and whether that is more than chance."""

import numpy as np
import pandas as pd

from attest.core.measures import signed_rank
from attest.core.measures.comparison import LEVEL
from attest.core.measures.numbers import p_value, percent
from attest.experiments.readings.compared import SURVIVAL, title_of
from attest.report.controls import Control
from attest.report.verdict import Line, share

ATTENTIONS = ("attention", "rollout")
"""What the others are held against: the attention that pools, or, where there is none, rollout."""
APART = ("random", "oracle")
"""Rankings that are no readings of a model."""
MEANS = "Share of random sets that its first tokens beat, the mean of both ways to erase."


def sentence(rows: pd.DataFrame) -> str | None:
    """What a report says of the readings side by side; None where there is nothing to compare.

    A text's score is the mean of the shares of random sets beaten under both operators. The best reading is chosen on the
    texts that it is then tested on, so that its p-value is multiplied by the number of readings that it was chosen from.

    Args:
        rows: the table of E15.
    """
    scores = _scores(rows)
    base = next((name for name in ATTENTIONS if name in scores), None)
    if base is None or len(scores.columns) < 2 or not len(scores):
        return None
    best = str(scores.mean().idxmax())
    said = f"On {len(scores)} of {len(rows)} texts, {len(scores.columns)} readings were compared."
    if best == base:
        runner = str(scores.drop(columns=base).mean().idxmax())
        others = f"then {title_of(runner)} with {_share(scores, runner)}"
        return f"{said} {title_of(best)} itself survived best: it beats {_share(scores, best)} of random sets, {others}."
    found = signed_rank(np.asarray(scores[best]), np.asarray(scores[base]))
    corrected = min(1.0, found.p_value * (len(scores.columns) - 1))
    chance = "That is more than chance" if corrected < LEVEL else "That may be chance"
    return (
        f"{said} {title_of(best)} survived best: its first tokens beat {_share(scores, best)} of as many random ones, those "
        f"of {title_of(base)} {_share(scores, base)}. {chance} (Wilcoxon's signed-rank test, corrected for the choice among "
        f"{len(scores.columns) - 1} readings: {p_value(corrected)})."
    )


def lines(rows: pd.DataFrame) -> list[Line]:
    """The numbers of the sentence, to be drawn: the attention, then the best reading where that is another.

    Args:
        rows: the table of E15.
    """
    scores = _scores(rows)
    base = next((name for name in ATTENTIONS if name in scores), None)
    if base is None or len(scores.columns) < 2 or not len(scores):
        return []
    chance = Control("as many random tokens", percent(0.5), 0.5)
    shown = dict.fromkeys((base, str(scores.mean().idxmax())))
    return [share("E15/survival", f"random sets beaten by {title_of(name)}", scores[name], MEANS, chance) for name in shown]


def _scores(rows: pd.DataFrame) -> pd.DataFrame:
    """One column a reading, of the texts that all of them have numbers for."""
    first, second = SURVIVAL
    names = [name.removeprefix(f"{first}_") for name in rows if name.startswith(f"{first}_")]
    kept = [name for name in names if name not in APART and rows[f"{first}_{name}"].count() == rows[f"{first}_random"].count()]
    return pd.DataFrame({name: (rows[f"{first}_{name}"] + rows[f"{second}_{name}"]) / 2 for name in kept}).dropna()


def _share(scores: pd.DataFrame, reading: str) -> str:
    return percent(scores[reading].mean())
