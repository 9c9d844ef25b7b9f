"""Run tests of attention on networks whose attention is known, and judge how well each tells wrong attention from right."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd
import torch
from torch import Tensor, nn

from attest.core.errors import AttestError
from attest.core.rounding import compared
from attest.experiments.registry import runnable
from attest.experiments.spec import Spec
from attest.judges.measuring import Measured, measure
from attest.judges.population import Recipe, made
from attest.judges.texts import draw_texts
from attest.judges.truth import require_truth, verdict

GAIN_SEED = 10_001
"""The seed of the random texts with which the gain of a constructed network is set, the factor by which its logits are
multiplied."""


class Auroc(NamedTuple):
    """An AUROC with its confidence interval, each in [0, 1]."""

    value: float
    low: float
    high: float


def auroc(suspicion: Tensor, right: Tensor, tolerance: float, draws: int, level: float, seed: int) -> Auroc:
    """Compute the AUROC with which a test tells one network from the networks whose attention is right.

    If a test is undefined on one of two compared texts, this is a tie. All networks get the same texts, so the bootstrap draws
    whole texts, with the results of all networks on them; the interval is made of percentiles.

    Args:
        suspicion: float ``(N,)``, the test's result for the network on N texts, NaN where the test is undefined.
        right: float ``(R, N)``, its results for R networks with right attention.
    """
    more_RNN = compared(suspicion.unsqueeze(-1), right.unsqueeze(1), tolerance).nan_to_num(nan=0.0)
    wins = ((more_RNN + 1) / 2).mean(dim=0)
    size = len(suspicion)
    drawn = torch.randint(size, (draws, size), generator=torch.Generator().manual_seed(seed))
    counts = torch.zeros(draws, size, dtype=torch.double).scatter_add(1, drawn, torch.ones_like(drawn).double())
    values = ((counts @ wins) * counts).sum(dim=-1) / size**2
    tails = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=torch.double)
    low, high = values.quantile(tails).tolist()
    return Auroc(float(wins.mean()), low, high)


def tau_b(x: Tensor, y: Tensor, tolerance: float) -> float:
    """Compute Kendall's τ-b over N texts between ``x`` and ``y``, ``(N,)``; NaN if either is constant or undefined."""
    signs = torch.stack([compared(each.unsqueeze(-1), each, tolerance).flatten() for each in (x, y)])
    balance = signs @ signs.mT
    return float(balance[0, 1] / (balance[0, 0] * balance[1, 1]).sqrt())


CALIBRATIONS = ("oracle of tokens", "oracle of states", "coin")


class Defended(NamedTuple):
    """The results of all tests on one network with known attention, for the texts of all seeds."""

    family: str
    rule: str
    defendant: str
    heard: Measured


def with_added(stated: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the configuration in which the entries of ``added`` are among the tests and settings.

    An experiment on pooled attention that no test names gets a test for each column of which its ``SPEC`` says which end is
    suspicious.
    """
    tests, settings = dict(stated["tests"]), dict(stated["settings"])
    for later in stated["added"].values():
        tests["pooled"] = tests["pooled"] | later["pooled"]
        settings["pooled"] = settings["pooled"] | later["settings"]
    named = {test["experiment"] for test in tests["pooled"].values()}
    for spec in runnable().values():
        if spec.id not in named and spec.about in ("tokens", "states"):
            tests["pooled"] = tests["pooled"] | tests_of(spec)
    return {**stated, "tests": tests, "settings": settings}


def tests_of(spec: Spec) -> dict[str, dict[str, Any]]:
    """Return a test for each column of an experiment that its ``SPEC`` calls suspicious."""
    return {
        f"{spec.id} {column.name} (added)": {
            "experiment": spec.id,
            "column": column.name,
            "sign": 1 if column.suspicious == "high" else -1,
            "of": spec.about,
        }
        for column in spec.measures
        if column.suspicious is not None and not column.only
    }


def defendant(stated: Mapping[str, Any], name: str, rule: str, kind: str = "pooled") -> nn.Module:
    """Build a named network whose attention is right or wrong by construction, in evaluation mode."""
    settings = {key: value for key, value in {**stated["plain"], **stated["defendants"][name]}.items() if key != "rules"}
    network = made(Recipe(kind=kind, rule=rule, **settings), draw_texts(rule, stated["gain_texts"], GAIN_SEED))
    if network is None:
        raise AttestError(
            f"the defendant {name!r} cannot decide every text by the rule {rule!r}; expected rules that it can follow. List "
            f"only these rules: {name}: {{rules: […]}}"
        )
    return network.eval()


def hear(stated: Mapping[str, Any], extra: Mapping[str, Any] | None = None) -> Iterator[Defended]:
    """Run the tests on every network with known attention in the configuration, and yield each network's results.

    Args:
        extra: pooled defendants of the user's own, by name: they take a rule and have ``rules`` and ``carrying_states``.
    """
    for rule in stated["rules"]:
        for family in ("pooled", "layered"):
            for name in stated[family]:
                if rule in stated["defendants"][name].get("rules", stated["rules"]):
                    yield _heard(family, rule, name, defendant(stated, name, rule, family), stated)
        for name, own in (extra or {}).items():
            if rule in own.rules:
                yield _heard("pooled", rule, name, own(rule).eval(), stated)


def _heard(family: str, rule: str, name: str, network: Any, stated: Mapping[str, Any]) -> Defended:
    count, parts = stated["texts" if family == "pooled" else "layered_texts"], []
    for seed in stated["seeds"]:
        texts = draw_texts(rule, count, seed)
        require_truth(name, network, texts)
        carrying, coin = network.carrying_states(texts.tokens, texts.mask), f"{family}/{name}/{rule}"
        parts.append(measure(network, coin, texts, carrying, seed, stated["tests"][family], stated["settings"][family]))
    suspicion = {test: torch.cat([part.suspicion[test] for part in parts]) for test in parts[0].suspicion}
    milliseconds = {test: min(part.milliseconds[test] for part in parts) for test in parts[0].milliseconds}
    masses = [torch.cat([part.mass[of] for part in parts]) for of in ("tokens", "states")]
    return Defended(family, rule, name, Measured(suspicion, milliseconds, *masses))


def judge(heard: Iterable[Defended], stated: Mapping[str, Any]) -> pd.DataFrame:
    """Return a table that shows how well each test separates wrong from right attention, by rule and network.

    Returns:
        ``family``, ``rule``, ``defendant``, ``test``; ``of``, what the test judges: ``tokens`` or ``states``; ``mass``, the
        mean attention on those that decide; ``truth``, whether this makes the attention ``right``, ``wrong`` or ``mixed``;
        ``auroc``, ``low``, ``high`` against the other right defendants of the rule; ``undefined``, the share of texts without
        a result; ``milliseconds`` a text; ``tau``, tau-b between suspicion and 1 - mass, NaN where either is constant.
    """
    heard = list(heard)
    return pd.DataFrame([_row(one, name, heard, stated) for one in heard for name in one.heard.suspicion])


def _row(one: Defended, name: str, heard: list[Defended], stated: Mapping[str, Any]) -> dict[str, Any]:
    of = stated["tests"][one.family][name]["of"]
    suspicion, mass = one.heard.suspicion[name], one.heard.mass[of]
    peers = [other for other in heard if (other.family, other.rule) == (one.family, one.rule) and other is not one]
    right = [other.heard.suspicion[name] for other in peers if verdict(other.heard.mass[of]) == "right"]
    row = {"family": one.family, "rule": one.rule, "defendant": one.defendant, "test": name, "of": of}
    row |= {"truth": verdict(mass), "mass": float(mass.mean())}
    found = auroc(suspicion, torch.stack(right), stated["tolerance"], **stated["bootstrap"])._asdict() if right else {}
    row |= {"auroc": found.get("value"), "low": found.get("low"), "high": found.get("high")}
    return row | {
        "undefined": float(suspicion.isnan().double().mean()),
        "milliseconds": one.heard.milliseconds[name],
        "tau": tau_b(suspicion, 1 - mass, stated["tolerance"]),
    }
