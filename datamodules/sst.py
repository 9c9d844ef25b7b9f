"""The Stanford Sentiment Treebank as Jain & Wallace 2019 use it: whole sentences, two classes."""

import re
from typing import Literal

import spacy

from datamodules.base import TextDataModule
from datamodules.corpus import Corpus, Documents
from datamodules.sources import load_split
from datamodules.vocabulary import Vocabulary

NEUTRAL = 2


class SstDataModule(TextDataModule):
    """Binary sentiment on sentences of the Stanford Sentiment Treebank (Socher et al., 2013).

    Classes: 0 negative (very negative, negative), 1 positive (positive, very positive); neutral sentences are dropped.
    Splits:  the treebank's own. Under ``jw-current`` 6355 train (3034 / 3321), 821 validation (397 / 424) and
             1725 test (863 / 862) sentences remain of 6920 / 872 / 1821; |V| = 13826 counts <SOS> and <EOS>.
    Recipe:  ``jw-current`` is that of the released code since April 2019: brackets and all non-word characters become
             blanks, spaCy's blank English tokenizer, then lower case; vocabulary from the training split before
             filtering; sentences kept that are longer than 5 tokens and shorter than the longest of their split.
    Source:  the treebank's sentences with its five classes, ``sst/{train,validation,test}.parquet`` in the folder named by
             ``ATTEST_DATA``, else ``SetFit/sst5`` on the Hub.
    Raises:  AttestError: neither is there; the message says what to do.

    Args:
        protocol: which recipe.
        batch_size, seed, num_workers: as in ``TextDataModule``.
    """

    def __init__(
        self,
        protocol: Literal["jw-current"] = "jw-current",
        batch_size: int = 32,
        seed: int = 0,
        num_workers: int = 0,
    ) -> None:
        super().__init__(batch_size, seed, num_workers)
        self.protocol = protocol

    def read(self) -> Corpus:
        """Read the treebank and apply the protocol."""
        splits = {split: _read_split(split) for split in ("train", "validation", "test")}
        vocabulary = Vocabulary.fit(splits["train"].tokens)
        return Corpus(
            **{split: _within_length(documents) for split, documents in splits.items()},
            vocabulary=vocabulary,
            label_names=("negative", "positive"),
        )


def _read_split(split: str) -> Documents:
    tokenizer = spacy.blank("en").tokenizer
    rows = load_split("sst", split, hub="SetFit/sst5")
    decided = [(row, text, label) for row, (text, label) in enumerate(zip(rows["text"], rows["label"])) if label != NEUTRAL]
    texts = [words_only(text) for _, text, _ in decided]
    return Documents(
        ids=[row for row, _, _ in decided],
        tokens=[[token.text.lower() for token in document] for document in tokenizer.pipe(texts)],
        labels=[int(label > NEUTRAL) for _, _, label in decided],
    )


def words_only(text: str) -> str:
    """Brackets and every run of characters that are no letters, digits or underscores become one blank."""
    text = text.replace("-LRB-", "").replace("-RRB-", " ")
    return re.sub(r"\W+", " ", text).strip()


def _within_length(documents: Documents) -> Documents:
    longest = max(len(tokens) for tokens in documents.tokens)
    return documents.where(lambda tokens: 5 < len(tokens) < longest)
