"""The computations of attention in a forward pass of other people's models, with their hook points.

Legend: B batch, N heads, G key-value groups, T tokens, D dimensions a head.
"""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn

from attest.core.attention import Projection, Softmax
from attest.core.attention.interventions import HookedModule, HookPoint
from attest.core.errors import AttestError
from attest.core.rounding import rounding

FAR = 1000.0
"""Scores that are further below the largest score of their row than this belong to masked tokens: their softmax weight is 0 in
any floating-point precision."""
Eager = Callable[..., tuple[Tensor, Tensor]]
"""A model's own attention function that computes weights explicitly; it returns outputs ``(B, T, N, D)`` and weights ``(B, N,
T, T)``."""


Memory = Callable[[Tensor, Tensor, Tensor | None], tuple[Tensor, Tensor, Tensor | None]]
"""A function from the keys, values and attention mask of one attention computation to those that are used in their place. One
such function only stores them for later passes; another adds new ones to the stored ones."""
Attend = Callable[[slice], tuple[Tensor, Tensor]]
"""A function that computes one attention again for some of its rows (queries), which a slice selects: it returns outputs
``(B, Q, N, D)`` and weights ``(B, N, Q, S)``, for Q queries and S keys."""


class Look:
    """A record of all attention weights in one forward pass; it adds no hook points."""

    real = torch.ones(1, 1, dtype=torch.bool)

    def __init__(self) -> None:
        self.seen: list[Tensor] = []

    def next_call(self) -> "AttentionCall":
        return cast(AttentionCall, self)

    def attend(
        self, eager: Eager, module: Any, query: Tensor, key: Tensor, value: Tensor, support: Tensor | None, _real: Tensor,
        **options: Any,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        def rows_of(rows: slice) -> tuple[Tensor, Tensor]:
            allowed = None if support is None else support[:, :, rows]
            return eager(module, query[:, :, rows], key, value, allowed, **options)

        return self.seen_of(rows_of)

    def seen_of(self, attend: Attend) -> tuple[Tensor, Tensor | None]:
        output, weights = attend(slice(None))
        self.seen.append(weights)
        return output, weights


class AttentionCall(HookedModule):
    """The hook points of one attention computation: the nth in every forward pass of a model.

    An intervention sees keys ``(B, G, T, D)``; values and outputs ``(B, N, T, D)``; edges (who may attend to whom), bool
    ``(B, 1, T, T)`` or ``(B, N, T, T)``; scores and weights ``(B, N, T, T)``, the last dimension being attended to. A removed
    edge is masked before the model's softmax; no edge can be added. Scores are the logarithms of the weights. In each row they
    differ from the model's own scores by a constant, which does not change the result of any projection.
    """

    everywhere = True
    """Whether each token of a text may attend to all tokens of the text, as in an encoder, according to the passes so far."""
    causal = False
    """Whether no token may attend to a later one, as in a decoder, according to the passes so far."""
    shows_values = True
    """Whether the model's keys and values are seen and can be changed. False if only its softmax is reached: then values
    cannot be changed, and keys can only be exchanged between tokens, in an encoder."""
    windows = 1
    """The number of windows into which each text is cut; the windows of a text follow one another in the batch. Interventions
    see the heads of all windows as heads of one text."""

    def __init__(self) -> None:
        super().__init__()
        self.projection: Projection = Softmax()
        """The function that turns scores into attention weights. A function other than ``Softmax`` replaces the softmax of the
        model in every pass."""
        self.memory: Memory | None = None
        """In a pass that reads only the last token of each text: the function that adds the cached keys, values and mask of
        the earlier tokens. None in other passes. ``attest.models.pretrained.resuming`` sets it."""
        self._seen = 0
        self._written_out = False
        """Whether a first pass with changed attention has checked that the model's attention output is the product of weights
        and values."""

    @property
    def exchanged(self) -> bool:
        """Return whether another projection stands in the place of the model's softmax."""
        return not isinstance(self.projection, Softmax)

    def hook(self, point: HookPoint, value: Any, mask: Tensor) -> Any:
        """Apply interventions at a hook point; the heads of all W windows of a text are joined, ``(B, W N, …)``."""
        if self.windows == 1 or point == "projection" or all(where != point for where, _ in self.replacements):
            return super().hook(point, value, mask)
        whole = super().hook(point, value.unflatten(0, (-1, self.windows)).flatten(1, 2), mask)
        return whole.unflatten(1, (self.windows, -1)).flatten(0, 1)

    def attend(
        self, eager: Eager, module: nn.Module, query: Tensor, key: Tensor, value: Tensor, support: Tensor | None, real: Tensor,
        **options: Any,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """Compute attention outputs and weights; without interventions, they are identical to those of the model.

        Args:
            query, key, value: ``(B, N or G, T, D)``.
            support: the model's attention mask: float, 0 where a row may attend; None if all rows may attend everywhere.
            real: bool ``(B, T)``, True at real tokens.
        """
        key = self.hook("keys", key, real)
        if self.memory is not None:
            key, value, support = self.memory(key, value, support)
        support = self._with_edges(support, query, key, real)
        output, weights = eager(module, query, key, value, support, **options)
        self._look(weights, support, real)
        if self.exchanged or any(point != "outputs" for point, _ in self.replacements):
            own = value.repeat_interleave(weights.shape[1] // value.shape[1], dim=1)
            self._require_written_out(module, weights, own, output, real)
            values, tampered = self.hook("values", own, real), self._tampered(weights, support, real)
            if values is not own or tampered is not weights:
                output, weights = (tampered @ values).transpose(1, 2).contiguous(), tampered
        if any(point == "outputs" for point, _ in self.replacements):
            output = self.hook("outputs", output.transpose(1, 2), real).transpose(1, 2).contiguous()
        return output, weights

    def handed_on(self, outputs: Tensor, real: Tensor) -> Tensor:
        """Apply interventions to the joined outputs of all heads, ``(B, T, N D)``, and return them in the same shape."""
        assert self.heads is not None
        by_heads = outputs.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        return self.hook("outputs", by_heads, real).transpose(1, 2).flatten(2)

    def attend_by_softmax(self, softmax: Callable[[Tensor], Tensor], scores: Tensor, real: Tensor) -> Tensor:
        """Compute attention weights ``(B, N, T, T)``; without interventions, they are identical to the model's weights.

        An intervention on keys gets unit vectors in place of keys; the columns of the scores are reordered in the same way.

        Args:
            scores: ``(B, N, T, T)``; the scores of tokens to which a row may not attend are far below the others.
            real: bool ``(B, T)``, True at real tokens.
        """
        self.shows_values = False
        hooked = {point for point, _ in self.replacements}
        if "values" in hooked or ("keys" in hooked and not self.everywhere):
            raise AttestError(
                "Attest can read the attention weights of this model, but not its keys and values; expected experiments "
                "that need no keys and values. Leave out E13. For a decoder, leave out E9 too."
            )
        if "keys" in hooked:
            units = torch.eye(scores.shape[-1]).to(scores).expand(len(scores), 1, -1, -1)
            moved = self.hook("keys", units, real).argmax(dim=-1, keepdim=True).mT
            scores = scores.gather(-1, moved.expand_as(scores))
        allowed = scores >= scores.amax(dim=-1, keepdim=True) - FAR
        if "edges" in hooked:
            left = self._left(allowed, real)
            scores, allowed = scores.masked_fill(~left, torch.finfo(scores.dtype).min), allowed & left
        weights = softmax(scores)
        self._look(weights, allowed, real)
        return self._tampered(weights, allowed, real) if self.exchanged or self.replacements else weights

    def _with_edges(self, support: Tensor | None, query: Tensor, key: Tensor, real: Tensor) -> Tensor | None:
        if not any(point == "edges" for point, _ in self.replacements):
            return support
        if support is None:
            support = query.new_zeros(len(query), 1, query.shape[-2], key.shape[-2])
        left = self._left(allowed_by(support), real)
        return support & left if support.dtype == torch.bool else support.masked_fill(~left, torch.finfo(support.dtype).min)

    def _left(self, allowed: Tensor, real: Tensor) -> Tensor:
        left = self.hook("edges", allowed, real)
        if not (left & allowed).any(dim=-1)[real_rows(real).squeeze(-1).expand(left.shape[:-1])].all():
            raise AttestError("a token may not attend to any token; expected at least one token to which it may attend.")
        return left

    def _require_written_out(self, module: nn.Module, weights: Tensor, values: Tensor, output: Tensor, real: Tensor) -> None:
        if self._written_out:
            return
        apart = ((weights @ values).transpose(1, 2) - output).detach().abs()[real].amax()
        if not apart <= rounding(output.dtype) * max(1.0, float(output.detach().abs()[real].amax())):
            raise AttestError(
                f"{type(module).__name__} does not return attention weights times values (difference: up to "
                f"{float(apart):.1g}); expected a model that returns this product. Ask only for experiments that do not "
                "change attention."
            )
        self._written_out = True

    def _look(self, weights: Tensor, support: Tensor | None, real: Tensor) -> None:
        """Record the number of heads, and whether tokens may attend to all tokens or only to earlier ones."""
        longest = int(last_real(real).max()) + 1
        if self.heads is None or (self.everywhere and longest > self._seen):
            self.heads, self._seen = weights.shape[1], longest
            self.everywhere, self.causal = True, False
            if support is not None:
                allowed = allowed_by(support)
                asked = real.unsqueeze(1).expand(weights.shape[:-1])
                self.everywhere = bool((allowed.expand_as(weights) == real[:, None, None])[asked].all())
                self.causal = not allowed.triu(1).any()

    def _tampered(self, weights: Tensor, support: Tensor | None, real: Tensor) -> Tensor:
        allowed = torch.ones_like(weights, dtype=torch.bool) if support is None else allowed_by(support).expand_as(weights)
        exact = weights.float() if weights.dtype.itemsize < 4 else weights  # the logarithm of a half has but three digits
        logarithms = exact.clamp(min=torch.finfo(exact.dtype).tiny).log()
        scores, projection = self.hook("scores", logarithms, real), self.hook("projection", self.projection, real)
        if self.exchanged or scores is not logarithms or projection is not self.projection:
            weights = _projected(projection, scores, allowed, exact, rounding(weights.dtype)).to(weights.dtype)
        replaced = self.hook("weights", weights, real)
        if replaced is not weights and not self.everywhere and (replaced.detach().where(~allowed, 0) * real_rows(real)).any():
            raise AttestError(
                "the changed attention gives weight to tokens that the attention mask excludes, such as later tokens in a "
                "decoder or distant tokens in a sliding window; expected the weight 0 at these tokens."
            )
        return replaced


def last_real(mask: Tensor) -> Tensor:
    """Return the index of each text's last token that is no padding: bool ``(B, T)`` -> int64 ``(B,)``."""
    return mask.shape[-1] - 1 - mask.flip(-1).to(torch.uint8).argmax(dim=-1)


def allowed_by(support: Tensor) -> Tensor:
    """Convert an attention mask, bool or additive, to bool, True where attention is allowed."""
    return support if support.dtype == torch.bool else support > torch.finfo(support.dtype).min / 2


def real_rows(real: Tensor) -> Tensor:
    """Reshape a mask of real tokens so that it selects rows of attention, ``(B, T)`` -> ``(B, 1, T, 1)``."""
    return real[:, None, :, None]


def _projected(projection: Any, scores: Tensor, allowed: Tensor, weights: Tensor, within: float) -> Tensor:
    """Compute attention weights from scores by a projection such as softmax; a learned sink gets part of the weight."""
    allowed = allowed | ~allowed.any(dim=-1, keepdim=True)  # padding whose window holds nothing but padding
    sink = 1 - weights.sum(dim=-1, keepdim=True)
    if sink.max() <= within:
        return projection(scores, allowed)
    with_sink = torch.cat([scores, sink.clamp(min=torch.finfo(sink.dtype).tiny).log()], dim=-1)
    return projection(with_sink, torch.cat([allowed, torch.ones_like(allowed[..., :1])], dim=-1))[..., :-1]
