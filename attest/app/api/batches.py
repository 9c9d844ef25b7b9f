"""Make the batches of a trial from the texts or the batches of a user.

Legend: B batch, T tokens.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from attest.core.errors import AttestError
from attest.core.labels import UNLABELLED

if TYPE_CHECKING:
    from attest.models.pretrained.texts import Encoder

Batch = dict[str, Any]
"""A dictionary with one batch of texts: ``id`` int64 (B,), ``token_ids`` int64 (B, T), ``mask`` bool (B, T), True at real
tokens, and ``tokens``, the words of each text. Where they are known, also ``label`` int64 (B,), and ``special`` bool (B, T),
True at tokens that the tokenizer adds to every text, such as [CLS]; experiments neither rank nor erase these."""
Encode = Callable[[str], Sequence[int]]
"""A function from a text to the ids of its tokens. For a ``transformers`` model it is an ``Encoder``, whose method ``columns``
also returns further values for each token, such as the number of its word, as the entries of a batch."""
Words = Mapping[int, str] | Sequence[str]
"""The word of each token id: a mapping whose keys are token ids, or a sequence indexed by token id. Used only for display."""
PADDING = {"tags": UNLABELLED, "word": -1, "word_of_token": -1, "text_of_pair": -1}
"""The value that fills up short rows, by the key of a batch. The entries of all other keys are padded with 0."""


@runtime_checkable
class Indexed(Protocol):
    """What gives a value for each place or key: a list, a dictionary, an array, a data set of torch."""

    def __getitem__(self, place: Any, /) -> Any: ...


def encoder_in(encode: Encode | None) -> "Encoder | None":
    """Return what turns texts into token ids if it is the encoder of a model of transformers, which knows more, else None."""
    library = sys.modules.get("attest.models.pretrained.texts")
    return encode if library is not None and isinstance(encode, library.Encoder) else None


def batches_of(
    data: Iterable[Any],
    encode: Encode | None = None,
    words: Words | None = None,
    batch_size: int = 32,
) -> list[Batch]:
    """Return the user's texts or batches as a list of batches in which every text has a unique id.

    Args:
        data: texts; or batches as dictionaries, see ``Batch``, with ``token_ids`` and ``mask`` at least.
        words: the word of each token id, for display. Batches may have ``tokens`` instead. By default the words between spaces
            are shown if a text has as many words as tokens, else the token ids.
    """
    given = list(data)
    several = all(isinstance(each, tuple | list) and all(isinstance(part, str) for part in each) for each in given)
    if several and encoder_in(encode) is None:
        raise AttestError(
            "the texts are pairs of texts or lists of words; expected single texts, because no tokenizer is given. Give "
            'tokenizer=tokenizer for a model of transformers, or join the words: attest.trial(model, [" ".join(words) for '
            "words in texts], …)"
        )
    if several or all(isinstance(each, str) for each in given):
        batches = list(_of_texts(given, encode, batch_size))
    elif any(isinstance(each, str) for each in given):
        place, other = next((place, each) for place, each in enumerate(given) if not isinstance(each, str))
        kind = type(other).__name__
        raise AttestError(f"text {place} is {str(other)[:20]!r}, of the type {kind}; expected a string. Leave this text out.")
    else:
        batches = [_checked(batch) for batch in given]
    _number(batches)
    if len({batch.get("label") is None for batch in batches}) > 1:
        raise AttestError("some batches have labels and some have no labels; expected labels for all texts or for no text.")
    return [batch | {"tokens": _tokens(batch, words)} for batch in batches]


def _parts(text: Any) -> Sequence[str]:
    return [text] if isinstance(text, str) else text


def _of_texts(texts: Sequence[str], encode: Encode | None, batch_size: int) -> Iterator[Batch]:
    """Yield batches of texts of similar length. The ids of the texts count from 0 in the given order."""
    if encode is None:
        raise AttestError(
            "texts were given without encode= or tokenizer=; expected tokenizer= (for a model of transformers) or encode= (a "
            "function that turns a text into token ids). For example: encode=lambda text: [vocabulary[word] for word in "
            "text.split()]"
        )
    encoder = encoder_in(encode)
    read = [{"token_ids": _ids_in(encode(text))} if encoder is None else encoder.columns(text) for text in texts]
    encoded = [
        {name: torch.as_tensor(column, dtype=torch.int64).flatten() for name, column in columns.items()} for columns in read
    ]
    lengths = [len(columns["token_ids"]) for columns in encoded]
    if empty := [place for place, text in enumerate(texts) if not lengths[place] or not all(map(str.strip, _parts(text)))]:
        raise AttestError(
            f"text {empty[0]} ({texts[empty[0]][:20]!r}) has no tokens; expected at least one token. Leave this text out."
        )
    for batch in in_batches([text_of(row, **columns) for row, columns in enumerate(encoded)], batch_size):
        rows = batch["id"].tolist()
        split = [" ".join(_parts(texts[row])).split() for row in rows]
        if [len(words) for words in split] == batch["mask"].sum(dim=-1).tolist():
            batch["tokens"] = split
        yield batch


def _ids_in(returned: Any) -> Tensor:
    """Return what ``encode=`` returned for a text as token ids, int64 ``(T,)``."""
    try:
        found = torch.as_tensor(returned)
    except (TypeError, ValueError, RuntimeError):
        found = torch.tensor(torch.nan)
    if found.is_floating_point() and found.numel():
        raise AttestError(
            f"encode= returned {str(returned)[:40]!r} ({type(returned).__name__}); expected token ids, a list of integers. "
            'With a tokenizer: encode=lambda text: tokenizer(text)["input_ids"]'
        )
    return found.to(torch.int64).flatten()


def text_of(identity: int, **of_tokens: Tensor) -> Batch:
    """Return a text of T tokens as a dictionary: its id ``()``, its mask ``(T,)`` and the given tensors ``(T,)``."""
    real = torch.ones(len(of_tokens["token_ids"]), dtype=torch.bool)
    return {"id": torch.tensor(identity), "mask": real} | of_tokens


def texts_of(batch: Batch) -> list[Batch]:
    """Split a batch into dictionaries, one for each text. A dictionary has the text's row of each batch entry."""
    return [{name: values[row] for name, values in batch.items()} for row in range(len(batch["id"]))]


def in_batches(texts: Iterable[Batch], batch_size: int) -> list[Batch]:
    """Group texts, each a dictionary from ``texts_of``, into batches of similar length, the shortest texts first."""
    ordered = sorted(texts, key=lambda text: int(text["mask"].sum()))
    return [batch_of(ordered[start : start + batch_size]) for start in range(0, len(ordered), batch_size)]


def batch_of(texts: Sequence[Batch]) -> Batch:
    """Join texts, each a dictionary from ``texts_of``, into one batch, padded to the length of the longest text."""
    longest = max(int(text["mask"].nonzero().max()) + 1 for text in texts)

    def together(name: str) -> Any:
        values = [text[name] for text in texts]
        if not isinstance(values[0], Tensor):
            return values
        if not values[0].ndim:
            return torch.stack(values)
        return pad_sequence([each[:longest] for each in values], batch_first=True, padding_value=PADDING.get(name, 0))

    return {name: together(name) for name in texts[0]}


def _checked(batch: Any) -> Batch:
    if not isinstance(batch, Mapping):
        raise AttestError(
            f"a batch is a {type(batch).__name__}; expected a dictionary with the keys token_ids and mask, and with label if "
            "labels are known."
        )
    if missing := [name for name in ("token_ids", "mask") if not isinstance(batch.get(name), Tensor)]:
        raise AttestError(
            f"a batch has no tensor {' and no tensor '.join(missing)} (its keys: {', '.join(map(str, batch))}); expected "
            "token_ids int64 (B, T) and mask bool (B, T), True at real tokens."
        )
    ids = batch["token_ids"]
    if ids.is_floating_point() or ids.is_complex() or ids.ndim < 2:
        kind = str(ids.dtype).removeprefix("torch.")
        raise AttestError(
            f"the token ids of a batch are {kind} of the shape {tuple(ids.shape)}; expected whole numbers of the shape (B, "
            "T), as a tokenizer returns them: a model that is tested reads tokens, not their vectors."
        )
    return dict(batch)


def _number(batches: list[Batch]) -> None:
    """Number the texts of all batches from 0 if they have no ids; refuse two texts with the same id."""
    start = 0
    for batch in batches:
        batch.setdefault("id", torch.arange(start, start + len(batch["token_ids"])))
        start += len(batch["token_ids"])
    ids = torch.cat([batch["id"].flatten().cpu() for batch in batches])
    if len(ids.unique()) < len(ids):
        raise AttestError(
            "two texts have the same id; expected a different id for each text. Leave 'id' out of the batches to number the "
            "texts."
        )


def _tokens(batch: Batch, words: Words | None) -> list[list[str]]:
    if words is None and "tokens" in batch:
        return batch["tokens"]
    mask = attended(batch)
    if batch["token_ids"].shape != mask.shape:  # sentences
        return [[f"sentence {place}" for place in range(1, count + 1)] for count in mask.sum(dim=-1).tolist()]
    texts = [ids[real].tolist() for ids, real in zip(batch["token_ids"].cpu(), mask.cpu().bool(), strict=True)]
    return [[str(token if words is None else _word(words, token)) for token in text] for text in texts]


def _word(words: Words, token: int) -> str:
    try:
        return words[token]
    except LookupError:
        raise AttestError(f"words= has no word for the token id {token}; expected a word for every token id.") from None


def attended(batch: Batch) -> Tensor:
    """Return the batch's ``sentence_mask`` ``(B, S)`` if it has one, else its token ``mask`` ``(B, T)``."""
    return batch["sentence_mask" if "sentence_mask" in batch else "mask"]
