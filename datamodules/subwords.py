"""A corpus in the subwords of a pretrained model, in place of its words."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from attest.datamodules.corpus import NO_WORD, SPLITS, Corpus, Documents
from attest.datamodules.notice import say
from attest.datamodules.vocabulary import Vocabulary

if TYPE_CHECKING:
    from attest.pretrained.subwords import Subwords


def corpus_in_subwords(corpus: Corpus, subwords: "Subwords") -> Corpus:
    """The same splits and labels, cut into subwords; the vocabulary is the model's own."""
    splits: dict[str, Any] = {split: in_subwords(getattr(corpus, split), subwords, corpus.label_names) for split in SPLITS}
    return replace(corpus, **splits, vocabulary=Vocabulary(subwords.vocabulary))


def in_subwords(documents: Documents, subwords: "Subwords", label_names: Sequence[str] = ()) -> Documents:
    """Texts as a pretrained model reads them, special tokens among them.

    The tag of a word is that of its first subword, and no other has one; all subwords of a word that decides decide. Ends of
    texts that are longer than the model reads are cut, and counted; so are words with a tag that have no subword.

    Args:
        documents: in words.
        subwords: of the model.
        label_names: of the tags, in class order, where there are tags.
    """
    from attest.pretrained.subwords import tags_of_subwords, told_of_unread  # whoever gives subwords has waited for it
    from attest.pretrained.texts import side_cut

    texts = documents.tokens
    tokens, cut = subwords(texts)
    if cut.shortened:
        where = side_cut(subwords.tokenizer)
        say(f"{cut.shortened} of {len(documents)} texts are longer than {subwords.longest} subwords; {where}.")
    columns = {name: documents.table[name] for name in ("label",) if documents.has(name)}
    if documents.has("tags"):
        columns["tags"] = pa.array(tags_of_subwords(documents.table["tags"].to_pylist(), cut.words, label_names))
        if told := told_of_unread(texts, cut, subwords.longest):
            say(told)
    if documents.has("rationale"):
        columns["rationale"] = pa.array([
            [word is not None and text[word] for word in words]
            for text, words in zip(documents.table["rationale"].to_pylist(), cut.words, strict=True)
        ])  # fmt: skip
    columns["word"] = pa.array([[NO_WORD if word is None else word for word in words] for words in cut.words])
    return Documents.of(documents.ids, pa.array(tokens, pa.list_(pa.string())), **columns)
