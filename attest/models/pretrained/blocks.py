"""The layers of a model of transformers, so that a pass can begin at any of them.

Whatever is done to the attention of a layer changes nothing that enters that layer. So this is kept from one clean pass, and
a tampered pass leaves out all layers before the first tampered one.

Legend: B batch, T tokens, H hidden.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from attest.core.memory import in_evaluation_mode

if TYPE_CHECKING:
    from attest.models.pretrained.network import PretrainedNetwork


def blocks_of(network: "PretrainedNetwork", tokens: Tensor) -> list[nn.Module]:
    """The layers of a model, each with one call of attention, in the order of the calls.

    Args:
        network: without interventions in force.
        tokens: int64 ``(1, T)``, a text to try them with.
    Returns:
        None of them where the model has no such list of layers, or where a pass that begins at one of them gives other logits
        than the whole pass, in any bit.
    """
    lists = (list(each) for each in network.model.modules() if isinstance(each, nn.ModuleList))
    with in_evaluation_mode(network.model):
        return next((each for each in lists if len(each) == len(network.calls) and _exact(network, each, tokens)), [])


@contextmanager
def beginning_at(network: "PretrainedNetwork", blocks: Sequence[nn.Module], layer: int, hidden: Tensor) -> Iterator[None]:
    """Let passes begin at a layer, counted from 0, with what enters it, ``(B, T, H)``; those before it compute nothing."""

    def enter(_block: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        network.made = layer
        return hidden, *arguments[1:]

    entering = blocks[layer].register_forward_pre_hook(enter)
    own = [vars(block).get("forward") for block in blocks[:layer]]
    try:
        for block in blocks[:layer]:
            block.forward = _handed_on
        yield
    finally:
        entering.remove()
        for block, forward in zip(blocks, own, strict=False):
            _put_back(block, forward)


def _handed_on(hidden: Tensor, *_: Any, **__: Any) -> Tensor:
    return hidden


def _put_back(block: nn.Module, forward: Callable[..., Any] | None) -> None:
    """Its class's own, unless somebody had put another one there."""
    if forward is not None:
        block.forward = forward
    else:
        vars(block).pop("forward", None)


@torch.no_grad()
def _exact(network: "PretrainedNetwork", blocks: Sequence[nn.Module], tokens: Tensor) -> bool:
    """Whether these are layers with one call each, from all of which a pass can go on."""
    mask = torch.ones_like(tokens, dtype=torch.bool)
    seen: list[tuple[nn.Module, int, Tensor]] = []

    def look(block: nn.Module, arguments: tuple[Any, ...], output: Any) -> None:
        if arguments and isinstance(output, Tensor) and output.shape == arguments[0].shape:
            seen.append((block, network.made, arguments[0]))

    hooks = [block.register_forward_hook(look) for block in blocks]
    clean = network.logits_of(mask, input_ids=tokens)
    for hook in hooks:
        hook.remove()
    if [(block, made) for block, made, _ in seen] != [(block, place) for place, block in enumerate(blocks, start=1)]:
        return False
    try:
        return all(torch.equal(_again(network, blocks, at, hidden, tokens), clean) for at, (*_, hidden) in enumerate(seen))
    except Exception:  # whatever somebody's layer says when it misses what one below leaves for it
        return False


def _again(network: "PretrainedNetwork", blocks: Sequence[nn.Module], layer: int, hidden: Tensor, tokens: Tensor) -> Tensor:
    with beginning_at(network, blocks, layer, hidden):
        return network.logits_of(torch.ones_like(tokens, dtype=torch.bool), input_ids=tokens)
