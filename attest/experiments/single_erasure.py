"""E11: does erasing the most attended token matter more than erasing another? (Serrano & Smith 2019, section 4.)"""

import torch
from torch import Tensor

from attest.core.measures import jensen_shannon, probabilities
from attest.core.randomness import random_order
from attest.experiments.says import ERASED_WEIGHTS
from attest.experiments.spec import LN2, Column, Drawing, Means, Spec
from attest.models.observation import Observation


def single_erasure(observation: Observation, seed: int = 0) -> dict[str, Tensor]:
    """Compare two predictions: one without the most attended token, one without another token chosen at random.

    Args:
        observation: the batch; if another explanation replaces attention, the token that it ranks first is erased.
        seed: with an instance's id it fixes which other token.
    Returns:
        The columns of ``SPEC``, ``(B,)``, NaN if nothing is left: one token has all the attention, or there is no other.
        Serrano & Smith keep such texts and let the bias alone decide: ``js_top_bias`` and ``flips_top_bias`` are then defined.
    """
    top = observation.explanation.argmax(dim=-1, keepdim=True)
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
    outcome = probabilities(observation.decode(weights))
    return {
        "js_top_bias": jensen_shannon(outcome, observation.probabilities),
        "flips_top_bias": outcome.argmax(dim=-1) != observation.predicted,
    }


def _without(attention: Tensor, index: Tensor) -> Tensor:
    return attention.scatter(-1, index, 0.0)


def _answer(mean: Means) -> str | None:
    top, other = mean.share("E11/only_top"), mean.share("E11/only_random")
    if top is None or other is None:
        return None
    return (
        f"{top} of decisions change if the most attended token is erased, but not if a random other token is "
        f"erased. {other} change only if the random token is erased."
    )


ERASED = (
    Column.nats("js_top", "how far (JSD) the prediction moves without the top token"),
    Column.nats("js_random", "how far (JSD) the prediction moves without a random other token"),
    Column.share("attention_gap", "weight of the top token minus that of the random one"),
    Column.yes_or_no(
        "only_top",
        "Share of texts whose decision changes without the most attended token, but not without a random other token.",
        title="decisions that need the top token",
        misread="If few decisions need the top token, attention may still show importance: most decisions need no single "
        "token.",
        suspicious="low",
        beside=("a random other token", "only_random"),
    ),
    Column.yes_or_no(
        "only_random",
        "Share of texts whose decision changes without a random other token, but not without the most attended token.",
        title="decisions that need a random other token",
        misread="Only one random token of each text is tried; other tokens may matter.",
        suspicious="high",
    ),
    Column(
        "delta_js",
        (-LN2, LN2),
        "How much further (JSD) the prediction moves without the most attended token than without a random other token.",
        unit="nats",
        title="ΔJS, top minus random",
        misread="ΔJS grows with the attention weight that is set to zero, whichever token has this weight.",
        suspicious="low",
        short=("ΔJS", "How much further the prediction moves without the top token than without a random token (E11)."),
    ),
    Column.yes_or_no("both", "whether the decision changes without the top token and also without a random one"),
    Column.yes_or_no("neither", "whether the decision stays without the top token and without the random one"),
)

SPEC = Spec(
    id="E11",
    name="one erased token",
    question="Does erasing the most attended token matter more than erasing another?",
    does="Sets the largest weight or a random other weight to zero, and renormalises the rest",
    source="Serrano & Smith 2019",
    about="states",
    cost="linear in T",
    says=ERASED_WEIGHTS,
    columns=(
        *ERASED,
        *(each.untitled(f"{each.name}_support", f"`{each.name}`; the other token has attention") for each in ERASED),
        Column.nats("js_top_bias", "`js_top`; if no attention is left, the decoder bias decides (Serrano & Smith)"),
        Column.yes_or_no(
            "flips_top_bias",
            "whether the decision flips without top token; if no attention is left, the decoder bias decides",
            type="bool",
        ),
    ),
    answer=_answer,
    drawings=(
        Drawing(
            "erasure_of_one",
            "Erasing one token",
            "How much further the prediction moves without the most attended token than without a random other token "
            "(Serrano & Smith 2019). Points below 0: erasing the random token moved the prediction more than erasing the "
            "most attended token.",
            "erasure_scatter",
        ),
    ),
    run=single_erasure,
    reads=("seed",),
    any_reading=True,
)
