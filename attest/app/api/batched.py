"""Read the texts of a trial as its defendant reads them: in batches, with what its tokenizer knows of each token."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from attest.app.api.admitted import Defendant
from attest.app.api.batches import Batch, encoder_in
from attest.app.api.cases import Batched
from attest.app.api.given import Given, with_types
from attest.app.api.long_texts import require_readable
from attest.core.errors import AttestError
from attest.core.kinds import TAGS
from attest.datamodules.notice import say


def batches_for(defendant: Defendant, read: Given, batch_size: int) -> Batched:
    """Return the batches of the texts with their labels and what is asked about each, and the scores that are known."""
    network, case, encode = defendant.network, defendant.case, defendant.encode
    batches = case.batches(read, encode, defendant.words, batch_size, defendant.names)
    if defendant.adapted:
        require_known_ids(network, defendant.tokenizer, batches)
        if read.batched or encoder_in(encode) is None:  # nothing of ours has cut long texts
            require_readable(network, defendant.tokenizer, batches)
    batches = with_types(batches, network)
    if defendant.adapted:
        batches = with_words(batches, encode, read.items)
        if (encoder := encoder_in(encode)) is not None:
            whole = case.kind != TAGS and all(isinstance(text, str) for text in read.items)
            encoder.tell_of_cuts(sum(len(batch["id"]) for batch in batches), windows=whole)
        if quoted := told_of_special_tokens(defendant.tokenizer, read.items):
            say(quoted)
    return case.asked(batches, read, encode)


def require_known_ids(network: Any, tokenizer: Any, batches: Sequence[Batch]) -> None:
    """Refuse token ids for which the model has no embedding."""
    rows, tokens = len(network.embeddings.weight), [batch["token_ids"].where(batch["mask"].bool(), 0) for batch in batches]
    least, most = min(int(each.min()) for each in tokens), max(int(each.max()) for each in tokens)
    if least < 0 or most >= rows:
        knows = "" if tokenizer is None else f" and the tokenizer knows {len(tokenizer)} tokens"
        raise AttestError(
            f"the texts contain token ids from {least} to {most}, but the embedding of {type(network.model).__name__} has "
            f"{rows} rows{knows}; expected ids from 0 to {rows - 1}. Give the tokenizer that the model was trained with. If "
            "you added tokens, call model.resize_token_embeddings(len(tokenizer)) before fine-tuning."
        )


def with_words(batches: list[Batch], encode: Any, data: Any) -> list[Batch]:
    """Return batches with the number of each token's word, ``word`` int64 ``(B, T)``, if Attest encoded the texts.

    Pairs of texts also get ``text_of_pair``. Batches of a tagger or of token ids get only ``special`` bool ``(B, T)``, True at
    tokens that the tokenizer adds to every text. Nothing changes without an encoder of Attest, or if a batch has ``word``.
    """
    encoder = encoder_in(encode)
    if encoder is None or any("word" in batch for batch in batches):
        return batches
    from attest.models.pretrained.texts import is_pair  # imports transformers

    texts = list(data)
    if encoder.tagging or any(isinstance(text, Mapping) for text in texts):
        added = torch.tensor(encoder.tokenizer("")["input_ids"], dtype=torch.int64)
        return [{"special": torch.isin(batch["token_ids"].cpu(), added)} | batch for batch in batches]
    found = []
    for batch in batches:
        given = [texts[row] for row in batch["id"].tolist()]
        found.append(batch | {"word": padded([*map(encoder.word_of, given)], -1)})
        if all(map(is_pair, texts)):
            found[-1]["text_of_pair"] = padded([*map(encoder.text_of, given)], -1)
    return found


def told_of_special_tokens(tokenizer: Any, texts: Sequence[Any]) -> str | None:
    """Return a sentence about texts that contain special tokens as words; None if there are none, or no tokenizer."""
    from attest.models.pretrained.texts import quoted_in

    return None if tokenizer is None else quoted_in(tokenizer, texts)


def padded(rows: list[list[int]], value: int) -> torch.Tensor:
    """Return rows of numbers as a tensor int64 ``(B, T)``, each filled up to the longest with ``value``."""
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=value)
