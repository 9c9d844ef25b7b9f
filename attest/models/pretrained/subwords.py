"""The cutting of words into the subwords of a pretrained model, with the ids of our data: 0 is padding, 1 a masked token."""

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

import torch
from transformers import AutoModelForSequenceClassification, PreTrainedTokenizerBase

from attest.core.errors import AttestError
from attest.core.labels import UNLABELLED
from attest.models.pretrained.loading import config_of, tokenizer_of, transformers_quiet
from attest.models.pretrained.texts import longest_read, taking_words

OURS = 2
"""The number of token ids that Attest's data reserve before the ids of subwords: 0 is padding, 1 a masked or unknown word."""


class Cut(NamedTuple):
    """A list of texts that were split into the subwords of a model."""

    ids: list[list[int]]
    """The model's own token ids of each text, including special tokens."""
    words: list[list[int | None]]
    """The index of each token's word in its text; None for special tokens."""
    shortened: int
    """The number of texts that were cut at their end, because they had more subwords than the model or the user allows."""


class Subwords:
    """An object that splits texts, given as lists of words, into the subwords of a pretrained model.

    Args:
        pretrained: folder or Hub id of the model; nothing but its configuration and its tokenizer is read.
        longest: most subwords of a text, special ones included; None for as many as the model reads.
    Raises:
        AttestError: as in ``attest.models.pretrained.loading``; or ``longest`` is too small or too large.
    """

    @transformers_quiet()
    def __init__(self, pretrained: str, longest: int | None = None) -> None:
        self.tokenizer = tokenizer_of(pretrained, add_prefix_space=True)  # which cuts at bytes: a word begins after a blank
        with torch.device("meta"):
            read = longest_read(AutoModelForSequenceClassification.from_config(config_of(pretrained)), self.tokenizer)
        least = self.tokenizer.num_special_tokens_to_add() + 1
        if longest is not None and not least <= longest <= read:
            raise AttestError(
                f"`max_subwords` is {longest}, and {pretrained} reads at most {read} subwords; expected a whole number from "
                f"{least} to {read}. Type --data.init_args.max_subwords={min(read, 128)}"
            )
        self.longest = longest or read
        self.vocabulary = vocabulary_of(self.tokenizer)

    def __call__(self, texts: Sequence[Sequence[str]]) -> tuple[list[list[str]], Cut]:
        """Split texts, given as lists of words, into subwords; return the subwords as strings, and the ``Cut``."""
        found = cut(self.tokenizer, texts, self.longest)
        return [[self.vocabulary[id] for id in ids] for ids in found.ids], found


def cut(tokenizer: PreTrainedTokenizerBase, texts: Sequence[Sequence[str]], longest: int) -> Cut:
    """Split texts, given as lists of words, into subwords; a text that is too long loses its end."""
    words = [list(text) for text in texts]
    with taking_words(tokenizer):
        read = tokenizer(words, is_split_into_words=True, truncation=True, max_length=longest, verbose=False)
    rows = [read[row] for row in range(len(words))]
    return Cut([row.ids for row in rows], [row.word_ids for row in rows], sum(bool(row.overflowing) for row in rows))


def vocabulary_of(tokenizer: PreTrainedTokenizerBase) -> tuple[str, ...]:
    """Return the subword of each token id; an unused id gets a placeholder that is no subword."""
    known = {id: token for token, id in tokenizer.get_vocab().items()}
    return tuple(known.get(id, f"<no token {id}>") for id in range(max(known) + 1))


def tags_of_subwords(
    tags: Sequence[Sequence[int]], words: Sequence[Sequence[int | None]], label_names: Sequence[str]
) -> list[list[int]]:
    """Return the tag of each subword: a word's tag for its first subword, ``UNLABELLED`` for all others.

    Some words, a soft hyphen for example, have no subword. If such a word begins a chunk, the next word begins the chunk.
    """
    begins = {
        number: label_names.index(begin)
        for number, name in enumerate(label_names)
        if name[:2] == "I-" and (begin := f"B-{name[2:]}") in label_names
    }
    rows = []
    for known, read in zip(tags, words, strict=True):
        whole = _begun(known, {*read}, begins)
        first = [word if word != before else None for before, word in zip([None, *read], read, strict=False)]
        rows.append([UNLABELLED if word is None else whole[word] for word in first])
    return rows


def _begun(tags: Sequence[int], read: Container[int | None], begins: Mapping[int, int]) -> list[int]:
    """Return the tags of words; if the tokenizer dropped the first word of a chunk, the next word gets the ``B-`` tag."""
    found, has_begun = list(tags), False
    for place, tag in enumerate(tags):
        goes_on = place > 0 and tag in begins and tags[place - 1] in (tag, begins[tag])
        has_begun = has_begun and goes_on
        if place in read:
            found[place] = begins[tag] if goes_on and not has_begun else tag
            has_begun = True
    return found


def told_of_unread(texts: Sequence[Sequence[str]], cut: Cut, longest: int) -> str | None:
    """Return a sentence with the number of words that have no subword; None if every word has one."""
    unread = 0
    for words, ids, read in zip(texts, cut.ids, cut.words, strict=True):
        known = {word for word in read if word is not None} or {0}
        unread += (max(known) - min(known) + 1 if len(ids) >= longest else len(words)) - len(known & {*read})
    if not unread:
        return None
    return (
        f"{unread} of {sum(map(len, texts))} words have no subword, because the tokenizer drops them; they have no decision, "
        "and no score counts them. A chunk that one of them begins is taken to begin at its next word."
    )
