"""The rule of the verdict, made, calibrated and held to account on networks whose truth is known.

Legend: N texts, F features, M networks.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import isotonic_regression, minimize
from scipy.stats import beta

from attest.experiments.verdict import CANNOT_TELL, IN_PART, NO, YES, Rule

FOLDS = 5
"""Parts of the mechanisms, each left out once, when features are chosen."""


def truth_of(share: float, stated: Mapping[str, Any]) -> str:
    """Return the true answer about a network in whose texts this share is right."""
    return YES if share >= stated["yes_from"] else NO if share < stated["no_below"] else IN_PART


def fitted(rows: pd.DataFrame, right: str, signs: Mapping[str, int], stated: Mapping[str, Any]) -> Rule:
    """Fit a rule without thresholds: logistic regression in which no feature counts against its sign.

    Args:
        rows: one a text; every mechanism has the same weight, and so has every network in it.
    """
    features = list(signs)
    values = rows[features].to_numpy(float) * [signs[name] for name in features]
    known = ~np.isnan(values)
    inputs = np.hstack([np.nan_to_num(values), ~known, np.ones((len(rows), 1))])
    weight, truth = _weights(rows), rows[right].to_numpy(float)

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        logits = inputs @ parameters
        chance = 1 / (1 + np.exp(-logits))
        told = weight @ (np.logaddexp(0, logits) - truth * logits)
        penalised = parameters.copy()
        penalised[-1] = 0
        return told + stated["ridge"] * (penalised**2).sum() / 2, inputs.T @ (weight * (chance - truth)) + (
            stated["ridge"] * penalised
        )

    count = len(features)
    bounds = [(0, None)] * count + [(None, None)] * (count + 1)
    found = minimize(loss, np.zeros(2 * count + 1), jac=True, method="L-BFGS-B", bounds=bounds).x
    pairs = {name: (float(found[i]) * signs[name], float(found[count + i])) for i, name in enumerate(features)}
    return Rule(pairs, float(found[-1]))


def _weights(rows: pd.DataFrame) -> np.ndarray:
    """Return the weight of each text: mechanisms count alike, networks of one do, and texts of one do; sum 1."""
    networks = rows.groupby("mechanism").network.transform("nunique")
    texts = rows.groupby("network").text.transform("count")
    return (1 / (rows.mechanism.nunique() * networks * texts)).to_numpy(float)


def left_out_loss(rows: pd.DataFrame, right: str, signs: Mapping[str, int], stated: Mapping[str, Any]) -> float:
    """Return the mean log loss on mechanisms that a fit has not seen."""
    mechanisms = sorted(rows.mechanism.unique())
    fold = rows.mechanism.map({name: place % FOLDS for place, name in enumerate(mechanisms)})
    total = 0.0
    for each in range(FOLDS):
        tried = rows[fold == each]
        chance = fitted(rows[fold != each], right, signs, stated).chance(tried).clip(1e-6, 1 - 1e-6)
        truth = tried[right]
        lost = -(truth * np.log(chance) + (1 - truth) * np.log(1 - chance))
        total += float(_weights(tried) @ lost) * tried.mechanism.nunique() / len(mechanisms)
    return total


def chosen_features(
    rows: pd.DataFrame, right: str, signs: Mapping[str, int], stated: Mapping[str, Any], forced: Collection[str] = ()
) -> list[str]:
    """Return the features that lower the loss on left-out mechanisms one after the other, of so many experiments at most."""
    taken: list[str] = list(forced)
    best = np.inf
    while True:
        experiments = {experiment_of(name) for name in taken}
        allowed = [name for name in signs if name not in taken and len(experiments | {experiment_of(name)}) <= stated["most"]]
        if not allowed:
            return taken
        losses = {name: left_out_loss(rows, right, {key: signs[key] for key in [*taken, name]}, stated) for name in allowed}
        name = min(losses, key=lambda each: losses[each])
        if losses[name] > best - stated["gain"]:
            return taken
        best = losses[name]
        taken.append(name)


def experiment_of(feature: str) -> str:
    """Return the id of the experiment that a feature comes from."""
    return feature.split("/")[0]


def networks_of(rows: pd.DataFrame, right: str, rule: Rule) -> pd.DataFrame:
    """Return one row a network: what it is, the ``share`` of right texts, and the rule's ``estimate`` and ``answer``."""
    told = rows.assign(estimate=rule.chance(rows))
    named = [name for name in ("source", "side", "kind", "mechanism", "value", "look", "rule") if name in rows]
    grouped = told.groupby(["network", *named], as_index=False, dropna=False)
    networks = grouped.agg(share=(right, "mean"), estimate=("estimate", "mean"))
    return networks.assign(answer=networks.estimate.map(rule.answer) if rule.limits else CANNOT_TELL)


def calibrated(rule: Rule, networks: pd.DataFrame, stated: Mapping[str, Any]) -> Rule:
    """Return a rule with thresholds: the quantiles of estimates of networks with one truth, each mechanism counting alike."""
    truth = networks.share.map(lambda share: truth_of(share, stated))
    limits = {}
    for name, level in stated["alpha"].items():
        answer, side = name.rsplit("_", 1)
        some = networks[truth == {"yes": YES, "no": NO, "part": IN_PART}[answer]]
        limits[name] = _quantile(some, level, side)
    ordered = networks.sort_values("estimate")
    weight = 1 / ordered.groupby("mechanism").network.transform("count")
    rising = isotonic_regression(ordered.share, weights=weight).x
    ends = np.flatnonzero(np.diff(rising, prepend=-1, append=2))  # where a step begins, and where the one before it ends
    kept = sorted({*ends[:-1].tolist(), *(ends[1:] - 1).tolist()})
    shares = [(float(ordered.estimate.iloc[at]), float(rising[at])) for at in kept]
    rule = rule._replace(limits=limits, shares=shares)
    missed = (ordered.share - ordered.estimate.map(rule.share)).abs()
    return rule._replace(within=float(np.quantile(missed, 0.9)))


def _quantile(networks: pd.DataFrame, level: float, side: str) -> float:
    """Return the estimate beyond which less than ``level`` of the networks lie, low or high; mechanisms count alike."""
    if networks.empty:
        return 0.0 if side == "low" else 1.0
    sign = 1 if side == "low" else -1
    ordered = networks.assign(at=sign * networks.estimate).sort_values("at")
    count = ordered.groupby("mechanism").network.transform("count")
    weight = (1 / (count * ordered.mechanism.nunique())).to_numpy() * len(ordered) / (len(ordered) + 1)
    below = np.cumsum(weight) + 1 / (len(ordered) + 1)  # a new network may lie beyond all
    allowed = below > level
    return float(sign * ordered["at"].to_numpy()[allowed.argmax() if allowed.any() else -1])


def rules_of(rows: pd.DataFrame, of: str, features: str, stated: Mapping[str, Any]) -> dict[str, Rule]:
    """Return the calibrated rule for each set of experiments that the best rule takes features from.

    Returns:
        By experiments, joined by commas, the whole set first.
    """
    right, signs = f"right_{of}", stated["features"][features]
    rows = rows.dropna(subset=right)
    make, calibrate = (rows[rows.side == side] for side in ("make", "calibrate"))
    signs = {name: sign for name, sign in signs.items() if name in rows and rows[name].notna().any()}
    losses = {each: left_out_loss(make, right, signs, {**stated, "ridge": each}) for each in stated["ridges"]}
    stated = {**stated, "ridge": min(losses, key=lambda each: losses[each])}
    best = chosen_features(make, right, signs, stated)
    experiments = list(dict.fromkeys(experiment_of(name) for name in best))
    found = {}
    for size in range(len(experiments), 0, -1):
        for some in combinations(experiments, size):
            allowed = {name: sign for name, sign in signs.items() if experiment_of(name) in some}
            taken = best if size == len(experiments) else chosen_features(make, right, allowed, stated)
            rule = fitted(make, right, {name: signs[name] for name in taken}, stated)
            found[",".join(sorted(some))] = calibrated(rule, networks_of(calibrate, right, rule), stated)
    return found


def errors(networks: pd.DataFrame, stated: Mapping[str, Any]) -> dict[str, Any]:
    """Return how often a rule errs on networks, with 95 % intervals in which every mechanism counts with its rate.

    Returns:
        ``networks``, ``mechanisms``; ``false_yes``, ``false_no``, ``answered`` as [rate, low, high], None without any; the
        counts of answers by truth; and by answer ``wrong``, the rate of wrong ones among these answers.
    """
    truth = networks.share.map(lambda share: truth_of(share, stated))
    answer = networks.answer
    mechanism = networks.mechanism
    told: dict[str, Any] = {"networks": len(networks), "mechanisms": int(mechanism.nunique())}
    told["false_yes"] = _rate(answer == YES, truth != YES, mechanism)
    told["false_no"] = _rate(answer == NO, truth != NO, mechanism)
    told["answered"] = _rate(answer != CANNOT_TELL, truth != "", mechanism)
    told["wrong"] = {each: _rate(truth != each, answer == each, mechanism) for each in (YES, IN_PART, NO)}
    told["answers"] = {
        each: {said: int(((truth == each) & (answer == said)).sum()) for said in (YES, IN_PART, NO, CANNOT_TELL)}
        for each in (YES, IN_PART, NO)
    }
    return told


def _rate(event: pd.Series, among: pd.Series, mechanism: pd.Series) -> list[float] | None:
    """Return a rate with the ends of its interval: Clopper-Pearson over mechanisms, each with the rate of its networks."""
    if not among.any():
        return None
    rates = event[among].groupby(mechanism[among]).mean()
    count, hits = len(rates), float(rates.sum())
    low = float(beta.ppf(0.025, hits, count - hits + 1)) if hits > 0 else 0.0
    high = float(beta.ppf(0.975, hits + 1, count - hits)) if hits < count else 1.0
    return [hits / count, low, high]


def as_for_a_stranger(
    rows: pd.DataFrame, of: str, features: Sequence[str], by: str, stated: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the errors of rules each made and calibrated without one group of networks, and tried on that group."""
    right = f"right_{of}"
    rows = rows.dropna(subset=right)
    signs = {name: sign for group in stated["features"].values() for name, sign in group.items() if name in features}
    stated = {**stated, "ridge": stated["ridges"][-1]} if "ridge" not in stated else stated
    tried = []
    for group in sorted(rows[by].unique()):
        others = rows[rows[by] != group]
        half = others.mechanism.map(others_side)
        rule = fitted(others[half == 0], right, signs, stated)
        rule = calibrated(rule, networks_of(others[half == 1], right, rule), stated)
        tried.append(networks_of(rows[rows[by] == group], right, rule))
    return errors(pd.concat(tried, ignore_index=True), stated)


def others_side(mechanism: str) -> int:
    """Return in which half of the mechanisms one falls, where all but one group are divided anew."""
    return sum(mechanism.encode()) % 2
