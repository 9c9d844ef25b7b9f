"""The hook points for models without transformers' ``AttentionInterface``, which are added to softmax functions.

A model that does not attend through transformers' ``AttentionInterface`` (DeBERTa, MPNet, Bloom, ``nn.TransformerEncoder``)
computes its attention by ``softmax`` or ``scaled_dot_product_attention``. ``Softmaxes`` sees every call of the two in a
forward pass. Those that give every token a row of weights over the tokens pass through hook points. The input of the next
linear layer is taken for the outputs of the heads; ``PretrainedNetwork.shows_outputs`` says whether that is right.

Legend: B batch, N heads, T tokens, D dimensions a head.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from attest.core.errors import AttestError
from attest.models.pretrained.calls import AttentionCall
from attest.models.pretrained.passing import ForwardPass

SOFTMAXES = (functional.softmax, torch.softmax, Tensor.softmax)


class Softmaxes(TorchFunctionMode):
    """A PyTorch function mode that adds hook points to each softmax that computes attention.

    The mode does not see the calls that a function makes internally. ``scaled_dot_product_attention`` and
    ``multi_head_attention_forward`` call softmax internally, so the mode computes these two functions itself, step by step.
    """

    def __init__(self, current: ForwardPass) -> None:
        super().__init__()
        self.current = current
        self.found: list[bool] = []
        """For every softmax call of the pass so far, whether its result has the shape of attention: for each token, a row of
        weights over all tokens."""
        self._taken = 0
        self._just_attended: AttentionCall | None = None
        """The attention computation whose head outputs an intervention changes. They are changed where the next linear layer
        reads them, so this is None again after that layer, and if there is nothing to change."""

    def __torch_function__(
        self, function: Callable[..., Any], _types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        given = dict(kwargs or {})
        if function in SOFTMAXES:
            return self._softmax(function, args, given)
        if function is functional.scaled_dot_product_attention:
            return self._sdpa(*args, **given)
        if function is functional.linear and self._just_attended is not None:
            return self._linear(self._just_attended, *args, **given)
        if function is functional.multi_head_attention_forward:
            return self._multihead(*args, **given)
        return function(*args, **given)

    def _softmax(self, function: Callable[..., Tensor], arguments: Sequence[Any], options: dict[str, Any]) -> Tensor:
        scores = arguments[0] if arguments else options.pop("input")
        rest = arguments[1:]
        dim = rest[0] if rest else options.get("dim")

        def own(values: Tensor) -> Tensor:
            return function(values, *rest, **options)

        as_heads = None if dim not in (-1, scores.ndim - 1) else self._by_heads(scores)
        if not self._is_attention(as_heads is not None):
            return own(scores)
        assert as_heads is not None
        call = self.current.next_call()
        weights = call.attend_by_softmax(own, as_heads, self.current.real)
        self._just_attended = call if any(point == "outputs" for point, _ in call.replacements) else None
        return weights.reshape(scores.shape)

    def _linear(self, call: AttentionCall, input: Tensor, *parameters: Any, **named: Any) -> Tensor:
        self._just_attended = None
        real = self.current.real
        if input.ndim == 3 and input.shape[:2] == real.shape and input.shape[-1] % (call.heads or 1) == 0:
            input = call.handed_on(input, real)
        return functional.linear(input, *parameters, **named)

    def _by_heads(self, scores: Tensor) -> Tensor | None:
        """Return scores ``(B N, T, T)`` or ``(B, N, T, T)`` as ``(B, N, T, T)``; return None for any other shape."""
        texts, tokens = self.current.real.shape
        if scores.ndim not in (3, 4) or scores.shape[-2:] != (tokens, tokens):
            return None
        if scores.ndim == 4:
            return scores if len(scores) == texts else None
        return scores.unflatten(0, (texts, -1)) if len(scores) % texts == 0 else None

    def _is_attention(self, fits: bool) -> bool:
        """Count this call of softmax, and return whether the call computes attention."""
        places = self.current.attends_at or ()
        if places and self.current.made != self._taken:  # the pass began at a later layer
            self.found = [False] * places[self.current.made]
        place = len(self.found)
        self.found.append(fits)
        taken = place in places
        if taken and not fits:
            raise AttestError(
                f"{type(self.current.model).__name__} did not compute the attention that it computed in its first pass; "
                "expected the same softmaxes in every pass."
            )
        self._taken = self.current.made + taken
        return taken

    def _sdpa(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
        is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        texts, tokens = self.current.real.shape
        fits = query.ndim == 4 and len(query) == texts and query.shape[-2] == key.shape[-2] == tokens
        if not self._is_attention(fits):
            return functional.scaled_dot_product_attention(
                query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
            )
        support = torch.ones(tokens, tokens, dtype=torch.bool, device=query.device).tril() if is_causal else attn_mask
        if support is not None:
            support = support.expand(texts, 1 if support.ndim < 4 else -1, tokens, tokens)
        scaling = query.shape[-1] ** -0.5 if scale is None else scale
        output, _ = self.current.next_call().attend(
            _written_out, self.current.model, query, key, value, support, self.current.real, scaling=scaling, dropout=dropout_p
        )
        return output.transpose(1, 2)

    def _multihead(
        self, query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int,
        in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Any, bias_v: Any, add_zero_attn: bool,
        dropout_p: float, out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True,
        key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: Tensor | None = None,
        use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None,
        v_proj_weight: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False, **others: Any,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """Compute ``multi_head_attention_forward`` for inputs ``(T, B, H)``, with hook points in its attention."""
        if add_zero_attn or bias_k is not None or bias_v is not None or any(each is not None for each in others.values()):
            raise AttestError(
                "nn.MultiheadAttention attends to a vector that is not a token (add_zero_attn, add_bias_kv); expected "
                "attention over tokens only."
            )
        if query.ndim != 3:
            raise AttestError(
                f"nn.MultiheadAttention got a query with {query.ndim} dimensions; expected 3 dimensions, a batch of texts."
            )
        together = () if in_proj_weight is None else in_proj_weight.chunk(3)
        weights: Any = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else together
        biases: Any = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
        projected = map(functional.linear, (query, key, value), weights, biases)
        by_heads = [each.unflatten(-1, (num_heads, -1)).permute(1, 2, 0, 3) for each in projected]
        support = _joined(attn_mask, key_padding_mask, len(query), num_heads, query)
        attended = self._sdpa(by_heads[0], by_heads[1], by_heads[2], support, dropout_p if training else 0.0)
        output = functional.linear(attended.permute(2, 0, 1, 3).flatten(2), out_proj_weight, out_proj_bias)
        return output, None


def _joined(mask: Tensor | None, padding: Tensor | None, tokens: int, heads: int, like: Tensor) -> Tensor | None:
    """Combine both masks of ``nn.MultiheadAttention`` into one additive mask with four dimensions."""
    added = []
    for each in (mask, None if padding is None else padding[:, None, None]):
        if each is not None:
            each = each.unflatten(0, (-1, heads)) if each.ndim == 3 else each
            added.append(each if each.is_floating_point() else like.new_zeros(each.shape).masked_fill(each, -torch.inf))
    return None if not added else sum(added[1:], added[0])


def _written_out(
    _module: nn.Module, query: Tensor, key: Tensor, value: Tensor, support: Tensor | None, scaling: float, dropout: float
) -> tuple[Tensor, Tensor]:
    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
    scores = query @ key.mT * scaling
    if support is not None:
        scores = scores.masked_fill(~support, -torch.inf) if support.dtype == torch.bool else scores + support
    weights = functional.dropout(scores.softmax(dim=-1), dropout)
    return (weights @ value).transpose(1, 2), weights
