"""From what tests say of trained networks to whether they agree with what the same tests say of constructed ones.

A trained network's attention is right by degrees. So a model alone is asked whether suspicion grows as the mass on the truth
falls, text by text; and pairs, one guided to the truth and one to a decoy, are told apart as constructed ones are.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from attest.core.measures.rank_correlation import kendall_tau_b
from attest.judges.judging import CALIBRATIONS, auroc, tau_b
from attest.judges.measuring import Measured

FREE, TRUTH, DECOY = "free", "truth", "decoy"
"""What attention was guided to in training: nothing, the deciding tokens, or the first token that the rule does not read."""
MODEL = ("network", "projection", "rule", "seed")
SETTING = MODEL[:-1]
"""What seeds are repetitions of. Seeds of one setting resemble each other, so intervals draw whole settings again."""
PLACES = 9
"""Means over models that differ by less differ by the order of a sum."""


@dataclass(frozen=True)
class Trained:
    """The results of all tests on a trained network."""

    network: str
    projection: str
    rule: str
    seed: int
    guided_to: str
    accuracy: float
    """On texts that it was not trained on, in [0, 1]."""
    counts: Tensor
    """bool ``(B,)``, texts whose decision is right and is flipped by the exchange of the rule's words."""
    heard: Measured

    @property
    def model(self) -> tuple[str, str, str, int]:
        """Return what the network and its counterparts of other guidance share: network, projection, rule and seed."""
        return self.network, self.projection, self.rule, self.seed

    def mass(self, of: str) -> Tensor:
        """Return the attention on deciding ``tokens`` or on carrying ``states``, ``(N,)``, in the N texts that count."""
        return self.heard.mass[of][self.counts]


def models(trained: Iterable[Trained], stated: Mapping[str, Any], tests: Mapping[str, Any]) -> pd.DataFrame:
    """Return a table with one row for each test and each network that nobody guided and that has learned its rule.

    Returns:
        ``network``, ``projection``, ``rule``, ``seed``, ``test``, ``of``; ``mass``, its mean; ``tau``, τ-b between suspicion
        and 1 − mass, NaN where either is constant; ``undefined``, the share of texts; ``texts``, how many count;
        ``milliseconds``, CPU time a text of the test's experiment as a whole.
    """
    rows = []
    for each in trained:
        if each.guided_to != FREE or each.accuracy < stated["learned"] or not each.counts.any():
            continue
        for test in each.heard.suspicion:
            of = tests[test]["of"]
            suspicion, mass = each.heard.suspicion[test][each.counts], each.mass(of)
            known = ~suspicion.isnan()
            row = {
                "test": test,
                "of": of,
                "mass": float(mass.mean()),
                "tau": tau_b(suspicion[known], 1 - mass[known], stated["tolerance"]),
                "undefined": float((~known).double().mean()),
                "texts": int(each.counts.sum()),
                "milliseconds": each.heard.milliseconds[test],
            }
            rows.append(dict(zip(MODEL, each.model, strict=True)) | row)
    return pd.DataFrame(rows)


def pairs(trained: Iterable[Trained], stated: Mapping[str, Any], tests: Mapping[str, Any]) -> pd.DataFrame:
    """Return a table with one row for each test and each pair: two networks with one rule, guided to the truth and to a decoy.

    Returns:
        ``network``, ``projection``, ``rule``, ``seed``, ``test``, ``of``; ``auroc`` of telling the texts of the one guided to
        a decoy from those of the other, on texts that count for both; ``undefined`` of the former.
    """
    by_side = {(each.model, each.guided_to): each for each in trained if each.guided_to != FREE}
    rows = []
    for (model, side), decoy in by_side.items():
        truth = by_side.get((model, TRUTH))
        if side == DECOY and truth is not None and is_pair(truth, decoy, stated):
            both = decoy.counts & truth.counts
            for test in decoy.heard.suspicion:
                suspicion, other = decoy.heard.suspicion[test][both], truth.heard.suspicion[test][both]
                found = auroc(suspicion, other.unsqueeze(0), stated["tolerance"], draws=1, level=0.95, seed=0)
                undefined = float(suspicion.isnan().double().mean())
                row = {"test": test, "of": tests[test]["of"], "auroc": found.value, "undefined": undefined}
                rows.append(dict(zip(MODEL, model, strict=True)) | row)
    return pd.DataFrame(rows)


def is_pair(truth: Trained, decoy: Trained, stated: Mapping[str, Any]) -> bool:
    """Return whether two networks have both learned their rule, and one attends to the truth and the other does not."""
    learned = min(truth.accuracy, decoy.accuracy) >= stated["learned"] and bool((truth.counts & decoy.counts).any())
    return bool(learned and truth.mass("tokens").mean() >= stated["right"] and decoy.mass("tokens").mean() <= stated["wrong"])


def means(rows: pd.DataFrame, column: str, by: list[str], draws: int, level: float, seed: int) -> pd.DataFrame:
    """Return the mean of a column over models or pairs, with an interval from drawing their settings again.

    Returns:
        One row a group: the columns of ``by``, ``value``, ``low``, ``high``, NaN of one setting alone, ``settings``.
    """
    generator = np.random.default_rng(seed)
    found = []
    for key, group in rows.dropna(subset=column).groupby(by, sort=False):
        settings = group.groupby(list(SETTING), sort=False)[column]
        sums, counts = settings.sum().to_numpy(), settings.count().to_numpy()
        drawn = generator.integers(len(sums), size=(draws, len(sums)))
        again = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
        low, high = np.quantile(again, [(1 - level) / 2, (1 + level) / 2]) if len(sums) > 1 else (np.nan, np.nan)
        found.append([*key, group[column].mean(), low, high, len(sums)])
    return pd.DataFrame(found, columns=[*by, "value", "low", "high", "settings"])


def before_constructed(judged: pd.DataFrame, rules: Iterable[str]) -> pd.Series:
    """Return the mean AUROC of each test over wrong constructed defendants of some rules: to rank tests, not as a verdict."""
    cells = judged[(judged.truth == "wrong") & judged.rule.isin(list(rules)) & judged.auroc.notna()]
    return cells[~cells.test.isin(CALIBRATIONS)].groupby("test", sort=False).auroc.mean()


def agreement(constructed: pd.Series, rows: pd.DataFrame, column: str, draws: int, level: float, seed: int) -> dict[str, Any]:
    """Return τ-b between two rankings of tests: by constructed defendants, and by the mean of a column over trained networks.

    Returns:
        ``tau``, None if fewer than three tests are ranked; ``low``, ``high`` over settings drawn again, None if there is
        one alone, of which no interval can be drawn; ``tests`` that both rank, ``models``, ``settings``.
    """
    known = rows.dropna(subset=column) if len(rows) else rows
    wide = known.pivot_table(index=list(MODEL), columns="test", values=column) if len(known) else pd.DataFrame()
    tests = [test for test in constructed.index if test in wide.columns]
    setting = wide.groupby(level=list(SETTING)).ngroup().to_numpy() if len(wide) else np.array([], dtype=int)
    settings = len(np.unique(setting))
    told: dict[str, Any] = {"tests": len(tests), "models": len(wide), "settings": settings}
    if len(tests) < 3:
        return told | {"tau": None, "low": None, "high": None}
    drawn = np.random.default_rng(seed).multinomial(settings, np.full(settings, 1 / settings), size=draws)
    weights = np.vstack([np.ones(len(wide)), drawn[:, setting]])
    table = wide[tests].to_numpy()
    with np.errstate(invalid="ignore"):  # a draw without any model that a test was defined for
        ranked = (weights @ np.nan_to_num(table)) / (weights @ ~np.isnan(table))
    rankings = torch.from_numpy(ranked).round(decimals=PLACES)
    order = torch.tensor(constructed[tests].to_numpy()).round(decimals=PLACES).expand_as(rankings).contiguous()
    tau = kendall_tau_b(rankings, order, torch.ones_like(rankings, dtype=torch.bool)).tau
    if settings < 2:
        return told | {"tau": float(tau[0]), "low": None, "high": None}
    tails = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=torch.double)
    low, high = tau[1:][tau[1:].isfinite()].quantile(tails).tolist()
    return told | {"tau": float(tau[0]), "low": low, "high": high}
