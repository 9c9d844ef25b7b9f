"""The explanations that Attest computes, by name: each gives one number per token."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import torch
from torch import Tensor, nn

from attest.core.attention.interventions import attending
from attest.core.errors import AttestError
from attest.core.randomness import random_uniforms, stream
from attest.experiments.importance import leave_one_out_inputs
from attest.experiments.readings import formulas, surrogates, values
from attest.models.contract import shown_class
from attest.models.layers_observed import blocks_in
from attest.models.observation import Observation
from attest.models.offers import offers_of
from attest.models.traits import traits_of
from attest.models.variants import attends_within

RANDOM = "random"
"""The name of an explanation that consists of random numbers; every other explanation is compared with it."""

BASES = ("attention", "rollout", "cross-attention")
"""The names of the explanations with which all others are compared; the first one that suits the network counts: the attention
that pools its tokens, attention rollout, or the cross-attention of an encoder-decoder."""


@dataclass(frozen=True)
class Reading:
    """A kind of explanation, which gives each token of a text one number.

    Args:
        name: the name that a user types.
        title: the name that reports show.
        of: computes the explanation of an observation, ``(B, T)``; 0 at padding.
        signed: whether numbers can be below 0, which then speak against the predicted class; else all are at least 0.
        needs: what the explanation needs, as a phrase for error messages; empty if it needs nothing.
        suits: returns whether an observation's network meets these needs.
        by_name: whether the explanation is computed only if a user names it.
    """

    name: str
    title: str
    of: Callable[[Observation], Tensor]
    signed: bool = False
    needs: str = ""
    suits: Callable[[Observation], bool] = lambda observation: True
    by_name: bool = False

    def magnitude(self, observation: Observation) -> Tensor:
        """Return the absolute value of the explanation at each token, ``(B, T)``, without a gradient graph."""
        values = self.of(observation).detach()
        return (values.abs() if self.signed else values).masked_fill(~observation.mask, 0)


def _pools(observation: Observation) -> bool:
    return traits_of(observation.network).pools_by_attention


def _crosses(observation: Observation) -> bool:
    return traits_of(observation.network).crosses


def _rolls_out(observation: Observation) -> bool:
    return attends_within(observation.network) and not _crosses(observation)


def _has_one_map(observation: Observation) -> bool:
    return _rolls_out(observation) and offers_of(observation.network).sides is None


def _zeroes_values(observation: Observation) -> bool:
    within = attends_within(observation.network)
    return not within or (_has_one_map(observation) and bool(blocks_in(observation.module)))


def _shows_values(observation: Observation) -> bool:
    shown = _has_one_map(observation) and traits_of(observation.network).shows_outputs
    return shown and len(values.readers_of(observation)) == len(attending(observation.module))


def _has_layer_norms(observation: Observation) -> bool:
    parts = observation.module.modules()
    return _rolls_out(observation) and any(isinstance(part, nn.LayerNorm) or formulas.is_rms_norm(part) for part in parts)


def _has_captum(observation: Observation) -> bool:
    return all(find_spec(name) for name in ("captum", "sklearn")) and observation.tokens.ndim == 2


def _value_zeroing(observation: Observation) -> Tensor:
    within = attends_within(observation.network)
    return values.value_zeroing(observation) if within else formulas.value_zeroing_pooled(observation)


def _norm(observation: Observation) -> Tensor:
    return formulas.norm_weighted(observation) if _pools(observation) else values.norms(observation)


def random_reading(observation: Observation, seed: int = 0) -> Tensor:
    """Draw a random number in (0, 1) for each token, ``(B, T)``, as a baseline explanation."""
    position = torch.arange(observation.mask.shape[-1], device=observation.ids.device)
    drawn = random_uniforms(stream(seed, "random reading"), observation.ids.unsqueeze(-1), position).to(observation.attention)
    return drawn.masked_fill(~observation.mask, 0)


POOLS, LAYERS, LINEAR = "attention that pools the tokens", "attention between tokens", "a linear decoder"
BLOCKS = "attention that pools the tokens, or a stack of layers in which each layer has its own attention"
READ_BY_ONE = "layers in which one linear module reads the concatenated outputs of all heads"
ADDED = f"{READ_BY_ONE} and its output is visibly added to the input of the layer"
POOLS_OR_READ = f"attention that pools the tokens, or {READ_BY_ONE}"
CROSSES = "a decoder that attends to the text of an encoder"
LAYER_NORMS = "attention between tokens and layer norms, or RMS norms"
PACKAGES = "the packages captum and scikit-learn"
READINGS: dict[str, Reading] = {
    reading.name: reading
    for reading in (
        Reading("attention", "Attention α", lambda seen: seen.attention, needs=POOLS, suits=_pools),
        Reading(
            "norm", "Norm-weighted ‖αh‖", _norm, needs=POOLS_OR_READ, suits=lambda seen: _pools(seen) or _shows_values(seen)
        ),
        Reading(
            "margin", "|αm|", formulas.margin, signed=True, needs=LINEAR, suits=lambda seen: seen.class_logits is not None
        ),
        Reading(
            "attention-gradient", "α × gradient", formulas.attention_times_gradient, signed=True, needs=POOLS, suits=_pools
        ),
        Reading("gradient-input", "Gradient × input", formulas.gradient_times_input, signed=True),
        Reading("integrated-gradients", "Integrated gradients", formulas.integrated_gradients, signed=True),
        Reading("leave-one-out", "Leave-one-out", leave_one_out_inputs),
        Reading("value-zeroing", "Value zeroing", _value_zeroing, needs=BLOCKS, suits=_zeroes_values),
        Reading("alti", "ALTI", values.alti, needs=ADDED, suits=lambda seen: _shows_values(seen) and values.adds_up(seen)),
        Reading("contribution", "Contribution weights", values.contributions, needs=READ_BY_ONE, suits=_shows_values),
        Reading("rollout", "Attention rollout", formulas.rollout, needs=LAYERS, suits=_rolls_out),
        Reading("cross-attention", "Cross-attention", formulas.rollout, needs=CROSSES, suits=_crosses),
        Reading("last-layer", "Attention, last layer", formulas.last_layer, needs=LAYERS, suits=_has_one_map, by_name=True),
        Reading("flow", "Attention flow", formulas.flow, needs=LAYERS, suits=_has_one_map),
        Reading("lrp", "LRP", formulas.relevance_propagation, signed=True, needs=LAYER_NORMS, suits=_has_layer_norms),
        Reading("kernel-shap", "KernelSHAP", surrogates.kernel_shap, True, PACKAGES, _has_captum, by_name=True),
        Reading("lime", "LIME", surrogates.lime, True, PACKAGES, _has_captum, by_name=True),
        Reading(RANDOM, "Random", random_reading),
    )
}
"""All explanations (readings) that Attest can compute, by name, in the order in which reports list them."""


REFUSED = {
    "deeplift": (
        "the reading 'deeplift' is not computed: captum's DeepLIFT treats the softmax of attention, GELU, layer norms and "
        "LSTM gates as linear, so its numbers do not add up; expected another reading. Type integrated-gradients, or give "
        "your own numbers as explanations."
    )
}
"""Explanations that users may ask for by name, but that would be wrong. The value is the error message that says why."""


def reading_of(name: str, observation: Observation) -> Reading:
    """Return an explanation by its name: one that Attest computes, or one that a user gave.

    Raises:
        AttestError: there is no reading of this name, or it does not suit the network.
    """
    if (given := observation.given.get(name)) is not None:
        return Reading(name, name, lambda seen: seen.given[name].values, given.signed)
    if name in REFUSED:
        raise AttestError(REFUSED[name])
    if name not in READINGS:
        known = ", ".join([*READINGS, *observation.given])
        raise AttestError(f"the reading {name!r} is not known; expected one of: {known}.")
    reading = READINGS[name]
    if not reading.suits(observation):
        suited = ", ".join(each.name for each in suited_readings(observation))
        kind = shown_class(observation.network).__name__
        raise AttestError(f"the reading {name!r} does not suit {kind}: it needs {reading.needs}; expected one of: {suited}.")
    return reading


def suited_readings(observation: Observation) -> list[Reading]:
    """Return the explanations that are computed by default for a network, and those that a user gave."""
    suited = [reading for reading in READINGS.values() if not reading.by_name and reading.suits(observation)]
    return suited + _given(observation)


def asked_readings(observation: Observation, names: Sequence[str] | None) -> list[Reading]:
    """Return the named explanations (by default all suitable ones), the baselines, and those that a user gave.

    Raises:
        AttestError: as in ``reading_of``.
    """
    if names is None:
        return suited_readings(observation)
    always = [name for name in (*BASES, RANDOM) if READINGS[name].suits(observation)]
    wanted = {*always, *(reading_of(name, observation).name for name in names)}
    return [READINGS[name] for name in READINGS if name in wanted] + _given(observation)


def _given(observation: Observation) -> list[Reading]:
    return [reading_of(name, observation) for name in observation.given]


def read_as(observation: Observation, name: str) -> Observation:
    """Return an observation in which the absolute values of an explanation replace the attention."""
    if name == "attention":
        return observation
    return observation.explained_by(reading_of(name, observation).magnitude(observation))


def where_explained(observation: Observation, columns: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return an experiment's columns ``(B,)``, with NaN for texts on which the tested explanation is undefined."""
    undefined = observation.explanation.isnan().any(dim=-1)
    return {
        name: column.double().masked_fill(undefined, torch.nan) if column.ndim == 1 else column
        for name, column in columns.items()
    }


def require_readings(names: Sequence[str]) -> None:
    """Raise an ``AttestError`` if the name of an explanation is unknown, or if no name is given."""
    for name in names or ("",):
        if name not in READINGS:
            raise AttestError(
                f"READING={name} is not known; expected one or more of: {', '.join(READINGS)}, with commas between them."
            )
