"""Models of the library transformers, made ready for a trial. For other models the library is not imported."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.utils.rnn import pad_sequence

from attest.api.batches import Batch, Encode, Words
from attest.errors import AttestError

if TYPE_CHECKING:
    from attest.pretrained.network import PretrainedNetwork
    from attest.pretrained.prompted import Prompt


def is_of_transformers(model: Any) -> bool:
    """Whether a model is one of transformers', which is imported then."""
    library = sys.modules.get("transformers")
    return library is not None and isinstance(model, library.PreTrainedModel)


def prompt_of(template: str | None, answers: Mapping[str, str] | None) -> "Prompt | None":
    """What a language model is asked, if it is.

    Raises:
        AttestError: one of the two is missing, or they are not as they should be.
    """
    if template is None and answers is None:
        return None
    from attest.pretrained.prompted import Prompt

    return Prompt(template or "", answers or {})


def read_by(
    model: Any,
    tokenizer: Any,
    encode: Encode | None,
    words: Words | None,
    label_names: Sequence[str] | None,
    prompt: "Prompt | None" = None,
) -> tuple["PretrainedNetwork", Encode | None, Words | None, Sequence[str]]:
    """The network to put on trial, and how texts are encoded, shown and named, as far as the caller has not said.

    Args:
        model: of transformers.
        tokenizer: of the model; None where batches of token ids are given.
        encode, words, label_names: as in ``trial``.
        prompt: that a language model is asked; None of a classifier.
    Raises:
        AttestError: the model classifies neither texts nor tokens, its attention cannot be reached, or the tokenizer is not
            a fast one.
    """
    from attest.labels import class_names
    from attest.pretrained.network import PretrainedNetwork
    from attest.pretrained.texts import Encoder

    if prompt is None and not type(model).__name__.endswith(("ForSequenceClassification", "ForTokenClassification")):
        raise AttestError(
            f"{type(model).__name__} classifies neither texts nor tokens; expected a model such as "
            "BertForSequenceClassification. AutoModelForSequenceClassification.from_pretrained gives one. Give a language "
            "model prompt= and answers=."
        )
    if model.config.is_encoder_decoder:
        raise AttestError(
            f"{type(model).__name__} has an encoder and a decoder, so no attention leads from its decision to the tokens "
            "alone; expected an encoder alone or a decoder alone."
        )
    padding = model.config.pad_token_id
    if padding is None:
        padding = getattr(tokenizer, "pad_token_id", None) or 0
    masks = (getattr(tokenizer, name, None) for name in ("mask_token_id", "unk_token_id"))
    masked = next((each for each in masks if each is not None), padding)
    if prompt is not None:
        return _asked(model, tokenizer, padding, masked, words, prompt)
    reads = None if tokenizer is None else Encoder(model, tokenizer)
    shown = reads.words if words is None and reads is not None else words
    return PretrainedNetwork(model, padding, masked), encode or reads, shown, label_names or class_names(model.config)


def with_words(batches: list[Batch], encode: Any, data: Any) -> list[Batch]:
    """Batches of texts with the word of each token, ``word`` int64 ``(B, T)``, where we have encoded them."""
    from attest.pretrained.texts import Encoder

    texts = list(data) if isinstance(encode, Encoder) and isinstance(data, Sequence) else []
    if not texts or not all(isinstance(text, str) for text in texts):
        return batches
    return [batch | {"word": _padded([encode.word_of(texts[row]) for row in batch["id"].tolist()])} for batch in batches]


def _padded(rows: list[list[int]]) -> torch.Tensor:
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=-1)


def _asked(
    model: Any, tokenizer: Any, padding: int, masked: int, words: Words | None, prompt: "Prompt"
) -> tuple["PretrainedNetwork", Encode, Words, Sequence[str]]:
    """A language model that answers a prompt, as ``read_by`` returns it."""
    from attest.pretrained.prompted import PromptedNetwork, PromptEncoder

    if tokenizer is None:
        raise AttestError("a prompt was given without a tokenizer; expected tokenizer=, which turns it into token ids.")
    reads = PromptEncoder(model, tokenizer, prompt)
    network = PromptedNetwork(model, padding, prompt.first_tokens(tokenizer), masked)
    return network, reads, reads.words if words is None else words, tuple(prompt.answers)


def tell_of_cuts(encode: Any, texts: int) -> None:
    """Say how many of so many texts were longer than the model reads, where we have encoded them."""
    from attest.pretrained.texts import Encoder

    if isinstance(encode, Encoder):
        encode.tell_of_cuts(texts)
