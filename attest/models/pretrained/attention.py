"""The connection to models of transformers: one attention function runs the model's own and passes it through hook points.

Legend: B batch, N heads, G key-value groups, T tokens, D dimensions a head.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import eager_mask

from attest.core.attention import Softmax
from attest.core.attention.interventions import HookedModule
from attest.core.errors import AttestError
from attest.core.rounding import rounding

PACKED = ("cu_seq_lens_q", "cu_seq_lens_k", "cu_seqlens")
"""What a pass is told that has several texts in a row, one after the other."""
NAME = "attest"
"""Of our attention function, registered once for all models."""
Eager = Callable[..., tuple[Tensor, Tensor]]
"""A model's own attention, written out: what it returns are outputs ``(B, T, N, D)`` and weights ``(B, N, T, T)``."""


class Memory(Protocol):
    """A memory of what the tokens of earlier passes had in one call."""

    def completed(self, key: Tensor, value: Tensor, support: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """Map keys, values and mask of the pass to those that its queries attend to."""


class AttentionCall(HookedModule):
    """The nth time that attention is computed in a forward pass; a module that is used in many layers has many.

    Places: keys ``(B, G, T, D)``; values ``(B, N, T, D)``; edges, who may attend to whom, bool ``(B, 1, T, T)`` or
    ``(B, N, T, T)``; scores and weights ``(B, N, T, T)``, the last dimension being the one that is attended to. An edge that
    is taken out is masked before the model's own softmax; none can be added. Scores are the logarithms of the weights: the
    model's own up to a number a row, which no projection sees.
    """

    everywhere = True
    """Whether all tokens of a text may attend to one another, as far as has been seen."""
    causal = False
    """Whether none may attend to a later one."""

    def __init__(self) -> None:
        super().__init__()
        self.projection = Softmax()
        self.memory: Memory | None = None
        """What earlier tokens had here, where the last one alone passes; kept by ``attest.models.pretrained.resuming``."""
        self._seen = 0
        self._written_out = False
        """Whether outputs as we write them out have been held against the model's own."""

    def attend(
        self, eager: Eager, module: nn.Module, query: Tensor, key: Tensor, value: Tensor, support: Tensor | None, real: Tensor,
        **options: Any,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """Return outputs and weights, bit for bit the model's own if nothing is replaced.

        Args:
            eager: the model's own attention.
            module: that computes it.
            query, key, value: ``(B, N or G, T, D)``.
            support: as the model's mask has it: float, 0 where a row may attend, or None for everywhere.
            real: bool ``(B, T)``, True at real tokens.
            options: of the model's own attention: scaling, position bias and the like.
        """
        key = self.hook("keys", key, real)
        if self.memory is not None:
            key, value, support = self.memory.completed(key, value, support)
        support = self._with_edges(support, query, key, real)
        output, weights = eager(module, query, key, value, support, **options)
        self._look(weights, support, real)
        if not self.replacements:
            return output, weights
        own = value.repeat_interleave(weights.shape[1] // value.shape[1], dim=1)
        self._require_written_out(module, weights, own, output, real)
        values, tampered = self.hook("values", own, real), self._tampered(weights, support, real)
        if values is own and tampered is weights:
            return output, weights
        return (tampered @ values).transpose(1, 2).contiguous(), tampered

    def _with_edges(self, support: Tensor | None, query: Tensor, key: Tensor, real: Tensor) -> Tensor | None:
        """Return the model's mask without the edges that an intervention takes out."""
        if not any(point == "edges" for point, _ in self.replacements):
            return support
        if support is None:
            support = query.new_zeros(len(query), 1, query.shape[-2], key.shape[-2])
        allowed = allowed_by(support)
        left = self.hook("edges", allowed, real)
        if left is allowed:
            return support
        if not (left & allowed).any(dim=-1)[real_rows(real).squeeze(-1).expand(left.shape[:-1])].all():
            raise AttestError("a token was left without any edge; expected at least one token that it may attend to.")
        return support & left if support.dtype == torch.bool else support.masked_fill(~left, torch.finfo(support.dtype).min)

    def _require_written_out(self, module: nn.Module, weights: Tensor, values: Tensor, output: Tensor, real: Tensor) -> None:
        """Refuse, the first time, a model whose outputs are not its weights times its values.

        Raises:
            AttestError: they differ by more than rounding.
        """
        if self._written_out:
            return
        apart = ((weights @ values).transpose(1, 2) - output).detach().abs()[real].amax()
        if not apart <= rounding(output.dtype) * max(1.0, float(output.detach().abs()[real].amax())):
            raise AttestError(
                f"{type(module).__name__} makes something else of its attention than weights times values (up to "
                f"{float(apart):.1g} apart); expected a model whose attention can be written out. Ask for experiments that "
                "read attention and leave it as it is."
            )
        self._written_out = True

    def _look(self, weights: Tensor, support: Tensor | None, real: Tensor) -> None:
        """Note how many heads there are, and who may attend: once, but longer texts may reach beyond a window."""
        longest = int(last_real(real).max()) + 1
        if self.heads is None or (self.everywhere and longest > self._seen):
            self.heads, self._seen = weights.shape[1], longest
            self.everywhere = support is None or _all_may_attend(allowed_by(support).expand_as(weights), real)
            self.causal = support is not None and not allowed_by(support).triu(1).any()

    def _tampered(self, weights: Tensor, support: Tensor | None, real: Tensor) -> Tensor:
        allowed = torch.ones_like(weights, dtype=torch.bool) if support is None else allowed_by(support).expand_as(weights)
        exact = weights.float() if weights.dtype.itemsize < 4 else weights  # the logarithm of a half has but three digits
        logarithms = exact.clamp(min=torch.finfo(exact.dtype).tiny).log()
        scores, projection = self.hook("scores", logarithms, real), self.hook("projection", self.projection, real)
        if scores is not logarithms or projection is not self.projection:
            weights = _projected(projection, scores, allowed, exact, rounding(weights.dtype)).to(weights.dtype)
        replaced = self.hook("weights", weights, real)
        if replaced is not weights and not self.everywhere and (replaced.detach().where(~allowed, 0) * real_rows(real)).any():
            raise AttestError(
                "a token was made to attend to one that the model's mask excludes, such as a later one in a decoder or a "
                "distant one in a sliding window; expected attention within the mask."
            )
        return replaced


def last_real(mask: Tensor) -> Tensor:
    """Return the place of the last real token, whatever is left out before it: bool ``(B, T)`` -> int64 ``(B,)``."""
    return mask.shape[-1] - 1 - mask.flip(-1).to(torch.uint8).argmax(dim=-1)


def allowed_by(support: Tensor) -> Tensor:
    """Return where a row may attend, bool, from a mask that is added to scores or is bool itself."""
    return support if support.dtype == torch.bool else support > torch.finfo(support.dtype).min / 2


def real_rows(real: Tensor) -> Tensor:
    """Return where rows of real tokens are, ``(B, T)`` -> ``(B, 1, T, 1)``."""
    return real[:, None, :, None]


def _all_may_attend(allowed: Tensor, real: Tensor) -> bool:
    return bool((allowed == real[:, None, None])[real.unsqueeze(1).expand(allowed.shape[:-1])].all())


def _projected(projection: Any, scores: Tensor, allowed: Tensor, weights: Tensor, within: float) -> Tensor:
    """Return the weights under a projection. A learned sink takes part as one more column, which is dropped afterwards.

    Args:
        within: what rounding alone may take from the sum of a row.
    """
    allowed = allowed | ~allowed.any(dim=-1, keepdim=True)  # padding whose window holds nothing but padding
    sink = 1 - weights.sum(dim=-1, keepdim=True)
    if sink.max() <= within:
        return projection(scores, allowed)
    with_sink = torch.cat([scores, sink.clamp(min=torch.finfo(sink.dtype).tiny).log()], dim=-1)
    return projection(with_sink, torch.cat([allowed, torch.ones_like(allowed[..., :1])], dim=-1))[..., :-1]


class Caller(Protocol):
    """A network that knows the calls of the forward pass that runs."""

    def next_call(self, module: nn.Module) -> AttentionCall:
        """Return the call that a module makes now."""

    @property
    def real(self) -> Tensor:
        """bool ``(B, T)``: True at real tokens."""


_RUNNING: ContextVar[Caller | None] = ContextVar("running", default=None)


@contextmanager
def attending_through(model: PreTrainedModel, caller: Caller) -> Iterator[None]:
    """Let the attention of a model pass through the calls of one network, for as long as the block lasts."""
    before, token = model.config._attn_implementation, _RUNNING.set(caller)
    try:
        model.set_attn_implementation(NAME)
        yield
    finally:
        _RUNNING.reset(token)
        model.set_attn_implementation(before)


def _attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, Tensor]:
    """Attend as transformers asks for every layer of a model that is set to ``NAME``."""
    eager = getattr(sys.modules[type(module).__module__], "eager_attention_forward", None)
    if eager is None:
        raise AttestError(
            f"{type(module).__name__} has no eager attention (eager_attention_forward); expected a model of the library "
            "transformers that has it."
        )
    if any(options.get(name) is not None for name in PACKED):
        raise AttestError(
            f"{type(module).__name__} was given several texts in one row (packed, {PACKED[0]}), and no mask says which token "
            "belongs to which text; expected one text in each row, padded on the right."
        )
    caller = _RUNNING.get()
    if caller is None:
        return eager(module, query, key, value, attention_mask, **options)
    return caller.next_call(module).attend(eager, module, query, key, value, attention_mask, caller.real, **options)


AttentionInterface.register(NAME, _attention)
AttentionMaskInterface.register(NAME, eager_mask)
