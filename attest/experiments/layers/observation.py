"""One forward pass, observed inside the layers of a Transformer: what every experiment on self-attention starts from.

Legend: B batch, N heads, T tokens (the last of two T is attended to), C logits, K classes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor, nn

from attest.attention.interventions import Intervention, attending, intervene, recorded
from attest.errors import AttestError
from attest.experiments.observation import numbered, outside_inference
from attest.measures import jensen_shannon, probabilities, total_variation

Scopes = dict[str, list[str]]
"""Layers that are tampered with together, by the suffix that their columns have."""


@dataclass(frozen=True)
class LayerObservation:
    """A batch as a network with self-attention saw it; without the autograd graph unless observed within one."""

    network: nn.Module
    ids: Tensor
    """int64 ``(B,)``: identities of the instances."""
    tokens: Tensor
    """int64 ``(B, T)``."""
    mask: Tensor
    """bool ``(B, T)``: True at real tokens, which come first in each row."""
    attention: Mapping[str, Tensor]
    """float ``(B, N, T, T)`` of each layer, by name, first to last; rows of padding are arbitrary."""
    logits: Tensor
    """float ``(B, C)``, of a tagger ``(B, T, K)``."""
    labels: Tensor | None = None
    """int64 ``(B,)``: gold classes, of a tagger ``(B, T)``, where they are known."""
    ids_given: bool = True
    """As in ``Observation``."""

    @cached_property
    def probabilities(self) -> Tensor:
        """Predicted class probabilities, ``(B, K)``, of a tagger ``(B, T, K)``."""
        return probabilities(self.logits)

    @cached_property
    def predicted(self) -> Tensor:
        """Predicted classes, int64 ``(B,)``, of a tagger ``(B, T)``; a tie goes to the lower class."""
        return self.probabilities.argmax(dim=-1)

    @cached_property
    def scopes(self) -> Scopes:
        """All layers together, under no suffix; and where there are several, each alone: ``_layer1``, ``_layer2``, …"""
        layers = list(self.attention)
        alone = {f"_layer{place}": [layer] for place, layer in enumerate(layers, start=1)} if len(layers) > 1 else {}
        return {"": layers} | alone

    def under(self, *interventions: Intervention) -> "LayerObservation":
        """The same batch, observed again while interventions are in force."""
        with intervene(self.network, *interventions):
            again = observe_layers(self.network, self.ids, self.tokens, self.mask, self.labels)
        return replace(again, ids_given=self.ids_given)

    def rows(self, index: Tensor) -> "LayerObservation":
        """Some of the instances, int64 ``(R,)``, possibly several times."""
        attention = {layer: weights[index] for layer, weights in self.attention.items()}
        ids, tokens, mask, logits = (column[index] for column in (self.ids, self.tokens, self.mask, self.logits))
        labels = None if self.labels is None else self.labels[index]
        return LayerObservation(self.network, ids, tokens, mask, attention, logits, labels, self.ids_given)

    def per_instance(self, values: Tensor) -> Tensor:
        """One number an instance ``(B,)``: values ``(B,)`` as they are, ``(B, T)`` averaged over real tokens."""
        if values.ndim == 1:
            return values
        return torch.where(self.mask, values, 0).sum(dim=-1) / self.mask.sum(dim=-1)

    def correct(self, labels: Tensor) -> Tensor:
        """Whether the decision is right, bool ``(B,)``; of a tagger the share of tokens whose tag is, float ``(B,)``."""
        return self.per_instance(self.predicted == labels)

    def moved_from(self, other: "LayerObservation") -> Tensor:
        """TVD of predictions ``(B,)`` in [0, 1], of a tagger its mean over tokens."""
        return self.per_instance(total_variation(self.probabilities, other.probabilities))

    def diverged_from(self, other: "LayerObservation", layers: Sequence[str]) -> Tensor:
        """Mean JSD ``(B,)`` in nats between the rows of both attentions: over layers, heads and real tokens."""
        return self.mean_over_rows(lambda layer: jensen_shannon(self.attention[layer], other.attention[layer]), layers)

    def support(self, layers: Sequence[str]) -> Tensor:
        """Share ``(B,)`` of real tokens that a row gives weight to, mean over layers, heads and real tokens."""
        return self.mean_over_rows(lambda layer: (self.attention[layer] > 0).sum(dim=-1) / self._lengths, layers)

    def largest(self, layers: Sequence[str]) -> Tensor:
        """Largest weight of a row, mean over layers, heads and real tokens, ``(B,)`` in (0, 1]."""
        return self.mean_over_rows(lambda layer: self.attention[layer].amax(dim=-1), layers)

    def mean_over_rows(self, measure: Callable[[str], Tensor], layers: Sequence[str]) -> Tensor:
        """Mean ``(B,)`` of what a measure of a layer ``(B, N, T)`` says of its rows; rows it says NaN of are left out."""
        return torch.stack([mean_over_rows(measure(layer), self.mask) for layer in layers]).nanmean(dim=0)

    @property
    def _lengths(self) -> Tensor:
        return self.mask.sum(dim=-1)[:, None, None]


def mean_over_rows(values: Tensor, mask: Tensor) -> Tensor:
    """Mean over heads and real tokens: ``(B, N, T)``, ``(B, T)`` -> ``(B,)``; NaN is left out."""
    return values.masked_fill(~mask.unsqueeze(1), torch.nan).flatten(1).nanmean(dim=-1)


def self_attending(network: nn.Module) -> list[str]:
    """Names of the layers in which every token attends to every other, first to last.

    Raises:
        AttestError: there are none.
    """
    layers = [name for name, layer in attending(network).items() if layer.heads is not None]
    if not layers:
        raise AttestError(
            f"{type(network).__name__} has no layer in which tokens attend to one another; expected a Transformer, "
            "or experiments on attention that pools."
        )
    return layers


def observe_layers(
    network: nn.Module, ids: Tensor | None, tokens: Tensor, mask: Tensor, labels: Tensor | None = None
) -> LayerObservation:
    """Run a network once and keep what its layers attend to.

    Args:
        network: takes tokens and mask to logits, in evaluation mode.
        ids: as in ``attest.experiments.observe``.
        tokens, mask, labels: as in ``LayerObservation``.
    Raises:
        AttestError: no layer of the network attends from token to token.
    """
    layers = self_attending(network)
    tokens, mask = outside_inference(tokens), outside_inference(mask)
    with torch.autocast(tokens.device.type, enabled=False), recorded(network, "weights") as weights:
        logits = network(tokens, mask)
    attention = {layer: weights[layer] for layer in layers}
    return LayerObservation(network, numbered(ids, mask), tokens, mask, attention, logits, labels, ids is not None)
