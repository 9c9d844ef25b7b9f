"""Interventions: inside a ``with`` block, a network computes with a changed attention.

Pooled attention and Transformers use the same mechanism. Every module that computes attention has named hook points. An
intervention says at which hook point, in which layers and heads, which value replaces the computed value:

    with intervene(network, Intervention("projection", Sparsemax())):
        logits = network(tokens, mask)                       # E8: trained with one projection, run with another

    with intervene(network, Intervention("keys", shuffled, layers=["encoder.layers.0.attention"], heads=[1])):
        logits = network(tokens, mask)                       # E9

    with recorded(network, "weights") as weights:
        network(tokens, mask)
    weights["encoder.layers.0.attention"]                    # (B, heads, T, T)

Blocks can be nested; an inner block gets the values that outer blocks have changed. Parameters and buffers never change. A
network that is compiled by ``torch.compile`` runs uncompiled within the block.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

HookPoint = Literal["keys", "values", "edges", "scores", "weights", "projection", "outputs"]
Replacement = Callable[[Any, Tensor], Any]
"""A function that computes the value to use at a hook point. It gets the value that the module computed there (a tensor, or a
``Projection``), and the mask, bool ``(B, T)``, True at real tokens."""


class HookedModule(nn.Module):
    """A module that computes attention and has named hook points, at which interventions can replace values."""

    heads: int | None = None
    """The number of attention heads, which is the size of dimension 1 of scores and weights; None if the module has no
    heads."""

    def __init__(self) -> None:
        super().__init__()
        self.replacements: tuple[tuple[HookPoint, Replacement], ...] = ()
        """The active interventions, in the order in which they apply: each has its hook point and the function that replaces
        the value there. ``intervene`` sets them for the duration of its ``with`` block; outside of it there are none."""

    def hook(self, point: HookPoint, value: Any, mask: Tensor) -> Any:
        """Return the value at a hook point: the computed value, or its replacement by an active intervention."""
        for where, replacement in self.replacements:
            if where == point:
                value = replacement(value, mask)
        return value

    def given(self, point: HookPoint, shape: tuple[int, ...]) -> Any | None:
        """Return the constant that replaces the value at a hook point; None if the network must compute the value.

        The result is also None if another hook point is in use, because the values there may be recorded.
        """
        first = self.replacements[0][1] if self.replacements else None
        alone = all(where == point for where, _ in self.replacements)
        return first.value if alone and isinstance(first, _Constant) and first.value.shape == shape else None


@dataclass(frozen=True)
class Intervention:
    """A replacement for the value that a network computes at a hook point.

    Args:
        point: ``keys``, ``values``, ``scores``, ``weights``, ``projection`` or ``outputs`` of heads, with shapes as in
            ``PooledAttention`` and ``MultiHeadAttention``; or ``edges`` of a pretrained Transformer.
        value: a tensor with the shape of the replaced value, or a function from the computed value and the mask ``(B, T)`` to
            this tensor; if ``heads`` are given, only for these heads. For ``projection`` a ``Projection``.
        layers: the names of layers, as in ``attending(network)``; None for all layers.
        heads: the indices of heads, for layers that have heads; None for all heads.
    """

    point: HookPoint
    value: Tensor | Replacement | nn.Module
    layers: Sequence[str] | None = None
    heads: Sequence[int] | None = None


def attending(network: nn.Module) -> dict[str, HookedModule]:
    """Return the modules of a network that compute attention, as a dictionary with their names as keys."""
    bare = unwrapped(network)
    return {name: module for name, module in bare.named_modules() if isinstance(module, HookedModule)}


@contextmanager
def intervene(network: nn.Module, *interventions: Intervention) -> Iterator[None]:
    """Apply interventions to a network, in the given order, until the ``with`` block ends.

    Raises:
        ValueError: the network does not have a named layer or head, or the replacement of a projection is not a module.
    """
    layers = attending(network)
    changes = [(layer, (each.point, _replacement(each))) for each in interventions for layer in _chosen(layers, each)]
    before = [(layer, layer.replacements) for layer in layers.values()]
    try:
        for layer, change in changes:
            layer.replacements = (*layer.replacements, change)
        with uncompiled():
            yield
    finally:
        for layer, replacements in before:
            layer.replacements = replacements


@contextmanager
def uncompiled() -> Iterator[None]:
    """Turn off the compilation by ``torch.compile`` inside the ``with`` block."""
    with torch.compiler.set_stance("force_eager") if "torch._dynamo" in sys.modules else nullcontext():
        yield


@contextmanager
def recorded(network: nn.Module, point: HookPoint) -> Iterator[dict[str, Tensor]]:
    """Record each layer's values at a hook point inside the ``with`` block; a new forward pass replaces them.

    Args:
        point: any but ``projection``.
    """
    values: dict[str, Tensor] = {}

    def keep(name: str, value: Tensor, mask: Tensor) -> Tensor:
        values[name] = value
        return value

    with intervene(network, *(Intervention(point, partial(keep, name), layers=[name]) for name in attending(network))):
        yield values


def to_itself(weights: Tensor, mask: Tensor) -> Tensor:
    """Return attention weights ``(B, N, T, T)`` with which each token attends only to itself."""
    return torch.eye(weights.shape[-1]).to(weights).expand_as(weights)


def unwrapped(network: nn.Module) -> nn.Module:
    """Return a network without the wrappers of DDP (``module``) and of the compiler (``_orig_mod``)."""
    for wrapper in ("module", "_orig_mod"):
        inner = network._modules.get(wrapper)
        if inner is not None and len(network._modules) == 1:
            return unwrapped(inner)
    return network


def _chosen(layers: Mapping[str, HookedModule], intervention: Intervention) -> list[HookedModule]:
    names = list(layers) if intervention.layers is None else list(intervention.layers)
    for name in names:
        if name not in layers:
            raise ValueError(f"{name!r} is not an attention layer; expected one of: {', '.join(layers)}.")
        heads = layers[name].heads
        missing = [head for head in intervention.heads or () if not 0 <= head < (heads or 0)]
        if missing:
            expected = f"0 to {heads - 1}" if heads else "no choice of heads, since it has none"
            raise ValueError(f"heads {missing} of layer {name!r} do not exist; expected {expected}.")
    return [layers[name] for name in names]


def _replacement(intervention: Intervention) -> Replacement:
    value, heads = intervention.value, intervention.heads
    if intervention.point == "projection":
        if not isinstance(value, nn.Module):
            found = type(value).__name__
            raise ValueError(f"a {found} cannot replace a projection; expected a Projection, for example Sparsemax().")
        return lambda trained, mask: value if heads is None else _in_heads(heads, trained, value)
    replace = _Constant(value) if isinstance(value, Tensor) else value
    return replace if heads is None else _in_heads(heads, lambda computed, mask: computed, replace)


@dataclass(frozen=True)
class _Constant:
    """A replacement that returns a fixed tensor, so that the original value need not be computed."""

    value: Tensor

    def __call__(self, computed: Tensor, mask: Tensor) -> Tensor:
        if self.value.shape != computed.shape:
            raise ValueError(
                f"the new value has the shape {tuple(self.value.shape)}; expected the shape {tuple(computed.shape)}."
            )
        return self.value.to(computed)


def _in_heads(heads: Sequence[int], usual: Replacement, other: Replacement) -> Replacement:
    def apply(values: Tensor, mask: Tensor) -> Tensor:
        index = torch.tensor(heads, device=values.device)
        return usual(values, mask).index_copy(1, index, other(values.index_select(1, index), mask))

    return apply


@dataclass(frozen=True)
class Readout:
    """An affine map from hidden states ``(N, H)`` to A features, followed by a function from the features to F numbers."""

    weight: Tensor
    """float ``(A, H)``: the matrix of the affine map from hidden states to A features."""
    bias: Tensor
    """float ``(A,)``: the bias of the affine map from hidden states to A features."""
    finish: Callable[[Tensor], Tensor]
    """A function from the features ``(N, A)`` to the F results for each state, ``(N, F)``; it may overwrite its argument."""

    def __call__(self, hidden: Tensor) -> Tensor:
        """Map hidden states ``(..., H)`` to numbers ``(..., F)``."""
        return self.finish(functional.linear(hidden.flatten(0, -2), self.weight, self.bias)).unflatten(0, hidden.shape[:-1])

    def beside(self, linear: nn.Linear) -> "Readout":
        """Return a ``Readout`` whose output is this readout's numbers followed by the outputs of a linear layer."""
        own = len(self.weight)

        def finish(features: Tensor) -> Tensor:
            return torch.cat([self.finish(features[:, :own]), features[:, own:]], dim=-1)

        return Readout(torch.cat([self.weight, linear.weight]), torch.cat([self.bias, linear.bias]), finish)


def without_context(numbers: Tensor) -> Tensor:
    """Repeat the numbers of all tokens T times, once for each token that is left out: ``(B, T, F)`` -> ``(B, T, T, F)``.

    In an encoder without context, a token's numbers do not depend on the other tokens, so they do not change.
    """
    return numbers.unsqueeze(1).expand(-1, numbers.shape[1], -1, -1)
