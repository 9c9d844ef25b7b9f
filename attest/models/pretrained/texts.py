"""Texts as a model of transformers reads them: token ids with the special tokens that it was trained with."""

import warnings
from collections.abc import Sequence
from typing import Any

from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from attest.core.errors import AttestError

Batch = dict[str, Any]


def longest_read(model: nn.Module, tokenizer: PreTrainedTokenizerBase) -> int:
    """Return how many tokens of a text, special ones included, the model reads at most; of a module, what its tokenizer says."""
    if not isinstance(model, PreTrainedModel):
        return tokenizer.model_max_length
    config = model.config.get_text_config()
    positions = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
    padding = getattr(config, "pad_token_id", None) or 0
    kept = padding + 1 if _counts_from_padding(model) else 0
    return min(int(positions) - kept, tokenizer.model_max_length)


def _counts_from_padding(model: nn.Module) -> bool:
    """Return whether positions begin after the padding id, as RoBERTa's do: a table of 514 is for 512 tokens."""
    return any(getattr(part, "padding_idx", None) is not None and name.endswith("position_embeddings")
               for name, part in model.named_modules())  # fmt: skip


def require_fast(tokenizer: Any) -> None:
    """Refuse a tokenizer that does not know which word a token is of.

    Raises:
        AttestError: it is not one of the fast ones.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise AttestError(
            f"the tokenizer is a {type(tokenizer).__name__}; expected a fast one, which knows the word of each token. "
            "AutoTokenizer.from_pretrained gives one if it exists."
        )


def side_cut(tokenizer: Any) -> str:
    """Return where texts are cut that are longer than the model reads, in words."""
    return f"their {'beginnings' if tokenizer.truncation_side == 'left' else 'ends'} are cut"


class Encoder:
    """An encoder of texts as token ids, cut where the model stops reading.

    Args:
        model, tokenizer: that belong together.
    Raises:
        AttestError: the tokenizer is not a fast one.
    """

    def __init__(self, model: nn.Module, tokenizer: PreTrainedTokenizerBase) -> None:
        require_fast(tokenizer)
        self.tokenizer, self.longest = tokenizer, longest_read(model, tokenizer)
        self.cut = 0

    def __call__(self, text: str) -> list[int]:
        """Return the token ids of a text, special tokens among them."""
        ids = self.tokenizer(text, truncation=True, max_length=self.longest, verbose=False)["input_ids"]
        self.cut += len(ids) == self.longest and len(self.tokenizer(text, verbose=False)["input_ids"]) > self.longest
        return ids

    def everything(self, texts: Sequence[Any]) -> dict[str, list[list[int]]]:
        """Return all that the tokenizer gives for texts, or lists of words: token ids, token types and what else there is."""
        words = not isinstance(texts[0], str)
        return dict(
            self.tokenizer(list(texts), is_split_into_words=words, truncation=True, max_length=self.longest, verbose=False)
        )

    def word_of(self, text: str) -> list[int]:
        """Return the place of the word that each token is of, as the tokenizer tells words apart; -1 for special tokens."""
        words = self.tokenizer(text, truncation=True, max_length=self.longest, verbose=False).word_ids()
        return [-1 if word is None else word for word in words]

    @property
    def words(self) -> Sequence[str]:
        """The token of each id, as it is shown."""
        return self.tokenizer.convert_ids_to_tokens(list(range(len(self.tokenizer))))

    def tell_of_cuts(self, texts: int) -> None:
        """Warn of texts that were cut."""
        if self.cut:
            warnings.warn(
                f"{self.cut} of {texts} texts are longer than the {self.longest} tokens that the model reads; "
                f"{side_cut(self.tokenizer)}.",
                stacklevel=2,
            )
