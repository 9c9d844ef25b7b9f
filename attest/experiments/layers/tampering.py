"""Ways to change the attention inside layers: permuted rows, other attention keys, random draws, and sinks left alone.

A row of an encoder may attend to all tokens, a row of a decoder to those up to its own.

Legend: B batch, D draws, R (instance, draw) pairs or rows of attention, Y layers, N heads, T tokens, D dimensions a head,
H = N D.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from attest.core.attention.interventions import Intervention, intervene, recorded
from attest.core.errors import AttestError
from attest.core.memory import NEAR, by_rows
from attest.core.randomness import random_bits, random_permutations
from attest.core.rounding import compared
from attest.experiments.sink import WITHOUT, has_sinks, sinks_of
from attest.models.inputs import Inputs
from attest.models.layers_observed import LayerObservation, Scopes


class SinkKept(nn.Module):
    """A projection that keeps the softmax weight of sinks and divides the rest among the other tokens.

    Args:
        projection: the projection that divides the rest, such as sparsemax.
        sinks: bool ``(B, N, T)``, the sinks of each head.
    """

    def __init__(self, projection: nn.Module, sinks: Tensor) -> None:
        super().__init__()
        self.projection, self.sinks = projection, sinks.unsqueeze(2)

    def forward(self, scores: Tensor, allowed: Tensor) -> Tensor:
        """Map scores and allowed tokens (bool), both ``(B, N, T, T)``, to weights with sum 1.

        If the model has a learned sink, the last dimension is T + 1: the learned sink comes after the tokens.
        """
        sinks = functional.pad(self.sinks, (0, scores.shape[-1] - self.sinks.shape[-1])).expand(allowed.shape)
        own = scores.masked_fill(~allowed, -torch.inf).softmax(dim=-1)
        others = allowed & ~sinks
        alone = ~others.any(dim=-1, keepdim=True)
        left = 1 - own.where(sinks, 0).sum(dim=-1, keepdim=True)
        weights = self.projection(scores, others | (allowed & alone)) * left
        return torch.where(alone | sinks, own, weights)


def shuffled_within(seed: int, keys: Tensor, allowed: Tensor) -> Tensor:
    """Return a random permutation of the allowed tokens of each row, as indices for ``gather``, int64 ``(R, T)``.

    Args:
        keys: int64 ``(R,)``, one for each row.
        allowed: bool ``(R, T)``; all other places stay.
    """
    slots = allowed.byte().argsort(dim=-1, descending=True, stable=True)
    counted = allowed.gather(-1, slots)  # those that move come first
    order = random_permutations(seed, keys, 1, counted).squeeze(1)
    return slots.scatter(-1, slots, slots.gather(-1, order))


def clean_keys(network: nn.Module, layers: Sequence[str], texts: Inputs) -> Tensor:
    """Return each layer's attention keys in an unchanged forward pass, all heads side by side, ``(B, Y, T, H)``.

    Args:
        network: in evaluation mode.
        layers: Y names of layers with heads, as in ``attending(network)``.
    """
    with recorded(network, "keys") as keys:
        texts.read_by(network)
    return torch.stack([keys[layer].transpose(1, 2).flatten(2) for layer in layers], dim=1)


def replacing_keys(network: nn.Module, layers: Sequence[str], keys: Tensor) -> list[Intervention]:
    """Return interventions that replace the attention keys of layers by ``keys (B, Y, T, H)``, at real tokens."""

    def replace(place: int, computed_BNTD: Tensor, mask: Tensor) -> Tensor:
        ours_BNTD = keys[:, place].unflatten(-1, (computed_BNTD.shape[1], -1)).transpose(1, 2)
        return torch.where(mask[:, None, :, None], ours_BNTD.to(computed_BNTD), computed_BNTD)

    return [Intervention("keys", partial(replace, place), [layer]) for place, layer in enumerate(layers)]


def highest(values: Tensor, counts: Tensor) -> Tensor:
    """Return a mask of the ``counts`` largest values of each row, bool ``(..., T)``; among equal values, the first."""
    ranks = values.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)
    return ranks < counts.unsqueeze(-1)


def named(spans: Mapping[int, Sequence[int]], ids: Tensor, allowed: Tensor, experiment: str, but: str = "") -> Tensor:
    """Return which tokens the given ``spans`` of each text contain, bool ``(B, T)``.

    Args:
        spans: positions of tokens, by text id.
        allowed: bool ``(B, T)``, tokens that may be named.
        experiment, but: for the error message: the experiment, and words that say which tokens are not allowed.
    Raises:
        AttestError: a span names a token that is not allowed.
    """
    found = torch.zeros_like(allowed)
    for row, identity in enumerate(ids.tolist()):
        places = list(spans.get(identity, ()))
        if any(not 0 <= place < found.shape[-1] or not allowed[row, place] for place in places):
            may_be = allowed[row].nonzero().flatten().tolist()
            within = f"token numbers from {may_be[0]} to {may_be[-1]}, counted from 0" if may_be else "no token"
            raise AttestError(
                f"the setting `spans` of {experiment} contains the token numbers {places} for text {identity}; expected "
                f"{within}{but}."
            )
        found[row, places] = True
    return found


def beside_random(drop: Tensor, flipped: Tensor, noise: float) -> dict[str, Tensor]:
    """Compare the effect of removing one set (of heads, for example) with the effects of removing random sets.

    Args:
        drop: ``(B, V)``, the fall without the set (first) and without each random set; NaN where nothing is left out.
        flipped: ``(B, V)``, whether the decision changes.
        noise: the largest difference that rounding can make; falls that differ by less are ties.
    Returns:
        ``(B,)`` each: ``drop`` and ``flipped`` of the set; ``drop_random`` and ``flipped_random``, their means over random
        sets; ``won``, the share of random sets with a smaller fall (ties count half).
    """
    less = (1 + compared(drop[:, :1], drop[:, 1:], noise)) / 2
    return {
        "drop": drop[:, 0],
        "flipped": flipped[:, 0],
        "drop_random": drop[:, 1:].mean(dim=-1),
        "flipped_random": flipped[:, 1:].mean(dim=-1),
        "won": less.masked_fill(drop[:, 1:].isnan(), torch.nan).mean(dim=-1),
    }


Sinks = Mapping[str, Tensor]
"""By layer, the attention sinks of each head, bool ``(B, N, T)``: True at tokens that get much attention whatever the text
says, and that keep their weight when attention is changed. Empty if no sinks are spared."""
Tampering = Callable[[Sequence[str]], list[Intervention]]
"""A function that takes the names of some layers, and returns the interventions that change the attention in these layers."""
Tamper = Callable[[Sinks, LayerObservation, Tensor, Tensor], Tampering]
"""A function that prepares a random change of attention. It takes the sinks whose weights stay, an observation of R rows, the
index of each row in the batch, and a random key for each row, int64 ``(R,)`` each; it returns a ``Tampering``."""
MAPS = 6
"""To estimate memory: how many times the bytes of an attention map (all weights of a pass) are in use at once: the map, its
changed copy, scores, and the int64 numbers that shuffle, which take twice the bytes of float32."""
COPIES_OF_ROW = 16
"""To estimate memory: if only the last row of attention is computed again, how many numbers exist at once for each weight of
this row. They are the keys and values of all tokens, in one layer at a time."""


class Outcomes(NamedTuple):
    """The results for each instance after each of D changes of attention, float64 ``(B, D)`` each."""

    correct: Tensor
    """float64 ``(B, D)``: 1 if the decision is right after the attention was changed, else 0; for a tagger, the share of
    tokens with the right tag."""
    flipped: Tensor
    """float64 ``(B, D)``: 1 if the change of attention changes the decision, else 0; for a tagger, the share of tokens whose
    tag changes."""
    tvd: Tensor
    """float64 ``(B, D)``: the TVD, in [0, 1], between the predictions with and without the change; for a model of one number,
    their distance in standard deviations."""
    jsd: Tensor
    """float64 ``(B, D)``: the JSD between the attention with and without the change, in nats, as a mean over the attention
    rows of the changed layers; NaN if the caller did not ask for it."""


@torch.no_grad()
def tampered_at_random(
    observation: LayerObservation,
    labels: Tensor,
    draws: int,
    seed: int,
    tamper: Tamper,
    compared: bool = False,
) -> dict[str, Outcomes]:
    """Change attention randomly D times, in all layers or in one, and measure how the predictions change.

    For a decoder, attention is also changed in all layers but the sinks of each head stay (suffix ``_without_sink``).

    Args:
        labels: int64 ``(B,)``, gold classes, or ``(B, T)``, gold tags.
        seed: with an instance's id it fixes the keys of that instance's draws.
        tamper: returns the changes of attention, as described at ``Tamper``.
        compared: whether attention is compared too, which costs as much as a pass.
    Returns:
        The outcomes by suffix of the columns: empty for all layers, ``_layer<l>`` for one layer.
    """
    kinds: list[tuple[Scopes, Sinks]] = [(observation.scopes, {})]
    if has_sinks(observation.network):
        kinds.append(({WITHOUT: observation.scopes[""]}, sinks_of(observation)))
    device = observation.ids.device
    rows = torch.arange(len(observation.ids), device=device).repeat_interleave(draws)
    draw = torch.arange(draws, device=device).repeat(len(observation.ids))
    per_row = MAPS * sum(weights[0].nbytes for weights in observation.attention.values())
    outcomes = {}
    for scopes, sinks in kinds:

        def measure(rows: Tensor, draw: Tensor, scopes: Scopes = scopes, sinks: Sinks = sinks) -> Tensor:
            clean = observation.rows(rows)
            tampering = tamper(sinks, clean, rows, random_bits(seed, clean.ids, draw))
            found = [_measured(clean, tampering, labels[rows], layers, compared) for layers in scopes.values()]
            return torch.stack(found, dim=-1)

        measured = by_rows(measure, per_row, rows, draw, budget=NEAR).unflatten(0, (-1, draws))
        for suffix, each in zip(scopes, measured.unbind(dim=-1), strict=True):
            outcomes[suffix] = Outcomes(*each.unbind(dim=-1))
    return outcomes


def _measured(clean: LayerObservation, tampering: Tampering, labels: Tensor, layers: Sequence[str], compared: bool) -> Tensor:
    tampered = clean.under(*tampering(layers))
    flipped = tampered.per_instance((tampered.predicted != clean.predicted).double())
    moved = tampered.moved_from(clean)
    diverged = tampered.diverged_from(clean, layers) if compared else torch.full_like(moved, torch.nan)
    return torch.stack([column.double() for column in (tampered.correct(labels), flipped, moved, diverged)], dim=-1)


def keys_of_rows(seed: int, keys: Tensor, weights: Tensor) -> Tensor:
    """Draw one random number per head and attention row, int64 ``(R N T,)``, as the seed for that row."""
    head_N, row_T = (torch.arange(count, device=keys.device) for count in weights.shape[1:3])
    return random_bits(seed, keys[:, None, None], head_N.unsqueeze(-1), row_T).flatten()


class DecidingRow:
    """The attention of the token at which a decoder decides, in every layer and head.

    Earlier tokens do not see it, so that they are read once (``from_the_last``) where the model allows it.
    """

    def __init__(self, observation: LayerObservation) -> None:
        network: Any = observation.network
        self.observation = observation
        self.places = network.deciding(observation.mask).argmax(dim=-1)
        everyone = torch.arange(len(self.places), device=self.places.device)
        self.attention = {layer: weights[everyone, :, self.places] for layer, weights in observation.attention.items()}
        """By layer, float ``(B, N, T)``: in each of N heads, the attention weights of the token at which the decoder
        decides."""
        self.again: Callable[[Tensor], Tensor] | None = observation.texts.read_by(network.from_the_last)

    def logits(self, variants: Tensor, changes: Callable[[Tensor, Tensor], Sequence[Intervention]]) -> Tensor:
        """Return the logits ``(B, V, C)`` after each of V changes of attention at the token where the decoder decides.

        Args:
            variants: ``(B, V, ...)``, one entry for each change, such as the tokens to cut.
            changes: takes R rows of the batch, int64, and their variants ``(R, ...)``; returns the interventions.
        """
        seen, again = self.observation, self.again

        def of_rows(rows: Tensor, variant: Tensor) -> Tensor:
            with intervene(seen.network, *changes(rows, variant)):
                return seen.texts.rows(rows).read_by(seen.network) if again is None else again(rows)

        rows = torch.arange(len(variants), device=variants.device).repeat_interleave(variants.shape[1])
        maps = sum(weights[0].nbytes for weights in seen.attention.values())
        per_row = MAPS * maps if again is None else COPIES_OF_ROW * maps // seen.mask.shape[-1]
        return by_rows(of_rows, per_row, rows, variants.flatten(0, 1), budget=NEAR).unflatten(0, variants.shape[:2])


def row_among(deciding: Tensor, passing: Tensor) -> Tensor:
    """Return the index of the attention row from which the model decides; 0 if a forward pass computes one row only."""
    return deciding if passing.shape[-2] > 1 else torch.zeros_like(deciding)
