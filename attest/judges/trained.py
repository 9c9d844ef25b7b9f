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

from attest.judges.auroc import auroc
from attest.judges.judging import CALIBRATIONS
from attest.judges.measuring import Measured
from attest.measures.rank_correlation import kendall_tau_b

FREE, TRUTH, DECOY = "free", "truth", "decoy"
"""What attention was guided to in training: nothing, the deciding tokens, or the first token that the rule does not read."""
MODEL = ("network", "projection", "rule", "seed")


@dataclass(frozen=True)
class Trained:
    """A trained network before all tests."""

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
        """What it is but for the guidance."""
        return self.network, self.projection, self.rule, self.seed

    def mass(self, of: str) -> Tensor:
        """Attention on the truth about ``tokens`` or ``states`` in the texts that count, ``(N,)``."""
        return self.heard.mass[of][self.counts]


def models(trained: Iterable[Trained], tests: Mapping[str, Any], learned: float) -> pd.DataFrame:
    """One row a test and a model that nobody guided and that has learned its rule.

    Args:
        trained: all of them.
        tests: as in the configuration, of both families.
        learned: the least accuracy.
    Returns:
        ``network``, ``projection``, ``rule``, ``seed``, ``test``, ``of``; ``mass``, its mean; ``tau``, τ-b between suspicion
        and 1 − mass, NaN where either is constant; ``undefined``, the share of texts; ``texts``, how many count;
        ``milliseconds``, CPU time a text of the test's experiment as a whole.
    """
    free = [each for each in trained if each.guided_to == FREE and each.accuracy >= learned and each.counts.any()]
    return pd.DataFrame([_row(each, name, tests[name]["of"]) for each in free for name in each.heard.suspicion])


def _row(each: Trained, test: str, of: str) -> dict[str, Any]:
    suspicion, mass = each.heard.suspicion[test][each.counts], each.mass(of)
    known = ~suspicion.isnan()
    tau = kendall_tau_b(suspicion[known].unsqueeze(0), 1 - mass[known].unsqueeze(0), known[known].unsqueeze(0)).tau
    found = {"test": test, "of": of, "mass": float(mass.mean()), "tau": float(tau)}
    told = {"undefined": float((~known).double().mean()), "texts": int(each.counts.sum())}
    told |= {"milliseconds": each.heard.milliseconds[test]}
    return dict(zip(MODEL, each.model, strict=True)) | found | told


def pairs(trained: Iterable[Trained], stated: Mapping[str, Any], tests: Mapping[str, Any]) -> pd.DataFrame:
    """One row a test and a pair that counts: both have learned the rule, and their attention is where it was guided to.

    Returns:
        ``network``, ``projection``, ``rule``, ``seed``, ``test``, ``of``; ``auroc`` of telling the texts of the one guided to
        a decoy from those of the other, on texts that count for both; ``undefined`` of the former.
    """
    by_side = {(each.model, each.guided_to): each for each in trained if each.guided_to != FREE}
    rows = []
    for (model, side), decoy in by_side.items():
        truth = by_side.get((model, TRUTH))
        if side == DECOY and truth is not None and is_pair(truth, decoy, stated):
            rows += [
                dict(zip(MODEL, model, strict=True)) | _told_apart(decoy, truth, name, tests) for name in decoy.heard.suspicion
            ]
    return pd.DataFrame(rows)


def is_pair(truth: Trained, decoy: Trained, stated: Mapping[str, Any]) -> bool:
    """Whether two networks differ in where they look and not in what they can."""
    learned = min(truth.accuracy, decoy.accuracy) >= stated["learned"] and bool((truth.counts & decoy.counts).any())
    return bool(learned and truth.mass("tokens").mean() >= stated["right"] and decoy.mass("tokens").mean() <= stated["wrong"])


def _told_apart(decoy: Trained, truth: Trained, test: str, tests: Mapping[str, Any]) -> dict[str, Any]:
    both = decoy.counts & truth.counts
    suspicion, other = decoy.heard.suspicion[test][both], truth.heard.suspicion[test][both]
    found = auroc(suspicion, other.unsqueeze(0), draws=1, level=0.95, seed=0)
    return {"test": test, "of": tests[test]["of"], "auroc": found.value, "undefined": float(suspicion.isnan().double().mean())}


def means(rows: pd.DataFrame, column: str, by: list[str], draws: int, level: float, seed: int) -> pd.DataFrame:
    """The mean of a column over models or pairs, with an interval over these drawn again.

    Returns:
        One row a group: the columns of ``by``, ``value``, ``low``, ``high``, ``count``.
    """
    generator = np.random.default_rng(seed)
    found = []
    for key, group in rows.dropna(subset=column).groupby(by, sort=False):
        values = group[column].to_numpy()
        again = values[generator.integers(len(values), size=(draws, len(values)))].mean(axis=1)
        low, high = np.quantile(again, [(1 - level) / 2, (1 + level) / 2])
        found.append([*key, values.mean(), low, high, len(values)])
    return pd.DataFrame(found, columns=[*by, "value", "low", "high", "count"])


def before_constructed(judged: pd.DataFrame, rules: Iterable[str]) -> pd.Series:
    """Mean AUROC of each test over the wrong constructed defendants of some rules, by test; a ranking, not a verdict."""
    cells = judged[(judged.truth == "wrong") & judged.rule.isin(list(rules)) & judged.auroc.notna()]
    return cells[~cells.test.isin(CALIBRATIONS)].groupby("test", sort=False).auroc.mean()


def agreement(constructed: pd.Series, rows: pd.DataFrame, column: str, draws: int, level: float, seed: int) -> dict[str, Any]:
    """τ-b over tests between a ranking by constructed defendants and the mean of a column over trained ones.

    Returns:
        ``tau``, ``low``, ``high`` over models or pairs drawn again, ``tests`` that both rank, ``models``; None of the first
        three where fewer than three tests are ranked, or by fewer than two models, of which no interval can be drawn.
    """
    known = rows.dropna(subset=column) if len(rows) else rows
    wide = known.pivot_table(index=list(MODEL), columns="test", values=column) if len(known) else pd.DataFrame()
    tests = [test for test in constructed.index if test in wide.columns]
    told: dict[str, Any] = {"tests": len(tests), "models": len(wide)}
    if len(tests) < 3 or len(wide) < 2:
        return told | {"tau": None, "low": None, "high": None}
    table, order = torch.tensor(wide[tests].to_numpy(), dtype=torch.double), torch.tensor(constructed[tests].to_numpy())
    drawn = torch.randint(len(table), (draws, len(table)), generator=torch.Generator().manual_seed(seed))
    rankings = torch.cat([table.nanmean(dim=0, keepdim=True), table[drawn].nanmean(dim=1)])
    everything = torch.ones_like(rankings, dtype=torch.bool)
    tau = kendall_tau_b(rankings, order.expand_as(rankings).contiguous(), everything).tau
    tails = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=torch.double)
    low, high = tau[1:][tau[1:].isfinite()].double().quantile(tails).tolist()
    return told | {"tau": float(tau[0]), "low": low, "high": high}
