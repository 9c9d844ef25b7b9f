"""The observation of one forward pass inside the layers of a Transformer, for experiments on self-attention.

Legend: B batch, N heads, T tokens (the last of two T is attended to), C logits, K classes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor, nn

from attest.core.attention.interventions import Intervention, attending, intervene, recorded, to_itself, unwrapped
from attest.core.errors import AttestError
from attest.core.measures import jensen_shannon, movement, probabilities
from attest.core.modes import full_float32
from attest.core.rounding import rounding
from attest.models.inputs import Inputs
from attest.models.networks.transformer import TransformerLayer
from attest.models.observation import Observation, hooked, numbered, outside_inference, rightly
from attest.models.offers import offers_of
from attest.models.prediction import predictions_of
from attest.models.pretrained.passing import ForwardPass
from attest.models.traits import traits_of

Scopes = dict[str, list[str]]
"""Groups of layers whose attention an intervention changes together. A key is the suffix of the names of result columns,
``""`` for all layers and ``_layer1`` for the first; its value lists the names of the layers."""


@dataclass(frozen=True)
class LayerObservation:
    """The attention weights, logits and layer inputs that one forward pass of a Transformer computed for a batch.

    The tensors have no autograd graph unless the observation is made while autograd records. ``ids``, ``tokens``,
    ``mask``, ``ids_given`` and ``beside`` are as in ``Observation``.
    """

    network: nn.Module
    ids: Tensor
    tokens: Tensor
    mask: Tensor
    attention: Mapping[str, Tensor]
    """The attention weights of each layer, by the name of the layer, first to last: float ``(B, N, T, T)``, where the last
    dimension is attended to; rows of padding are arbitrary. A network with cross-attention, or another one that has ``sides``,
    has ``(B, N, Q, S)``: the weights of Q rows over S positions."""
    logits: Tensor
    """float ``(B, C)``: the logits of the classes, or one logit; for a tagger float ``(B, T, K)``, the logits of K tags for
    each token."""
    labels: Tensor | None = None
    """int64 ``(B,)``: the true class of each text; for a tagger int64 ``(B, T)``, the true tag of each token, below 0 at
    tokens without one. None if they are not known."""
    ids_given: bool = True
    special: Tensor | None = None
    """bool ``(B, T)``: True at special tokens, such as ``[CLS]``, which experiments neither rank nor erase; None if they are
    not known."""
    inputs: Mapping[str, Tensor] = field(default_factory=dict)
    """By layer, float ``(B, T, H)``: the hidden states that enter the layer if no attention is changed. A pass that changes
    only later layers can start from them. Empty if the network cannot start a pass at each layer (``blocks_in(network)``)."""
    words: Tensor | None = None
    """int64 ``(B, T)``: the number of the word that each token belongs to, below 0 if it belongs to none; None if tokens are
    words, or if words are not known."""
    beside: Mapping[str, Tensor] = field(default_factory=dict)

    @property
    def texts(self) -> Inputs:
        """Return the texts as the network reads them."""
        return Inputs(self.tokens, self.mask, self.beside)

    @cached_property
    def probabilities(self) -> Tensor:
        """Return the predicted class probabilities, ``(B, K)``; for a tagger, ``(B, T, K)``."""
        return probabilities(self.logits)

    @cached_property
    def prediction(self) -> Tensor:
        """Return class probabilities ``(B, K)`` or ``(B, T, K)``, or one predicted number for each text, ``(B, 1)``."""
        return predictions_of(self.network, self.logits)

    @cached_property
    def predicted(self) -> Tensor:
        """Return the predicted classes, int64 ``(B,)``, for a tagger ``(B, T)``; a tie goes to the lower class."""
        return self.prediction.argmax(dim=-1)

    @cached_property
    def ranked(self) -> Tensor:
        """Return which tokens may be ranked and erased, bool ``(B, T)``: all real tokens except special tokens."""
        return self.mask if self.special is None else self.mask & ~self.special

    @cached_property
    def scopes(self) -> Scopes:
        """Return groups of layers by the suffix of their result columns: ``""`` for all layers, ``_layer1`` for layer 1."""
        layers = list(self.attention)
        alone = {f"_layer{place}": [layer] for place, layer in enumerate(layers, start=1)} if len(layers) > 1 else {}
        return {"": layers} | alone

    def under(self, *interventions: Intervention) -> "LayerObservation":
        """Run the batch again with interventions (changes inside layers), and return the new observation."""
        with intervene(self.network, *interventions):
            logits, weights = _passed(self.network, self._forward(slice(None)), self.mask.device)
        attention = {layer: weights.get(layer, clean) for layer, clean in self.attention.items()}
        return replace(self, attention=attention, logits=logits, inputs={})

    def logits_under(self, rows: Tensor | slice, *interventions: Intervention) -> Tensor:
        """Run the texts ``rows``, int64 ``(R,)``, with changes inside layers; return logits ``(R, C)`` or ``(R, T, K)``."""
        device = self.mask.device.type
        with intervene(self.network, *interventions), full_float32(), torch.autocast(device, enabled=False):
            return self._forward(rows)()

    @torch.no_grad()
    def values(self) -> dict[str, Tensor]:
        """Return the value vectors of all heads, ``(B, N, T, D)``, for each layer by name.

        If hook points reach only the softmaxes, return the outputs of each head when every token attends only to itself.
        """
        if not traits_of(unwrapped(self.network)).shows_values:
            return {layer: self._of_itself(layer) for layer in self.attention}
        with recorded(self.network, "values") as found:
            self.logits_under(slice(None))
        return {layer: found[layer] for layer in self.attention}

    def _of_itself(self, layer: str) -> Tensor:
        found: list[Tensor] = []

        def look(outputs: Tensor, _mask: Tensor) -> Tensor:
            found.append(outputs)
            return outputs

        self.logits_under(slice(None), Intervention("weights", to_itself, [layer]), Intervention("outputs", look, [layer]))
        return found[0]

    def _forward(self, rows: Tensor | slice) -> Callable[[], Tensor]:
        tampered = [name for name, layer in attending(self.network).items() if layer.replacements]
        texts = self.texts.rows(rows)
        if not tampered or not all(name in self.inputs for name in tampered):
            return partial(texts.read_by, self.network)
        place = min(list(self.inputs).index(name) for name in tampered)
        return partial(_pass_from, place, [*self.inputs.values()][place][rows], self.network, texts)

    def rows(self, index: Tensor) -> "LayerObservation":
        """Return the observation of the texts at the batch positions ``index``, int64 ``(R,)``, which may repeat."""

        def chosen(column: Tensor | None) -> Tensor | None:
            return None if column is None else column[index]

        return replace(
            self,
            ids=self.ids[index],
            tokens=self.tokens[index],
            mask=self.mask[index],
            attention={layer: weights[index] for layer, weights in self.attention.items()},
            logits=self.logits[index],
            labels=chosen(self.labels),
            special=chosen(self.special),
            inputs={layer: hidden[index] for layer, hidden in self.inputs.items()},
            words=chosen(self.words),
            beside=self.texts.rows(index).beside,
        )

    def per_instance(self, values: Tensor, rows: Tensor | slice = slice(None)) -> Tensor:
        """Return one number for each text, ``(B,)``: ``values (B,)`` unchanged, or the means over tokens of ``(B, T)``.

        The mean is taken over the tokens in ``deciding``. If ``rows`` are given, ``values`` are those of these rows alone.
        """
        if values.ndim == 1:
            return values
        counts = self.deciding[rows]
        return torch.where(counts, values, 0).sum(dim=-1) / counts.sum(dim=-1)

    @cached_property
    def deciding(self) -> Tensor:
        """Return which tokens enter means, bool ``(B, T)``: tokens with a gold tag in tagging, else all real tokens."""
        return self.mask if self.labels is None or self.labels.ndim == 1 else self.labels >= 0

    def correct(self, labels: Tensor) -> Tensor:
        """Return whether each text's predicted class is right, ``(B,)``; for a tagger, return the share of right tags."""
        return self.per_instance(self.predicted == labels if labels.ndim > 1 else rightly(self.predicted, labels))

    def moved_from(self, other: "LayerObservation") -> Tensor:
        """Return the distance between the predictions of two observations, ``(B,)``; for a tagger, the mean over tokens.

        For classes the distance is the TVD, in [0, 1]; for one predicted number, the difference in standard deviations.
        """
        return self.per_instance(movement(self.prediction, other.prediction))

    def diverged_from(self, other: "LayerObservation", layers: Sequence[str]) -> Tensor:
        """Return the JSD (nats) between the attention of two observations, mean over layers, heads and tokens, ``(B,)``."""
        return self.mean_over_rows(lambda layer: jensen_shannon(self.attention[layer], other.attention[layer]), layers)

    def support(self, layers: Sequence[str]) -> Tensor:
        """Return the share of real tokens with a weight above 0, ``(B,)``: a mean over layers, heads and attention rows."""
        return self.mean_over_rows(
            lambda layer: (self.attention[layer] > 0).sum(dim=-1) / self.places(self.attention[layer]).sum(dim=-1), layers
        )

    def largest(self, layers: Sequence[str]) -> Tensor:
        """Return the largest weight of each attention row, averaged over layers, heads and tokens, ``(B,)`` in (0, 1]."""
        return self.mean_over_rows(lambda layer: self.attention[layer].amax(dim=-1), layers)

    def mean_over_rows(self, measure: Callable[[str], Tensor], layers: Sequence[str]) -> Tensor:
        """Average ``measure(layer)``, ``(B, N, T)``, over layers, heads and real tokens, ignoring NaN: ``(B,)``."""
        means = [mean_over_rows(measure(layer), self.rows_that_count(self.attention[layer])) for layer in layers]
        return torch.stack(means).nanmean(dim=0)

    def rows_that_count(self, weights: Tensor) -> Tensor:
        """Return which rows of weights ``(B, N, Q, S)`` belong to real tokens, bool ``(B, N, Q)``."""
        return _of_heads(self._sides[0], weights).expand(weights.shape[:-1])

    def places(self, weights: Tensor) -> Tensor:
        """Return which columns of weights ``(B, N, Q, S)`` belong to real tokens, bool ``(B, N, 1, S)``."""
        return _of_heads(self._sides[1], weights).unsqueeze(2)

    @cached_property
    def _sides(self) -> tuple[Tensor, Tensor]:
        return _sides_of(self.network, self.mask)


def _sides_of(network: nn.Module, mask: Tensor) -> tuple[Tensor, Tensor]:
    sides = offers_of(unwrapped(network)).sides
    return (mask.unsqueeze(1),) * 2 if sides is None else sides(mask)


def weights_a_head(network: nn.Module, mask: Tensor) -> int:
    """Return the number of attention weights in one head for each text: T × T, or more if texts are read in windows."""
    rows, places = _sides_of(network, mask)
    return max(mask.shape[-1] ** 2, rows.shape[1] * rows.shape[2] * places.shape[2])


def _of_heads(side: Tensor, weights: Tensor) -> Tensor:
    """Return the mask of each head, bool ``(B, N, T)``, from the masks of G groups of heads, ``(B, G, T)``."""
    return side.repeat_interleave(weights.shape[1] // side.shape[1], dim=1)


def mean_over_rows(values: Tensor, mask: Tensor) -> Tensor:
    """Average ``values (B, N, T)`` over heads and over the tokens in ``mask (B, 1 or N, T)``, ignoring NaN: ``(B,)``."""
    return values.masked_fill(~mask, torch.nan).flatten(1).nanmean(dim=-1)


def self_attending(network: nn.Module) -> list[str]:
    """Return the names of a network's self-attention layers, from the first layer to the last."""
    layers = [name for name, layer in attending(network).items() if layer.heads is not None]
    if not layers:
        raise AttestError(
            f"{type(network).__name__} has no self-attention layer; expected a Transformer. Or leave out the experiments on "
            "self-attention."
        )
    return layers


@full_float32()
def observe_layers(
    network: nn.Module,
    ids: Tensor | None,
    tokens: Tensor,
    mask: Tensor,
    labels: Tensor | None = None,
    special: Tensor | None = None,
    words: Tensor | None = None,
    beside: Mapping[str, Tensor] | None = None,
) -> LayerObservation:
    """Run a network once and record the attention and, if possible, the input of each layer."""
    layers = self_attending(network)
    texts = Inputs(outside_inference(tokens), outside_inference(mask), beside or {})
    tampered = any(layer.replacements for layer in attending(network).values())
    with entering({} if tampered else blocks_in(network)) as inputs:
        logits, weights = _passed(network, partial(texts.read_by, network), tokens.device)
    attention = {layer: weights[layer] for layer in layers}
    kept = {layer: inputs[layer] for layer in layers} if inputs.keys() >= set(layers) else {}
    if kept:
        with torch.no_grad(), torch.autocast(tokens.device.type, enabled=False):
            again = _pass_from(len(kept) - 1, [*kept.values()][-1], network, texts)
        real = slice(None) if logits.ndim == 2 else texts.mask
        close = rounding(logits.dtype)
        if not torch.allclose(again[real], logits.detach()[real], rtol=close, atol=close):
            kept = {}
    numbers, given = numbered(ids, mask), ids is not None
    known = labels, given, special, kept, words, texts.beside
    return LayerObservation(network, numbers, texts.tokens, texts.mask, attention, logits, *known)


def layers_of(observation: Observation) -> LayerObservation:
    """Return the observation of the layers of a network on texts that were observed."""
    network: Any = observation.network
    texts = observation.ids, observation.tokens, observation.mask
    return observe_layers(network, *texts, special=observation.spared, beside=observation.beside)


def _pass_from(place: int, hidden: Tensor, network: nn.Module, texts: Inputs) -> Tensor:
    bare: Any = unwrapped(network)
    current: ForwardPass | None = None if offers_of(bare).through is None else bare.current
    with beginning_at(current, list(blocks_in(network).values()), place, hidden):
        return texts.read_by(network)


def blocks_in(network: nn.Module) -> Mapping[str, nn.Module]:
    """Return the layers at which a forward pass can start, by the names of their attention modules, first to last."""
    bare: Any = unwrapped(network)
    if offers_of(bare).through is not None:
        return bare.blocks
    return {f"{name}.attention": part for name, part in bare.named_modules() if isinstance(part, TransformerLayer)}


@contextmanager
def beginning_at(
    current: ForwardPass | None, blocks: Sequence[nn.Module], layer: int, hidden: Tensor, alone: bool = False
) -> Iterator[None]:
    """Start each forward pass at one layer with the input ``hidden (B, T, H)``; if ``alone``, run no other layer.

    Args:
        current: the pass of other people's model, which counts its computations of attention; None for our networks.
    """
    beside = None if current is None else current.beside
    others = [*blocks[:layer], *(blocks[layer + 1 :] if alone else ())]

    def enter(_block: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        if current is not None:
            current.made = layer
        return hidden, *arguments[1:]

    def hand_on(hidden: Tensor, *_: Any, **__: Any) -> Any:
        return hidden if beside is None else (hidden, *beside)

    own = [vars(block).get("forward") for block in others]
    with hooked([blocks[layer]], enter, before=True):
        try:
            for block in others:
                block.forward = hand_on
            yield
        finally:
            for block, forward in zip(others, own, strict=True):
                if forward is None:
                    vars(block).pop("forward", None)
                else:
                    block.forward = forward


def _passed(network: nn.Module, forward: Callable[[], Tensor], device: torch.device) -> tuple[Tensor, dict[str, Tensor]]:
    with full_float32(), torch.autocast(device.type, enabled=False), recorded(network, "weights") as weights:
        return forward(), weights


@contextmanager
def entering(modules: Mapping[str, nn.Module]) -> Iterator[dict[str, Tensor]]:
    """Collect the inputs of the given modules, by module name, while the ``with`` block runs."""
    inputs: dict[str, Tensor] = {}

    names = {module: name for name, module in modules.items()}

    def keep(module: nn.Module, arguments: tuple[Any, ...]) -> None:
        if arguments:
            inputs[names[module]] = arguments[0]

    with hooked(modules.values(), keep, before=True):
        yield inputs
