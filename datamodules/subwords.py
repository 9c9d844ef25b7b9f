"""A corpus in the subwords of a pretrained model, in place of its words."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from attest.datamodules.corpus import NO_TAG, NO_WORD, SPLITS, Corpus, Documents
from attest.datamodules.notice import say
from attest.datamodules.vocabulary import Vocabulary

if TYPE_CHECKING:
    from attest.pretrained.subwords import Subwords

PER_WORD: dict[str, Any] = {"tags": NO_TAG, "rationale": False}
"""Columns with one value a word, and what special tokens have."""


def corpus_in_subwords(corpus: Corpus, subwords: "Subwords") -> Corpus:
    """The same splits and labels, cut into subwords; the vocabulary is the model's own."""
    splits: dict[str, Any] = {split: in_subwords(getattr(corpus, split), subwords) for split in SPLITS}
    return replace(corpus, **splits, vocabulary=Vocabulary(subwords.vocabulary))


def in_subwords(documents: Documents, subwords: "Subwords") -> Documents:
    """Texts as a pretrained model reads them, special tokens among them.

    The tag of a word is that of its first subword, and no other has one; all subwords of a word that decides decide. Ends of
    texts that are longer than the model reads are cut, and counted.
    """
    from attest.pretrained.subwords import first_alone  # whoever gives subwords has waited for it
    from attest.pretrained.texts import side_cut

    tokens, cut = subwords(documents.tokens)
    if cut.shortened:
        where = side_cut(subwords.tokenizer)
        say(f"{cut.shortened} of {len(documents)} texts are longer than {subwords.longest} subwords; {where}.")
    columns = {name: documents.table[name] for name in ("label",) if documents.has(name)}
    for name, nothing in PER_WORD.items():
        if documents.has(name):
            values = documents.table[name].to_pylist()
            columns[name] = pa.array([
                [text[word] if word is not None else nothing for word in (first_alone(words) if name == "tags" else words)]
                for text, words in zip(values, cut.words, strict=True)
            ])  # fmt: skip
    columns["word"] = pa.array([[NO_WORD if word is None else word for word in words] for words in cut.words])
    return Documents.of(documents.ids, pa.array(tokens, pa.list_(pa.string())), **columns)
