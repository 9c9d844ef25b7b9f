"""The forward passes of a transformers model that start at a later layer, or at a later token of a decoder.

Interventions on the attention of a layer do not change the input of this layer. It is kept from one clean pass, and a changed
pass skips all layers before the first changed one.

No token of a decoder attends to a later one. Interventions on the last row of attention therefore change no key and no value
of earlier tokens: these are kept from one clean pass, and only the last token passes again. Likewise a variant of a text is
read from its first changed token on.

Legend: B batch, R rows to read again, G key-value groups, N heads, T tokens, D dimensions a head, H hidden, C logits.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Protocol, cast

import torch
from torch import Tensor, nn

from attest.core.memory import in_evaluation_mode
from attest.core.rounding import rounding
from attest.models.inputs import Inputs
from attest.models.layers_observed import beginning_at, entering
from attest.models.observation import hooked
from attest.models.pretrained.calls import AttentionCall, Memory, last_real
from attest.models.pretrained.passing import ForwardPass


class Resumable(Protocol):
    """What a wrapper of a model has, so that its forward passes can start later."""

    model: Any
    calls: nn.ModuleList
    current: ForwardPass

    @property
    def blocks(self) -> Mapping[str, nn.Module]: ...

    def __call__(self, tokens: Tensor, mask: Tensor, **beside: Tensor) -> Tensor: ...

    def logits_of(self, mask: Tensor, **inputs: Tensor) -> Tensor: ...


def blocks_of(network: Resumable, tokens: Tensor) -> list[nn.Module]:
    """Return the layers of a model in order; return none if a forward pass cannot start at every layer."""
    lists = (list(each) for each in network.model.modules() if isinstance(each, nn.ModuleList))
    with in_evaluation_mode(network.model):
        return next((each for each in lists if len(each) == len(network.calls) and _exact(network, each, tokens)), [])


@torch.no_grad()
def _exact(network: Resumable, blocks: Sequence[nn.Module], tokens: Tensor) -> bool:
    """Return whether a forward pass that starts at any layer gives the same logits as a whole pass."""
    mask = torch.ones_like(tokens, dtype=torch.bool)
    seen: list[tuple[nn.Module, int, Tensor]] = []

    def look(block: nn.Module, arguments: tuple[Any, ...], output: Any) -> None:
        hidden, *others = (output or (None,)) if isinstance(output, tuple) else (output,)
        network.current.beside = (None,) * len(others) if isinstance(output, tuple) else None
        entered = arguments[0] if arguments else None
        if isinstance(hidden, Tensor) and isinstance(entered, Tensor) and hidden.shape == entered.shape:
            seen.append((block, network.current.made, entered))

    with hooked(blocks, look):
        clean = network.logits_of(mask, input_ids=tokens)
    if [(block, made) for block, made, _ in seen] != [(block, place) for place, block in enumerate(blocks, start=1)]:
        return False

    def again(layer: int, hidden: Tensor) -> Tensor:
        with beginning_at(network.current, blocks, layer, hidden):
            return network.logits_of(mask, input_ids=tokens)

    try:
        return all(torch.equal(again(layer, hidden), clean) for layer, (*_, hidden) in enumerate(seen))
    except Exception:  # from somebody's layer that needs more than its input: whole passes then give the same numbers
        return False


class Kept:
    """A store of the keys, the values and the mask of one attention computation without interventions."""

    keys: Tensor
    values: Tensor
    support: Tensor | None

    def __call__(self, key: Tensor, value: Tensor, support: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        self.keys, self.values, self.support = key.detach(), value.detach(), support
        return key, value, support


def _recalling(kept: Kept, rows: Tensor, places: Tensor) -> Memory:
    """Return a function that puts the new keys and values of R last tokens into the stored ones, ``(R, G, T, D)``.

    ``rows`` and ``places``, int64 ``(R,)``, are the positions of these texts in the batch, and of the last token in each text.
    """

    def recall(key: Tensor, value: Tensor, _support: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        keys, values, row = kept.keys[rows], kept.values[rows], None
        for stored, own in ((keys, key), (values, value)):
            stored[torch.arange(len(own), device=own.device), :, places] = own[:, :, 0]
        if kept.support is not None:
            everyone = kept.support.expand(max(len(kept.support), len(kept.keys)), -1, -1, -1)
            row = everyone[rows, :, places].unsqueeze(2)
        return keys, values, row

    return recall


@torch.no_grad()
def last_token_of(network: Resumable, texts: Inputs) -> Callable[[Tensor], Tensor] | None:
    """Return a function that runs only the last token of each text; see ``PretrainedNetwork.from_the_last``."""
    if "position_ids" not in inspect.signature(network.model.forward).parameters:
        return None
    kept, places = [Kept() for _ in network.calls], last_real(texts.mask)
    with _remembering(network, kept), entering({} if _tampered(network) else network.blocks) as inputs:
        clean = texts.read_by(network)
    everyone = torch.arange(len(places), device=places.device)
    entered = [hidden[everyone, places].unsqueeze(1) for hidden in inputs.values()]

    @torch.no_grad()
    def again(rows: Tensor) -> Tensor:
        at = places[rows]
        last = texts.rows(rows).at(at.unsqueeze(-1))
        layer = min(_tampered(network), default=0)
        begun = (
            beginning_at(network.current, [*network.blocks.values()], layer, entered[layer][rows])
            if entered
            else nullcontext()
        )
        with _remembering(network, [_recalling(each, rows, at) for each in kept]), begun:
            return network.logits_of(last.mask, input_ids=last.tokens, position_ids=at.unsqueeze(-1), **last.beside)

    close = rounding(clean.dtype)  # beyond, another token was read
    return again if torch.allclose(again(everyone), clean, rtol=close, atol=close) else None


def _tampered(network: Resumable) -> list[int]:
    return [place for place, call in enumerate(network.calls) if cast(AttentionCall, call).replacements]


@contextmanager
def _remembering(network: Resumable, memories: Sequence[Memory]) -> Iterator[None]:
    calls = [cast(AttentionCall, call) for call in network.calls]
    try:
        for call, memory in zip(calls, memories, strict=True):
            call.memory = memory
        yield
    finally:
        for call in calls:
            call.memory = None
