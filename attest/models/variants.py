"""The predictions for variants of observed texts: without some tokens, with masked tokens, or with other tokens.

Variants of similar length are read together, so that little of a pass is padding. A model of transformers reads them with its
own attention implementation. A decoder reads a variant from its first changed token on.

Legend: B batch, N variants, T tokens, K classes.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor, nn

from attest.core.memory import by_rows, memory_budget
from attest.models.contract import decided
from attest.models.inputs import Inputs
from attest.models.observation import Observation
from attest.models.prediction import predictions_of
from attest.models.pretrained.network import PretrainedNetwork
from attest.models.traits import traits_of

ACTIVATIONS = 8
"""To estimate memory: the number of tensors of the size of the hidden states that exist at once while variants of texts are
read."""
PADDING = 0.05
"""The largest share of the tokens in a forward pass that may be wasted: padding, or first tokens whose results are cached
already. Variants of texts that would exceed it are read in another pass."""
LEAST_TOKENS, LEAST_OF_ACCELERATOR = 256, 1 << 16
"""The smallest number of tokens in a forward pass, on a CPU and on an accelerator. A smaller pass is slow, so it is filled up
with further variants of texts, whatever their lengths."""


PASSES: ContextVar[Callable[[int], object] | None] = ContextVar("passes", default=None)
"""A callback, called after each forward pass with the number of variants of texts that were read in it, to move a progress
bar; None for no callback."""


@contextmanager
def each_pass(told: Callable[[int], object]) -> Iterator[None]:
    """Inside the ``with`` block, call ``told`` after each pass of a model, with the number of variants that it has read."""
    before = PASSES.set(told)
    try:
        yield
    finally:
        PASSES.reset(before)


def attends_within(network: object) -> bool:
    """Return whether the tokens of a network attend to one another."""
    parts = network.modules() if isinstance(network, nn.Module) else [network]
    return any(getattr(part, "attends_within", False) for part in parts)


@contextmanager
def untouched(network: object) -> Iterator[None]:
    """Use a wrapped model's original attention implementation inside the ``with`` block, except during interventions."""
    with ExitStack() as stack:
        for part in network.modules() if isinstance(network, nn.Module) else ():
            if isinstance(part, PretrainedNetwork):
                stack.enter_context(part.untouched())
        yield


@torch.no_grad()
def read_each(observation: Observation, texts: Tensor, variants: Inputs, in_place: bool = False) -> Tensor:
    """Return the network's predictions for variants of texts, such as texts without some tokens.

    Args:
        observation: the observation of the batch that the texts come from.
        texts: int64 ``(N,)``, for each variant the row of its text in the batch.
        variants: N variants, whose mask is True at the tokens that are kept; if texts have questions, they are included.
        in_place: whether ``encode`` also gets the tokens that are not kept, so that only the later steps leave them out.
    Returns:
        ``(N, K)``, as ``predictions_of`` returns them; arbitrary for a variant that keeps no token.
    """
    kept = variants.mask.clone()
    kept[:, 0].logical_or_(~kept.any(dim=-1))  # networks read no empty text
    with untouched(observation.network):
        return _Variants(observation, texts, replace(variants, mask=kept), in_place).read()


@dataclass(frozen=True)
class _Variants:
    observation: Observation
    texts: Tensor
    variants: Inputs
    in_place: bool

    def read(self) -> Tensor:
        """Return predictions ``(N, K)`` for variants of texts; unchanged first tokens are read once if possible."""
        network: Any = self.observation.network
        kept = 2 * len(network.calls) * self.observation.hidden.nbytes if traits_of(network).goes_on else math.inf
        if len(self.texts) and kept <= memory_budget():
            own = self.observation.texts.rows(self.texts)
            same = (self.variants.columns == own.columns).all(dim=-1) & (self.variants.mask == own.mask)
            begins = torch.minimum(same.to(torch.uint8).cumprod(dim=-1).sum(dim=-1), self.lengths - 1)
            memory = self.observation.texts.read_by(network.remembering)
            found = self._in_pieces(begins, partial(self._going_on, memory))
            most = begins.argmax().view(1)
            if (found[most] - self._whole(most, int(self.lengths[most]), 0)).abs().max() <= self.observation.within:
                return found
        return self._in_pieces(torch.zeros_like(self.lengths), self._whole)

    @cached_property
    def lengths(self) -> Tensor:
        """Return the length of each variant up to its last kept token, int64 ``(N,)``."""
        kept = self.variants.mask
        return kept.shape[-1] - kept.flip(-1).to(torch.uint8).argmax(dim=-1)

    def _whole(self, rows: Tensor, longest: int, _begin: int) -> Tensor:
        network, size = self.observation.network, min(longest, self.observation.reach)
        read = self.variants.rows(rows).of_tokens(lambda column: self.observation.narrowed(column, size))
        left = read.mask
        if not self.in_place:
            read = read.blank(left | (torch.arange(left.shape[1], device=left.device) >= size))  # 0 stands at padding
        hidden = replace(read, mask=torch.ones_like(left) if self.in_place else left).read_by(network.encode)
        return predictions_of(network, decided(network, hidden, left, **read.beside))

    def _going_on(self, memory: Any, rows: Tensor, longest: int, begin: int) -> Tensor:
        network: Any = self.observation.network
        read = self.variants.rows(rows).of_tokens(lambda column: column[:, :longest])
        return predictions_of(network, read.read_by(network.going_on, memory, self.texts[rows], begin))

    def _in_pieces(self, begins: Tensor, read: Callable[[Tensor, int, int], Tensor]) -> Tensor:
        """Apply ``read`` to groups of variants of similar length, and return all results, ``(N, K)``.

        Args:
            begins: int64 ``(N,)``, how many first tokens of each variant are not read again.
            read: takes the rows of a group, their greatest length, and the least of their ``begins``.
        """
        order = (self.lengths * (self.variants.mask.shape[-1] + 1) + begins).argsort(descending=True, stable=True)
        lengths, begun = torch.stack([self.lengths, begins])[:, order].cpu()  # an accelerator is waited for here alone

        def of_rows(rows: Tensor, places: Tensor) -> Tensor:
            found = read(rows, int(lengths[places].max()), int(begun[places].min()))
            if (told := PASSES.get()) is not None:
                told(len(rows))
            return found

        pieces = [slice(0, len(order))]
        if attends_within(self.observation.network):
            pieces = [*_pieces(lengths, begun, order.device)]
        found = []
        for piece in pieces:
            bytes_a_row = self._bytes(int(lengths[piece.start]) if len(lengths) else 0)
            found.append(by_rows(of_rows, bytes_a_row, order[piece], torch.arange(piece.start, piece.stop)))
        return torch.cat(found)[order.argsort()]

    def _bytes(self, size: int) -> int:
        hidden = self.observation.hidden[0, :size]
        maps = 4 * size**2 * hidden.element_size() if attends_within(self.observation.network) else 0
        return self.observation.embedded[0, :size].nbytes + ACTIVATIONS * hidden.nbytes + maps


def _pieces(lengths: Tensor, begins: Tensor, device: torch.device) -> Iterator[slice]:
    """Yield slices that split variants of texts, which are sorted by length, into groups of similar length.

    Args:
        lengths, begins: int64 ``(N,)``, on the CPU.
        device: where the variants are read.
    """
    least = LEAST_TOKENS if device.type == "cpu" else LEAST_OF_ACCELERATOR
    kinds, counts = torch.stack([lengths, begins]).unique_consecutive(dim=1, return_counts=True)
    start = stop = new = width = longest = first = 0
    for length, begin, count in zip(*kinds.tolist(), counts.tolist(), strict=True):
        if start == stop:
            longest = first = length
        first = min(first, begin)
        columns, read = (stop + count - start) * (longest - first), new + count * (length - begin)
        if width >= least and read < (1 - PADDING) * columns:
            yield slice(start, stop)
            start, longest, first = stop, length, begin
            columns = read = count * (length - begin)
        stop, new, width = stop + count, read, columns
    yield slice(start, stop)
