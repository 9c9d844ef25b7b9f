"""The function ``attest.judge``, which tests a user's metric on networks whose attention is known to be right or wrong."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import pandas as pd
import yaml
from torch import Tensor

from attest.core.bounds import require_bounds
from attest.core.errors import AttestError
from attest.core.places import configs_folder
from attest.experiments.registry import EXPERIMENTS
from attest.judges import judging

STATED = configs_folder() / "judges" / "constructed.yaml"
Metric = Callable[[Any, Mapping[str, Tensor], Tensor], Any]
"""A test of attention that a user wrote: a function that takes a network, a batch and the network's attention ``(B, T)``, and
returns a number for each text, ``(B,)``."""


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
        metric: a function of a network in evaluation mode, which maps ``(tokens, mask)`` to logits ``(B, C)``; a batch with
            ``token_ids`` int64, ``mask`` bool ``(B, T)``, ``label`` and ``id`` int64 ``(B,)``; and attention ``(B, T)``, for a
            Transformer the mean that each token receives. It returns a number for each text, ``(B,)``, NaN if undefined.
        name: the name of the metric in the table.
        larger: ``right`` if a larger number indicates right attention, as with comprehensiveness, else ``wrong``.
        of: whether the metric judges attention to the ``tokens`` that decide, or to the ``states`` that carry the decision:
            attention may be right about the tokens and wrong about the states, or the reverse.
        beside: ids of experiments, such as ``E14``, whose own tests are judged too.
        rules, seeds, texts: the rules, the seeds and the number of texts, for a quick first test; None for those of the
            configuration.
    Returns:
        One row for each rule, network and test: ``family`` (pooled or layered), ``rule``, ``defendant`` (the network),
        ``test``, ``of``, ``truth`` (right, wrong or mixed), ``mass`` (mean attention on what decides), ``auroc`` with its
        interval ``low`` and ``high``, ``undefined`` (share of texts), ``milliseconds`` for each text, and ``tau`` (Kendall's
        τ-b between suspicion and 1 - mass). The AUROC is the probability, in [0, 1], that a text of this network looks more
        suspicious than a text of a right network: for a good metric it is near 1 for wrong networks and near 0.5 for right
        networks.
    Raises:
        AttestError: the metric returns something else, or a rule or an experiment does not exist.

    Examples:
        Does the largest weight tell right attention from wrong?

        >>> import attest
        >>> def largest(network, batch, attention):
        ...     return attention.amax(dim=1)
        >>> table = attest.judge(largest, rules=["token"], seeds=[0], texts=8)
        >>> table.columns[:4].tolist()
        ['family', 'rule', 'defendant', 'test']
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
