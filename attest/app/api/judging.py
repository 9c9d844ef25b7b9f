"""The function ``attest.judge``, which tests a user's metric on networks whose attention is known to be right or wrong."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import pandas as pd
import yaml
from torch import Tensor

from attest.core.bounds import require_bounds
from attest.core.errors import AttestError
from attest.core.places import configs_folder
from attest.experiments.judges import judging
from attest.experiments.registry import EXPERIMENTS

STATED = configs_folder() / "judges" / "constructed.yaml"
Metric = Callable[[Any, Mapping[str, Tensor], Tensor], Any]
"""A function of a network, a batch and its attention ``(B, T)`` to a number for each text, ``(B,)``."""


def judge(
    metric: Metric,
    *,
    name: str = "metric",
    larger: Literal["right", "wrong"] = "right",
    of: Literal["tokens", "states"] = "tokens",
    beside: Sequence[str] = (),
    rules: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    texts: int | None = None,
) -> pd.DataFrame:
    """Test a metric of attention on networks whose attention is right or wrong by construction.

    Args:
        metric: takes a network in evaluation mode, which maps ``(tokens, mask)`` to logits ``(B, C)``; a batch with
            ``token_ids`` int64, ``mask`` bool ``(B, T)``, ``label`` and ``id`` int64 ``(B,)``; and attention ``(B, T)``, of
            Transformers the mean that each token receives. It returns a number for each text, ``(B,)``, NaN if undefined.
        name: of the metric in the table.
        larger: whether a larger number speaks for attention that is ``right``, as comprehensiveness does, or ``wrong``.
        of: whether the metric speaks of the ``tokens`` that decide, or of the ``states`` that carry the decision:
            attention may be right about the ones and wrong about the others.
        beside: ids of experiments, such as ``E14``, whose own tests are judged beside it.
        rules, seeds, texts: a part of what the configuration states, for a first look; None for all.
    Returns:
        One row for each rule, network and test: ``family`` (pooled or layered), ``rule``, ``defendant``, ``test``, ``of``,
        ``truth`` (right, wrong or mixed), ``mass`` of attention on what decides, ``auroc`` with ``low`` and ``high``,
        ``undefined``, ``milliseconds`` a text, and ``tau``. The AUROC is the chance in [0, 1] that a text of this network
        looks more suspicious than one of a right network: of a good metric near 1 for wrong and 0.5 for right networks.
    Raises:
        AttestError: the metric returns something else, or there is no such rule or experiment.
    """
    stated = stated_with({name: test_of(metric, larger, of)})
    if unknown := [each for each in beside if each not in EXPERIMENTS]:
        raise AttestError(f"{unknown[0]!r} is not an experiment; expected one or more of: {', '.join(EXPERIMENTS)}.")
    if unknown := [each for each in rules or () if each not in stated["rules"]]:
        raise AttestError(f"{unknown[0]!r} is not a rule; expected one or more of: {', '.join(stated['rules'])}.")
    require_bounds({"texts": texts})
    chosen = {
        family: {
            key: test
            for key, test in tests.items()
            if "metric" in test or key in judging.CALIBRATIONS or test["experiment"] in beside
        }
        for family, tests in stated["tests"].items()
    }
    part = {"rules": rules, "seeds": seeds, "texts": texts, "layered_texts": texts}
    stated |= {"tests": chosen} | {key: value for key, value in part.items() if value is not None}
    return judging.judge(judging.hear(stated), stated)


def test_of(metric: Metric, larger: str, of: str) -> dict[str, Any]:
    """Return a test of attention by a metric; ``sign`` is -1 if the metric is larger for right attention, else 1."""
    return {"metric": metric, "sign": -1 if larger == "right" else 1, "of": of}


def stated_with(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the configuration of the command ``make judges``, with the user's metrics added to its tests."""
    stated = judging.with_added(yaml.safe_load(STATED.read_text(encoding="utf-8")))
    return stated | {"tests": {family: {**metrics, **tests} for family, tests in stated["tests"].items()}}
