"""The encoding of texts for a model of transformers, as token ids with special tokens."""

import inspect
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from attest.core.errors import AttestError
from attest.models.pretrained.told import told_by

WHOLE = 1 << 30
"""The value for the largest number of tokens if texts shall not be cut: longer than any text, and small enough for the
integers of tokenizers."""


def longest_read(model: nn.Module, tokenizer: PreTrainedTokenizerBase | None) -> int:
    """Return the largest number of tokens, special tokens included, that a model can read in one text."""
    told = WHOLE if tokenizer is None else int(min(tokenizer.model_max_length, WHOLE))
    if not isinstance(model, PreTrainedModel):  # a module around one reads no more than it
        inside = (part for part in model.modules() if isinstance(part, PreTrainedModel))
        return min((longest_read(part, tokenizer) for part in inside), default=told)
    config = told_by(model.config.get_text_config())
    positions, padding = config.max_position_embeddings or told, config.pad_token_id or 0
    tables = [part for name, part in model.named_modules() if name.endswith("position_embeddings")]
    counts_from_padding = any(getattr(table, "padding_idx", None) is not None for table in tables)  # as in RoBERTa
    return min(int(positions) - (padding + 1 if counts_from_padding else 0), told)


def require_fast(tokenizer: Any) -> None:
    """Refuse a tokenizer that cannot tell which word a token belongs to."""
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise AttestError(
            f"the tokenizer is a {type(tokenizer).__name__}; expected a fast tokenizer, which knows the word of each token. "
            "Type AutoTokenizer.from_pretrained(name)"
        )


def require_length(tokenizer: Any) -> None:
    """Refuse a tokenizer whose largest number of tokens is no number, or leaves no room for a word."""
    told, added = tokenizer.model_max_length, tokenizer.num_special_tokens_to_add()
    if isinstance(told, bool) or not isinstance(told, int | float) or not told > added:
        raise AttestError(
            f"the tokenizer reads at most {told!r} tokens of a text (model_max_length) and adds {added} special ones; "
            f"expected a number from {added + 1}. Set tokenizer.model_max_length to the number of tokens that the model reads."
        )


def side_cut(tokenizer: Any) -> str:
    """Return a phrase that says at which side the tokenizer cuts texts that are too long."""
    return f"their {'beginnings' if tokenizer.truncation_side == 'left' else 'ends'} are cut"


def begun_once(tokenizer: Any, prompt: str) -> dict[str, Any]:
    """Return the options with which a tokenizer reads a prompt, so that it begins once with the tokens that it adds.

    A chat template often writes the first token, such as ``<s>``, which the tokenizer would write again.
    """
    read = tokenizer(prompt, verbose=False)[0]
    added = next((place for place, special in enumerate(read.special_tokens_mask) if not special), len(read.ids))
    alone = tokenizer(prompt, add_special_tokens=False, verbose=False)["input_ids"]
    return {"add_special_tokens": False} if added and alone[:added] == read.ids[:added] else {}


def quoted_in(tokenizer: Any, texts: Sequence[Any]) -> str | None:
    """Return a sentence about the texts that contain special tokens, such as ``[SEP]``, as words; None if none does."""
    if tokenizer.split_special_tokens:
        return None
    tokens = {*tokenizer.all_special_tokens} - {tokenizer.unk_token}
    found = [
        {token for part in ([text] if isinstance(text, str) else text) for token in tokens if token in part}
        for text in texts
        if isinstance(text, str | tuple | list)
    ]
    if not any(found):
        return None
    return (
        f"{sum(map(bool, found))} of {len(texts)} texts contain special tokens of the tokenizer as words "
        f"({', '.join(sorted(set().union(*found)))}), and the model reads them as special tokens. Take them out if they are "
        "words of the text."
    )


def is_pair(text: Any) -> bool:
    """Return whether a text is a tuple of two texts."""
    return isinstance(text, tuple) and len(text) == 2


@contextmanager
def taking_words(tokenizer: Any) -> Iterator[None]:
    """Raise an ``AttestError`` if the tokenizer refuses lists of words inside the ``with`` block."""
    try:
        yield
    except AssertionError as error:
        raise AttestError(
            f"the {type(tokenizer).__name__} does not accept a text that is split into words; expected a tokenizer that does. "
            "Type AutoTokenizer.from_pretrained(name, add_prefix_space=True)"
        ) from error


MARKS = re.compile("[ĠĊĉč]")
"""Matches the characters by which a byte-level tokenizer writes a space (``Ġ``), two kinds of line end and a tab. A word
begins after them."""


def shown_tokens(tokenizer: Any, ids: Iterable[int]) -> list[str]:
    """Return the text that is displayed for each token id.

    A byte-level tokenizer spells its tokens byte by byte (``Ã©`` for ``é``); those of letters beyond ASCII are decoded, and
    the blank before a word stays ``Ġ``. A token that is a part of a letter is shown as ``�``.
    """
    numbers = list(ids)
    known = [token or "" for token in tokenizer.convert_ids_to_tokens(numbers)]
    decoder = tokenizer.backend_tokenizer.decoder
    if "ByteLevel" not in str(decoder):
        return known
    added = tokenizer.added_tokens_decoder
    return [
        token if number in added or MARKS.sub("", token).isascii() else _decoded(token, decoder)
        for number, token in zip(numbers, known, strict=True)
    ]


def _decoded(token: str, decoder: Any) -> str:
    text = decoder.decode([token])
    return f"Ġ{text[1:]}" if text.startswith(" ") else text


def words_in(encoding: Any) -> list[int]:
    """Return the word index of each token of an encoded text or pair of texts; -1 for special tokens."""
    words, texts = encoding.word_ids, encoding.sequence_ids
    first = 1 + max((word for word, text in zip(words, texts, strict=True) if text == 0 and word is not None), default=-1)
    return [-1 if word is None else word + first * (text or 0) for word, text in zip(words, texts, strict=True)]


def spaced_in(encoding: Any, texts: Sequence[str], begins: int = 0) -> list[int]:
    """Return the index of each token's word, -1 for special tokens; words are separated by spaces.

    A second text continues the count. A single text may begin at the character ``begins`` of the encoded string.
    """
    words, count = [], 0
    for text in texts:
        spaced = [-1] * len(text)
        for match in re.finditer(r"\S+", text):
            spaced[match.start() : match.end()] = [count] * len(match.group())
            count += 1
        words.append(spaced)
    found = []
    for (start, end), place in zip(encoding.offsets, encoding.sequence_ids, strict=True):
        first = max(start - begins, 0)
        found.append(-1 if place is None else max(words[place][first : max(end - begins, first)], default=-1))
    return found


def texts_in(encoding: Any) -> list[int]:
    """Return, for each token of an encoded pair, 0 for the first text and 1 for the second; -1 for special tokens."""
    return [-1 if text is None else text for text in encoding.sequence_ids]


class Encoder:
    """An encoder that maps texts, pairs of texts or lists of words to token ids; it cuts texts that are too long."""

    def __init__(self, model: nn.Module, tokenizer: PreTrainedTokenizerBase) -> None:
        require_fast(tokenizer)
        require_length(tokenizer)
        self.tokenizer, self.longest = tokenizer, longest_read(model, tokenizer)
        self.tagging = False
        """Whether a list of two strings is read as a sentence of two words, as for taggers, and not as a pair of texts."""
        taken = "token_type_ids" in inspect.signature(model.forward).parameters
        told = tokenizer("a", "a").get("token_type_ids") if taken else None
        self.typed = told is not None and max(told) > 0
        """Whether texts are encoded with ``token_type_ids``. They are, if the tokenizer gives the two texts of a pair
        different types, and if the model's forward pass takes them."""
        self.cut = 0
        self.told_of_cuts: str | None = None
        """What ``tell_of_cuts`` has said of shortened texts; None if there were none."""
        self.options: dict[str, Any] = {}
        """Further keyword arguments, by name, that the tokenizer gets whenever it encodes a text."""
        self.prompt: Any = None
        """The ``Prompt`` into which each text is put; None if texts are read as they are."""

    def __call__(self, text: Any) -> list[int]:
        """Return the token ids of a text with special tokens."""
        return self.columns(text)["token_ids"]

    def columns(self, text: Any) -> dict[str, list[int]]:
        """Return ``token_ids`` of a text with special tokens and, if the model takes them, their ``token_type_ids``."""
        read = self._read(text, truncation=True, max_length=self.longest)
        ids = read["input_ids"]
        self.cut += len(ids) == self.longest and len(self._read(text)["input_ids"]) > self.longest
        return {"token_ids": ids} | ({"token_type_ids": read["token_type_ids"]} if self.typed else {})

    def _read(self, text: Any, **options: Any) -> Any:
        given = text if is_pair(text) else (text,)
        with taking_words(self.tokenizer):
            return self.tokenizer(*given, is_split_into_words=isinstance(text, list), verbose=False, **self.options, **options)

    def everything(self, texts: Sequence[Any]) -> dict[str, list[list[int]]]:
        """Return all inputs that the tokenizer makes from texts, pairs or lists of words, such as ids and token types."""
        given: tuple[list[Any], ...] = ([text if isinstance(text, str) else list(text) for text in texts],)
        if pairs := all(map(is_pair, texts)) and not self.tagging:
            given = ([first for first, _ in texts], [second for _, second in texts])
        words = not pairs and not isinstance(texts[0], str)
        options = {"is_split_into_words": words, "truncation": True, "max_length": self.longest} | self.options
        return dict(self.tokenizer(*given, verbose=False, **options))

    def word_of(self, text: Any) -> list[int]:
        """Return the word index of each token of a text, as in ``words_in``."""
        return words_in(self._read(text, truncation=True, max_length=self.longest)[0])

    def spaced_of(self, text: Any) -> list[int]:
        """Return the word index of each token of a text; spaces separate the words, unless the text is a list of words."""
        encoding = self._read(text, truncation=True, max_length=self.longest)[0]
        return words_in(encoding) if isinstance(text, list) else spaced_in(encoding, text if is_pair(text) else (text,))

    def text_of(self, text: Any) -> list[int]:
        """Return, for each token of a pair, 0 for the first text and 1 for the second, as in ``texts_in``."""
        return texts_in(self._read(text, truncation=True, max_length=self.longest)[0])

    def places_of(self, text: Any) -> list[tuple[int, int]]:
        """Return for each token the index of its first character and the index after its last character."""
        return list(self._read(text, truncation=True, max_length=self.longest)[0].offsets)

    @property
    def words(self) -> Sequence[str]:
        """Return the text that is displayed for each token id."""
        return shown_tokens(self.tokenizer, range(len(self.tokenizer)))

    def tell_of_cuts(self, texts: int, what: str = "texts", windows: bool = True) -> None:
        """Warn with the number of shortened texts, if there are any, and count anew.

        Args:
            windows: whether the texts can be read in windows.
        """
        if self.cut:
            mend = " window= (--window) reads whole texts." if windows else ""
            longer = f"{self.cut} of {texts} {what} are longer than the {self.longest} tokens that the model reads"
            self.told_of_cuts = f"{longer}; {side_cut(self.tokenizer)}."
            warnings.warn(f"{self.told_of_cuts}{mend}", stacklevel=2)
        self.cut = 0
