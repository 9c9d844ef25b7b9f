"""The attention function for transformers, which calls the model's own attention function and adds hook points.

Legend: B batch, T tokens.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import eager_mask

from attest.core.errors import AttestError

PACKED = ("cu_seq_lens_q", "cu_seq_lens_k", "cu_seqlens")
"""Arguments that a forward pass has only if each row of a batch contains several texts, one after the other. Such a pass is
refused."""
NAME = "attest"
"""The name under which Attest's attention function is registered in transformers, once for all models."""


_RUNNING: ContextVar[Any] = ContextVar("running", default=None)


@contextmanager
def attending_through(model: PreTrainedModel, caller: Any) -> Iterator[None]:
    """Send every attention computation of a model to ``caller`` inside the ``with`` block.

    Args:
        caller: an object with two attributes: the method ``next_call()`` returns the ``AttentionCall`` that computes the next
            attention of the current forward pass, and ``real``, bool ``(B, T)``, is True at real tokens.
    """
    parts = [model, *(part for part in model.modules() if isinstance(part, PreTrainedModel))]
    stacks = {id(part.config): part for part in reversed(parts)}
    before, token = [(part, part.config._attn_implementation) for part in stacks.values()], _RUNNING.set(caller)
    try:
        for part in stacks.values():  # T5's encoder and decoder have a configuration of their own each
            part.set_attn_implementation(NAME)
        yield
    finally:
        _RUNNING.reset(token)
        for part, own in before:
            part.set_attn_implementation(own)


def _attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, Tensor]:
    """Compute the attention of one layer; add hook points if ``attending_through`` is active."""
    eager = getattr(sys.modules[type(module).__module__], "eager_attention_forward", None)
    if eager is None:
        raise AttestError(
            f"{type(module).__name__} has no eager attention (eager_attention_forward); expected a model of the library "
            "transformers with eager attention."
        )
    if any(options.get(name) is not None for name in PACKED):
        raise AttestError(
            f"{type(module).__name__} was given several texts in one row (packed, {PACKED[0]}), and no mask says which token "
            "belongs to which text; expected one text in each row, padded on the right."
        )
    caller = _RUNNING.get()
    if caller is None:
        return eager(module, query, key, value, attention_mask, **options)
    return caller.next_call().attend(eager, module, query, key, value, attention_mask, caller.real, **options)


AttentionInterface.register(NAME, _attention)
AttentionMaskInterface.register(NAME, eager_mask)
