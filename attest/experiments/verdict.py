"""The verdict: may the attention be read as an explanation? A rule chooses one of four answers.

The rule is fitted, calibrated and tested on networks whose attention is known to be right or wrong
(``benchmarks.judges.fitting``). ``verdict.json`` contains the rule and its error rates.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from attest.experiments.registry import EXPERIMENTS, askable

YES, IN_PART, NO, CANNOT_TELL, NOT_LEARNED = "yes", "in part", "no", "cannot tell", "not learned"


class Rule(NamedTuple):
    """A rule with a logistic regression, which estimates whether a model's attention points at the deciding tokens."""

    weights: Mapping[str, tuple[float, float]]
    """By feature: its weight, and what is added where it is undefined."""
    intercept: float
    limits: Mapping[str, float] = {}
    """Estimates that are compatible with an answer: ``yes_low``, ``part_low``, ``part_high``, ``no_high``."""
    shares: Sequence[tuple[float, float]] = ()
    """Pairs in ascending order: an estimate, and the share of texts with right attention among networks with this estimate."""
    within: float = 1.0
    """Nine in ten of these shares were at most this far from the truth."""

    def chance(self, rows: pd.DataFrame) -> pd.Series:
        """Estimate for each text the chance that attention points at the tokens that decide the prediction, in [0, 1]."""
        logits = pd.Series(self.intercept, index=rows.index, dtype=float)
        for name, (weight, undefined) in self.weights.items():
            values = rows[name].astype(float) if name in rows else pd.Series(np.nan, index=rows.index)
            logits += (weight * values).where(values.notna(), undefined)
        return 1 / (1 + np.exp(-logits))

    def share(self, estimate: float) -> float:
        """Return the estimated share of texts on which attention is right, in [0, 1], by interpolation."""
        return float(np.interp(estimate, [at for at, _ in self.shares], [share for _, share in self.shares]))

    def answer(self, estimate: float) -> str:
        """Return whether attention is right: ``yes``, ``in part`` or ``no``; ``cannot tell`` unless one answer fits."""
        fits = {
            YES: estimate >= self.limits["yes_low"],
            IN_PART: self.limits["part_low"] <= estimate <= self.limits["part_high"],
            NO: estimate <= self.limits["no_high"],
        }
        compatible = [answer for answer, fit in fits.items() if fit]
        return compatible[0] if len(compatible) == 1 else CANNOT_TELL


SHIPPED = Path(str(files("attest.experiments"))) / "verdict.json"
FEWEST = 20
"""With fewer texts nothing is said."""


@cache
def shipped() -> dict[str, Any]:
    """Return the rules for verdicts on a model's attention, and their error rates, from ``verdict.json``."""
    return dict(json.loads(SHIPPED.read_text(encoding="utf-8")))


def rule_of(told: Mapping[str, Any]) -> Rule:
    """Return a rule for verdicts on a model's attention, from its entry in ``verdict.json``."""
    return Rule(*(told[name] for name in Rule._fields))


class Verdict(NamedTuple):
    """A verdict on whether attention points at the tokens that decide the prediction, with reasons and error rates."""

    answer: str
    """``yes``, ``in part``, ``no``, ``cannot tell`` or ``not learned``."""
    share: float | None
    """The estimated share of texts in which it does, in [0, 1]."""
    within: float | None
    """Nine in ten estimates were no farther from the truth, on networks whose truth is known."""
    wrong: Sequence[float] | None
    """Of such answers about such networks, the share that was wrong, and the ends of its 95 % interval."""
    tried_on: int
    """The number of mechanisms that this was tried on."""
    because: Mapping[str, float]
    """The means of the features that the rule reads, by key: ``E1/leads_leave_one_out_inputs``."""
    texts: int
    lacking: Sequence[str] = ()
    """Experiments that the rule would read too, and that were not run, or on too few texts."""
    example: int | None = None
    """The id of the text that shows the answer most clearly."""


def judged(tables: Mapping[str, pd.DataFrame], about: str, inside: bool, learned: bool | None) -> Verdict | None:
    """Return the verdict on a model's attention from the tables of its experiments; None if no rule applies.

    Args:
        tables: the table of each experiment, by its id; each table has one row per text and a column ``id``.
        about: ``tokens`` or ``states``.
        inside: whether attention is inside layers alone; then rollout is judged.
        learned: whether the model does better than a constant answer; None if this is unknown: the answer is then never *yes*.
    Returns:
        The verdict; None if no experiment that a rule reads was run, or if no answer of the rules for such attention is
        reliable enough to be given.
    """
    kind = "layers" if inside and about == "states" else about
    family = "inside" if inside else "pooled"
    known = shipped()
    if not known["said"][about][family]:
        return None
    rules = known["rules"][kind]
    read = {names: _together(tables, list(rule["weights"])) for names, rule in rules.items()}
    usable = [names for names, rows in read.items() if len(rows)]
    if not usable:
        return None
    enough = [names for names in usable if len(read[names]) >= FEWEST] or usable
    names = max(enough, key=lambda each: each.count(","))
    whole = max(rules, key=lambda each: each.count(","))
    lacking = [name for name in whole.split(",") if name not in names.split(",")]
    rule, rows = rule_of(rules[names]), read[names]
    chance = rule.chance(rows)
    because = {key: float(rows[key].mean()) for key in rule.weights}
    estimate = float(chance.mean())
    found = Verdict(CANNOT_TELL, rule.share(estimate), rule.within, None, 0, because, len(rows), lacking)
    if learned is False:
        return found._replace(answer=NOT_LEARNED, share=None, within=None)
    if len(rows) < FEWEST:
        return found
    answer = rule.answer(estimate)
    if answer == YES and learned is None:
        return found
    if answer not in rules[names]["said"][family]:
        return found
    errors = rules[names]["errors"][family]
    shown = chance.idxmax() if answer == YES else chance.idxmin()
    return found._replace(
        answer=answer,
        wrong=errors["wrong"].get(answer),
        tried_on=errors["mechanisms"],
        example=None if answer == CANNOT_TELL else int(rows["id"][shown]),
    )


ENOUGH = 40
"""Texts whose tokens E14 erases for the verdict, in a trial that names no experiments."""


def needed(inside: bool) -> dict[str, dict[str, Any]]:
    """Return the experiments that a verdict on a model's attention needs, with their cheapest settings.

    Args:
        inside: whether attention is inside layers alone.
    """
    rules, said = shipped()["rules"], shipped()["said"]["states"]["inside" if inside else "pooled"]
    about = ["tokens", *(["layers" if inside else "states"] if said else [])]
    names = {name for of in about for each in rules[of] for name in each.split(",")}
    erasing = {"texts": ENOUGH, "erase_by": ["delete"] if inside else ["attention", "delete"], "extras": False}
    return {name: erasing if name == "E14" else {} for name in EXPERIMENTS if name in names}


def _together(tables: Mapping[str, pd.DataFrame], keys: Sequence[str]) -> pd.DataFrame:
    """Join the experiments' tables by ``id``, for texts that all tables contain; no rows if a column is missing."""
    parts = []
    for name in dict.fromkeys(key.split("/")[0] for key in keys):
        columns = {key.split("/")[1]: key for key in keys if key.startswith(f"{name}/")}
        if name not in tables or not {*columns} <= {*tables[name]}:
            return pd.DataFrame()
        rows = tables[name].set_index("id")[list(columns)].rename(columns=columns)
        parts.append(rows.dropna(how="all") if askable()[name].samples else rows)
    return pd.concat(parts, axis=1, join="inner").reset_index()
