"""Run experiments on networks whose attention is known to be right or wrong, and read one number per text for each test.

The files in ``configs/judges`` name for each test an experiment and the column of its table.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

import torch
from torch import Tensor

from attest.core.attention import Sparsemax
from attest.core.attention.rollout import attention_rollout
from attest.core.errors import AttestError, said_by
from attest.core.randomness import random_uniforms
from attest.experiments import feature_importance, observe
from attest.experiments.registry import Context, chosen
from attest.judges.texts import Texts
from attest.judges.truth import masses
from attest.models.layers_observed import observe_layers
from attest.models.traits import traits_of

Columns = dict[str, Tensor]
COIN = 7
"""A constant in the random draws of the test ``coin``, which decides by chance. It keeps these draws apart from all other
random draws for the same text."""


def measure(
    network: Any,
    name: str,
    texts: Texts,
    carrying: Tensor,
    seed: int,
    tests: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> "Measured":
    """Run tests on a network whose attention is known to be right or wrong.

    Args:
        carrying: bool ``(B, T)``, the states that carry the decision.
        tests: the tests for the network's family, by name, as in the configuration. A test names an ``experiment`` and a
            ``column``, or has a ``metric``: the user's own function.
    """
    metrics = {name: test for name, test in tests.items() if "metric" in test}
    tests = {name: test for name, test in tests.items() if name not in metrics}
    wanted = {test["experiment"] for test in tests.values()}
    of_family = _layered if traits_of(network).attends_within else _pooled
    columns, attention, milliseconds = of_family(network, texts, seed, wanted - {"oracle"}, settings)
    on_tokens, on_states = masses(texts, attention, carrying)
    coin = random_uniforms(seed, texts.ids, torch.tensor(COIN), torch.tensor(crc32(name.encode())))
    columns["oracle"], milliseconds["oracle"] = {"mass_tokens": on_tokens, "mass_states": on_states, "coin": coin}, 0.0
    numbers = {name: _number(columns[test["experiment"]], test) for name, test in tests.items()}
    spent = {name: milliseconds[test["experiment"]] for name, test in tests.items()}
    for name, test in metrics.items():
        began = time.process_time()
        numbers[name] = test["sign"] * _by_metric(name, test["metric"], network, texts, attention)
        spent[name] = 1000 * (time.process_time() - began) / len(texts.ids)
    return Measured(numbers, spent, on_tokens, on_states)


class Measured:
    """The results of tests on one network with known attention."""

    def __init__(self, suspicion: Columns, milliseconds: dict[str, float], on_tokens: Tensor, on_states: Tensor) -> None:
        self.suspicion = suspicion
        """By the name of a test, float64 ``(B,)``: the result for each text. The larger it is, the more wrong the attention
        looks to this test; NaN where the test is undefined."""
        self.milliseconds = milliseconds
        """By the name of a test: the CPU time that it took for each text, in milliseconds. It is the time of the whole
        experiment that the test belongs to, or of the user's metric."""
        self.mass = {"tokens": on_tokens.double(), "states": on_states.double()}


def _by_metric(name: str, metric: Callable[..., Any], network: Any, texts: Texts, attention: Tensor) -> Tensor:
    batch = {"token_ids": texts.tokens, "mask": texts.mask, "label": texts.labels, "id": texts.ids}
    try:
        found = torch.as_tensor(metric(network, batch, attention.detach())).detach().double()
    except Exception as error:  # a user's function may raise anything
        raise AttestError(
            f"the metric {name!r} failed on the network {type(network).__name__} ({said_by(error)}); expected a function of "
            "(network, batch, attention) that returns a number for each text."
        ) from error
    if found.shape != texts.ids.shape:
        raise AttestError(
            f"the metric {name!r} returned the shape {tuple(found.shape)} for {len(texts.ids)} texts; expected one number for "
            f"each text, the shape ({len(texts.ids)},)."
        )
    return found


def _number(columns: Columns, test: Mapping[str, Any]) -> Tensor:
    number = columns[test["column"]].detach().double()
    if "minus" in test:
        number = number - columns[test["minus"]].detach().double()
    return test["sign"] * number


def _pooled(
    network: Any, texts: Texts, seed: int, wanted: set[str], settings: Mapping[str, Any]
) -> tuple[dict[str, Columns], Tensor, dict[str, float]]:
    context = Context(texts.labels, texts.ids, seed)
    columns, milliseconds = {}, {}
    for name in sorted(wanted):  # each observes anew, so that what one has cached makes no other look cheap
        began = time.process_time()
        seen = observe(network, texts.ids, texts.tokens, texts.mask, texts.labels)
        columns[name] = chosen({name: settings.get(name, {})})[name](seen, context)
        milliseconds[name] = 1000 * (time.process_time() - began) / len(texts.ids)
    return columns, observe(network, texts.ids, texts.tokens, texts.mask).attention, milliseconds


def _layered(
    network: Any, texts: Texts, seed: int, wanted: set[str], settings: Mapping[str, Any]
) -> tuple[dict[str, Columns], Tensor, dict[str, float]]:
    columns, milliseconds = {}, {}
    of_search = {"restarts": settings["restarts"], "steps": settings["steps"], "texts": len(texts.ids), "each_layer": True}
    inside = {
        "E2": {"permutations": settings["permutations"]},
        "E3": of_search,
        "E8": {"projections": {"sparsemax": Sparsemax()}},
        "E9": {"draws": settings["shuffles"]},
    }
    with torch.no_grad():
        seen = observe_layers(network, texts.ids, texts.tokens, texts.mask, texts.labels)
    for name in sorted(wanted - {"rollout"}):
        began = time.process_time()
        experiment = chosen({name: inside.get(name, {})}, inside=True)[name]
        columns[name] = experiment(seen, Context(texts.labels, texts.ids, seed))
        milliseconds[name] = 1000 * (time.process_time() - began) / len(texts.ids)
    began = time.process_time()
    pooled = observe(network, texts.ids, texts.tokens, texts.mask, texts.labels)
    rollout = attention_rollout(seen.attention, pooled.attention).detach()
    columns["rollout"] = feature_importance(pooled.explained_by(rollout))
    milliseconds["rollout"] = 1000 * (time.process_time() - began) / len(texts.ids)
    rows = seen.mask[:, None, :, None]
    received = [(weights * rows).sum(dim=(1, 2)) / seen.mask.sum(dim=-1, keepdim=True) for weights in seen.attention.values()]
    return columns, torch.stack(received).mean(dim=0), milliseconds
