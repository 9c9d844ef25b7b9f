"""The networks that fine-tune a pretrained Transformer with a new head.

Legend: B batch, T tokens, C logits, K classes.
"""

from typing import cast

import torch
from torch import Tensor

from attest.core.attention import Projection
from attest.core.errors import AttestError
from attest.core.spelled import spelled
from attest.models.pretrained.admitted import require_as_it_is, require_one_stack
from attest.models.pretrained.calls import AttentionCall
from attest.models.pretrained.loading import to_fine_tune, tokenizer_of
from attest.models.pretrained.network import PretrainedNetwork
from attest.models.pretrained.subwords import OURS, vocabulary_of

TYPED = ("DATA=sst", "MODEL=pretrained", "--model.init_args.pretrained=<folder or Hub id>")


class FineTunedClassifier(PretrainedNetwork):
    """A text classifier fine-tuned from a pretrained model; on a GPU it trains in bfloat16.

    Args:
        vocab_size: number of token ids of the data, whose texts are split into the model's own subwords.
        outputs: C, number of logits; 1 for two classes: the logit of class 1 minus that of class 0.
        pretrained: folder or Hub id of the model to start from.
        projection: what turns the scores of all heads into attention, before fine-tuning begins. The model was pretrained
            with a softmax, which None also means; with another one its attention changes at once, and training goes on from
            there. Each head has its own α where it is learned.
    Raises:
        AttestError: there is no such model, the model's attention cannot be reached, or the data and the model have different
            tokens.
    """

    tagging = False
    trains_with_any_projection = False
    """Whether a control run may train this network with another function than softmax from scores to attention: no, because
    the pretrained attention would have to be learned anew."""

    def __init__(self, vocab_size: int, outputs: int, pretrained: str = "", projection: Projection | None = None) -> None:
        if not pretrained:
            raise AttestError(
                "MODEL=pretrained was typed without the name of a pretrained model; expected the folder or the Hub id of a "
                f"model. Type {spelled('fit', *TYPED)}"
            )
        tokenizer = tokenizer_of(pretrained)
        if vocab_size != len(vocabulary_of(tokenizer)) + OURS:
            raise AttestError(
                f"the vocabulary of the data has {vocab_size - OURS} tokens, and that of {pretrained} has "
                f"{len(vocabulary_of(tokenizer))}; expected data that are split into the subwords of this model. Type "
                f"{spelled('fit', *TYPED)}"
            )
        model = to_fine_tune(pretrained, max(outputs, 2), self.tagging)
        require_one_stack(model)
        padding = tokenizer.pad_token_id or 0
        model.config.pad_token_id = padding
        super().__init__(model, padding)
        self.outputs = outputs
        masked = next((each for each in (tokenizer.mask_token_id, tokenizer.unk_token_id) if each is not None), padding)
        self.register_buffer("ours", torch.tensor([padding, masked]), persistent=False)
        require_as_it_is(self)
        if projection is not None:
            self.exchange(projection)

    def exchange(self, projection: Projection) -> None:
        """Put a projection in the place of every softmax; each layer and head gets parameters of its own, if there are any."""
        for call in self._attention:
            assert call.heads is not None
            call.projection = projection.for_heads(call.heads)

    @property
    def exchanged(self) -> bool:
        """Return whether another projection stands in the place of the softmax that the model was pretrained with."""
        return any(call.exchanged for call in self._attention)

    @property
    def _attention(self) -> list[AttentionCall]:
        return [cast(AttentionCall, call) for call in self.calls]

    def encode(self, tokens: Tensor, mask: Tensor, **beside: Tensor) -> Tensor:
        return super().encode(self._own(tokens), mask)

    def decode(self, hidden: Tensor, weights: Tensor, **beside: Tensor) -> Tensor:
        return self.decided(super().decode(hidden, weights))

    def forward(self, tokens: Tensor, mask: Tensor, **beside: Tensor) -> Tensor:
        with torch.autocast(mask.device.type, torch.bfloat16, enabled=self.training and mask.is_cuda):
            logits = super().forward(self._own(tokens), mask)
        return self.decided(logits.float())

    def itself(self, tokens: Tensor, mask: Tensor, **given: Tensor) -> Tensor:
        if self.exchanged:  # without hook points it would be another model
            return self(tokens, mask)
        return self.decided(super().itself(self._own(tokens), mask, **given))

    def decided(self, logits: Tensor) -> Tensor:
        """Return the logits used in training: the model's logits, or their difference if texts have two classes."""
        return logits if self.tagging or self.outputs > 1 else logits[:, 1:] - logits[:, :1]

    def _own(self, tokens: Tensor) -> Tensor:
        return torch.where(tokens < OURS, self.get_buffer("ours")[tokens.clamp(max=OURS - 1)], tokens - OURS)


class FineTunedTagger(FineTunedClassifier):
    """A fine-tuned tagger that predicts the tag of each word at its first subword.

    Args:
        vocab_size, outputs, pretrained, projection: as in ``FineTunedClassifier``.
    """

    tagging = True
