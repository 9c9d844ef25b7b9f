"""E11: does erasing the most attended token matter more than erasing another? (Serrano & Smith 2019, section 4.)"""

import torch
from torch import Tensor

from attest.compute.randomness import random_order
from attest.experiments.observation import Observation
from attest.measures import jensen_shannon, probabilities


def single_erasure(observation: Observation, seed: int) -> dict[str, Tensor]:
    """Zero the largest weight, or a random other one, renormalise the rest, and compare the outcomes.

    Args:
        observation: the batch.
        seed: with an instance's id it fixes which other token.
    Returns:
        Per instance ``(B,)``. ``js_top``, ``js_random``: JSD of the outcome to the prediction, in nats; ``delta_js``, their
        difference, and ``attention_gap``, that of the two weights, against which it is plotted; ``only_top``,
        ``only_random``, ``both``, ``neither``: 1 in the one that says which erasures flip the decision. The same with
        ``_support`` where the other token is one of those that get attention. All NaN where nothing is left: one token has
        all the attention, or there is no other. Serrano & Smith keep such texts and let the bias alone decide:
        ``js_top_bias`` and ``flips_top_bias`` are always defined.
    """
    top = observation.attention.argmax(dim=-1, keepdim=True)
    others = observation.mask.scatter(-1, top, False)
    columns = _bias_decides(observation, top)
    for suffix, allowed in (("", others), ("_support", others & (observation.attention > 0))):
        other = random_order(seed, observation.ids, 1, allowed).argmax(dim=-1)
        compared = _compare(observation, top, other)
        defined = allowed.any(dim=-1) & (_without(observation.attention, top).sum(dim=-1) > 0)
        columns |= {f"{name}{suffix}": column.double().where(defined, torch.nan) for name, column in compared.items()}
    return columns


def _compare(observation: Observation, top: Tensor, other: Tensor) -> dict[str, Tensor]:
    erased = torch.stack([_without(observation.attention, index) for index in (top, other)], dim=1)
    outcomes = observation.probabilities_under(erased / erased.sum(dim=-1, keepdim=True))
    js_top, js_random = jensen_shannon(outcomes, observation.probabilities.unsqueeze(1)).unbind(dim=-1)
    flips_top, flips_random = (outcomes.argmax(dim=-1) != observation.predicted.unsqueeze(-1)).unbind(dim=-1)
    weight_top, weight_random = (observation.attention.gather(-1, index).squeeze(-1) for index in (top, other))
    return {
        "js_top": js_top,
        "js_random": js_random,
        "delta_js": js_top - js_random,
        "attention_gap": weight_top - weight_random,
        "only_top": flips_top & ~flips_random,
        "only_random": ~flips_top & flips_random,
        "both": flips_top & flips_random,
        "neither": ~flips_top & ~flips_random,
    }


@torch.no_grad()
def _bias_decides(observation: Observation, top: Tensor) -> dict[str, Tensor]:
    erased = _without(observation.attention, top)
    rest = erased.sum(dim=-1, keepdim=True)
    weights = torch.where(rest > 0, erased / rest, 0.0)  # all zero: a linear decoder falls back on its bias
    outcome = probabilities(observation.network.decode(observation.hidden, weights))
    return {
        "js_top_bias": jensen_shannon(outcome, observation.probabilities),
        "flips_top_bias": outcome.argmax(dim=-1) != observation.predicted,
    }


def _without(attention: Tensor, index: Tensor) -> Tensor:
    """Attention ``(B, T)`` with one weight a row set to 0, not renormalised."""
    return attention.scatter(-1, index, 0.0)
