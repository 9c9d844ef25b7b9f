"""The last token of a decoder, read again and again while all before it are read once: they never look ahead to it.

Whatever is done to the last row of attention alone changes no key and no value of an earlier token. So these are kept from one
clean pass, and only the last token goes through the layers anew: T times less work, and the same numbers. Nor does it change
what the last token is below the first layer that is tampered with, so that it begins there.

Legend: B batch, R rows to read again, G key-value groups, N heads, T tokens, D dimensions a head, H hidden, C logits.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor

from attest.core.rounding import rounding
from attest.models.layers_observed import entering
from attest.models.pretrained.attention import AttentionCall, Memory, last_real

if TYPE_CHECKING:
    from attest.models.pretrained.network import PretrainedNetwork


class Kept:
    """Keys, values and mask of a clean pass, as they come to one call."""

    keys: Tensor
    values: Tensor
    support: Tensor | None

    def completed(self, key: Tensor, value: Tensor, support: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """They pass unchanged."""
        self.keys, self.values, self.support = key.detach(), value.detach(), support
        return key, value, support


class Recalled:
    """What was kept for some rows, with the last token's own key and value in their place.

    Args:
        kept: of this call.
        rows, places: int64 ``(R,)``: which texts of the batch, and where their last token stands.
    """

    def __init__(self, kept: Kept, rows: Tensor, places: Tensor) -> None:
        self.kept, self.rows, self.places = kept, rows, places

    def completed(self, key: Tensor, value: Tensor, support: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """``(R, G, 1, D)`` -> ``(R, G, T, D)``, and the last row ``(R, 1 or N, 1, T)`` of the model's mask."""
        return self._among(self.kept.keys, key), self._among(self.kept.values, value), self._row()

    def _among(self, kept: Tensor, own: Tensor) -> Tensor:
        all_of_them = kept[self.rows]
        all_of_them[torch.arange(len(own), device=own.device), :, self.places] = own[:, :, 0]
        return all_of_them

    def _row(self) -> Tensor | None:
        support = self.kept.support
        if support is None:
            return None
        everyone = support.expand(max(len(support), len(self.kept.keys)), -1, -1, -1)
        return everyone[self.rows, :, self.places].unsqueeze(2)


@torch.no_grad()
def last_token_of(network: "PretrainedNetwork", tokens: Tensor, mask: Tensor) -> Callable[[Tensor], Tensor] | None:
    """As ``PretrainedNetwork.from_the_last`` has it."""
    if "position_ids" not in inspect.signature(network.model.forward).parameters:
        return None
    kept, places = [Kept() for _ in network.calls], last_real(mask)
    with _remembering(network, kept), entering({} if _tampered(network) else network.blocks) as inputs:
        clean = network(tokens, mask)
    everyone = torch.arange(len(tokens), device=tokens.device)
    entered = [hidden[everyone, places].unsqueeze(1) for hidden in inputs.values()]

    @torch.no_grad()
    def again(rows: Tensor) -> Tensor:
        at = places[rows]
        one = torch.ones_like(rows, dtype=torch.bool).unsqueeze(-1)
        layer = min(_tampered(network), default=0)
        begun = network.beginning_at(layer, entered[layer][rows]) if entered else nullcontext()
        with _remembering(network, [Recalled(each, rows, at) for each in kept]), begun:
            return network.logits_of(one, input_ids=tokens[rows, at].unsqueeze(-1), position_ids=at.unsqueeze(-1))

    close = rounding(clean.dtype)  # beyond, another token was read
    return again if torch.allclose(again(everyone), clean, rtol=close, atol=close) else None


def _tampered(network: "PretrainedNetwork") -> list[int]:
    """Places of the calls with an intervention in force."""
    return [place for place, call in enumerate(network.calls) if cast(AttentionCall, call).replacements]


@contextmanager
def _remembering(network: "PretrainedNetwork", memories: Sequence[Memory]) -> Iterator[None]:
    """Let the nth call of a pass remember by the nth memory, until the block ends."""
    calls = [cast(AttentionCall, call) for call in network.calls]
    try:
        for call, memory in zip(calls, memories, strict=True):
            call.memory = memory
        yield
    finally:
        for call in calls:
            call.memory = None
