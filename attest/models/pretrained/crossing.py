"""The wrapper of an encoder-decoder model (BART, T5), whose cross-attention in the deciding step is evaluated.

Each head of each decoder layer has one row of weights, from the deciding step to the tokens of the text. Attention within the
encoder and within the decoder does not change.

Legend: B batch, N heads, G key-value groups, Q tokens of the decoder, T tokens of the text, D dimensions a head, H hidden, C
logits, V vocabulary.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from attest.core.errors import AttestError, refusing
from attest.core.kinds import CLASSES, Kind
from attest.core.memory import in_evaluation_mode
from attest.models.inputs import Inputs
from attest.models.pretrained.calls import AttentionCall, Eager, Look, last_real
from attest.models.pretrained.network import PretrainedNetwork, embeddings_of
from attest.models.pretrained.passing import ForwardPass

if TYPE_CHECKING:
    from transformers import PreTrainedModel

ASKED = 3
"""In the pass that looks for cross-attention, the decoder reads this many tokens, and the text has another number of tokens.
So the shape of the weights tells cross-attention from self-attention."""
EXPECTED = "expected a model whose decoder attends to its encoder through transformers' AttentionInterface, such as BART or T5"


class CrossCall(AttentionCall):
    """The nth cross-attention of a forward pass; interventions change only the decoder step that decides the class.

    An intervention sees keys ``(B, G, T, D)``; values ``(B, N, T, D)``; scores and weights ``(B, N, 1, T)``.
    """

    def __init__(self, current: "CrossingPass") -> None:
        super().__init__()
        self._current = current

    def attend(
        self, eager: Eager, module: nn.Module, query: Tensor, key: Tensor, value: Tensor, support: Tensor | None, real: Tensor,
        **options: Any,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        output, weights = eager(module, query, key, value, support, **options)
        self.heads = weights.shape[1]
        if not self.replacements:
            return output, weights
        everyone = torch.arange(len(weights), device=weights.device)
        place = self._current.deciding_step(query.shape[-2])
        row, left = _row(weights, everyone, place), output[everyone, place]
        every = value.repeat_interleave(weights.shape[1] // value.shape[1], dim=1)
        self._require_written_out(module, row, every, left.unsqueeze(1), torch.ones_like(real[:, :1]))
        moved = self.hook("keys", key, real)
        own = row if moved is key else _row(eager(module, query, moved, value, support, **options)[1], everyone, place)
        allowed = None if support is None else _row(support.expand(len(weights), -1, -1, -1), everyone, place)
        tampered, values = self._tampered(own, allowed, real), self.hook("values", every, real)
        if tampered is row and values is every:
            return output, weights
        output = output.clone()
        output[everyone, place] = (tampered @ values).squeeze(2)
        return output, weights


def _row(values: Tensor, texts: Tensor, place: Tensor) -> Tensor:
    return values[texts, :, place].unsqueeze(2)


class CrossingPass(ForwardPass):
    """The forward pass of an encoder-decoder.

    Args:
        generates: whether the model is a language model, which decides by its first generated token.
    """

    def __init__(self, model: nn.Module, calls: nn.ModuleList, generates: bool) -> None:
        super().__init__(model, calls)
        self.generates = generates
        self.places: list[int | None] = []
        """For each attention computation of a pass, in order: the index in ``calls`` of its hook points if it is
        cross-attention; None if it is self-attention."""

    def next_call(self) -> AttentionCall:
        place = self.next_of(self.places)
        return cast(AttentionCall, Look() if place is None else self.calls[place])

    def deciding_step(self, steps: int) -> Tensor:
        """Return the index of the decoder step that decides each text's class, int64 ``(B,)``."""
        if self.generates:
            return torch.full_like(self.real[:, 0], steps - 1, dtype=torch.int64)
        return last_real(self.real)


class CrossingNetwork(PretrainedNetwork):
    """An encoder-decoder classifier, or an encoder-decoder language model that decides by its first generated token.

    Args:
        model: a classifier with logits ``(B, C)``, whose decoder reads the text again and decides at its last token, as in
            BART; or, if ``answers`` are given, a language model with logits ``(B, Q, V)`` of the next token.
        padding, masked, typed, kind, squashed: as in ``PretrainedNetwork``.
        answers: C token ids, in class order; empty for a classifier.
    Raises:
        AttestError: the model's cross-attention cannot be reached, or its settings name no first token for the decoder.
    """

    attends_everywhere = True
    """Whether each row of attention may attend to all tokens of the text: yes, as every step of the decoder attends to the
    whole text."""
    looks_back = False
    moves_keys = True
    shows_values = True
    shows_outputs = False
    crosses = True

    def __init__(
        self, model: Any, padding: int = 0, masked: int | None = None, typed: bool = False, kind: Kind = CLASSES,
        squashed: bool = False, answers: Sequence[int] = (),
    ) -> None:  # fmt: skip
        self._answers = list(answers)
        self._begin = _begin_of(model) if answers else []
        super().__init__(model, padding, masked, typed, kind, squashed)

    @property
    def about(self) -> str:
        """Return a sentence that says which attention Attest evaluates."""
        return (
            f"{type(self.model).__name__} has an encoder and a decoder: on trial is the cross-attention of the step that "
            f"decides, one row over the text in each head of {len(self.calls)} layers; attention within the encoder and "
            "within the decoder stays as it is."
        )

    @property
    def embeddings(self) -> nn.Embedding:
        return embeddings_of(self.model.get_encoder())

    @property
    def blocks(self) -> Mapping[str, nn.Module]:
        return {}

    def _forward_pass(self) -> CrossingPass:
        return CrossingPass(self.model, self.calls, bool(self._answers))

    def deciding(self, mask: Tensor) -> Tensor:
        """Return the weight of each token in the decision, ``(B, T)``: 1 at the last one; all 0 for a language model."""
        return torch.zeros(mask.shape, device=mask.device) if self._answers else super().deciding(mask)

    def sides(self, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return bool masks of attention rows, ``(B, 1, 1)``, and columns, ``(B, 1, T)``, that belong to real tokens."""
        return torch.ones_like(mask[:, :1]).unsqueeze(1), mask.unsqueeze(1)

    def explained(self, attention: Mapping[str, Tensor], texts: Inputs, predicted: Tensor) -> Tensor:
        """Return the mean cross-attention ``(B, T)``, over heads and layers, of the decoder step that decides the class."""
        return torch.stack([each.mean(dim=1).squeeze(1) for each in attention.values()]).mean(dim=0)

    def forward(self, tokens: Tensor, mask: Tensor, **beside: Tensor) -> Tensor:
        return self.decode(self.encode(tokens, mask), mask.to(self.embeddings.weight.dtype), **beside)

    def decode(self, hidden: Tensor, weights: Tensor, **beside: Tensor) -> Tensor:
        """Map embeddings ``(B, T, H)`` to logits ``(B, C)``; tokens whose ``weights (B, T)`` are 0 are masked.

        A classifier's decoder reads the same embeddings again, shifted by one position to the right.
        """
        if self._answers:
            return super().decode(hidden, weights, **beside)
        shifted = hidden[:, :-1]

        def again(_table: nn.Module, _tokens: Any, own: Tensor) -> Tensor:
            return torch.cat([own[:, :1], shifted], dim=1)

        with embeddings_of(self.model.get_decoder()).register_forward_hook(again):
            return super().decode(hidden, weights, **beside)

    def itself(self, tokens: Tensor, mask: Tensor, **given: Tensor) -> Tensor:
        if not self._answers:
            return super().itself(tokens, mask, **given)
        found = super().itself(tokens, mask, **given, decoder_input_ids=self._first_steps(tokens))
        return found[:, -1, self._answers]

    def _own_logits(self, mask: Tensor, **inputs: Tensor) -> Tensor:
        if self._answers:
            steps = self._first_steps(inputs["input_ids"])
            return super()._own_logits(mask, **inputs, decoder_input_ids=steps)[:, -1, self._answers]
        read = nn.functional.pad(mask[:, :-1], (1, 0), value=True).long()
        end = last_real(mask).unsqueeze(-1)
        ends = inputs["input_ids"].scatter(-1, end, self.model.config.eos_token_id)  # the one at which it decides
        return super()._own_logits(mask, **inputs | {"input_ids": ends, "decoder_attention_mask": read})

    def _first_steps(self, tokens: Tensor) -> Tensor:
        return torch.tensor(self._begin, device=tokens.device).expand(len(tokens), -1)

    @torch.no_grad()
    def _explore(self) -> None:
        from attest.models.pretrained.attention import attending_through  # registers with transformers

        model, name = self.model, type(self.model).__name__
        tokens, look = self.some_tokens(), Look()
        asked = tokens[:, :1].expand(-1, ASKED)
        unread = f"{name} cannot read a text of {tokens.shape[-1]} tokens"
        with (
            refusing(lambda said: f"{unread} ({said}); {EXPECTED}."),
            in_evaluation_mode(model),
            attending_through(model, look),
        ):
            model.base_model(input_ids=tokens, decoder_input_ids=asked, use_cache=False)
        current = cast(CrossingPass, self.current)
        for weights in look.seen:
            current.places.append(len(self.calls) if weights.shape[-2:] == (ASKED, tokens.shape[-1]) else None)
            if current.places[-1] is not None:
                self.calls.append(CrossCall(current))
        if not self.calls:
            raise AttestError(f"{name} is not supported: Attest finds no attention from its decoder to the text; {EXPECTED}.")
        with refusing(lambda said: f"{name} cannot decide about a text ({said}); {EXPECTED}."), in_evaluation_mode(model):
            self.logits_of(torch.ones_like(tokens, dtype=torch.bool), input_ids=tokens)

    def _where_it_decides(self) -> str:
        return "step"


def _begin_of(model: "PreTrainedModel") -> list[int]:
    settings = (model.generation_config, model.config)
    start, forced = (
        next((each for each in (getattr(part, name, None) for part in settings) if each is not None), None)
        for name in ("decoder_start_token_id", "forced_bos_token_id")
    )
    if start is None:
        raise AttestError(
            f"{type(model).__name__} does not say with which token its decoder begins; expected decoder_start_token_id in its "
            "generation_config or config.json."
        )
    return [start] if forced is None else [start, forced]
