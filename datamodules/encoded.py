"""The splits of a corpus as token ids; padded batches are read from them."""

from collections.abc import Mapping, Sequence
from copy import copy
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.data import Dataset

from attest.core.errors import AttestError
from attest.core.labels import UNLABELLED
from attest.datamodules.corpus import NO_WORD, Documents
from attest.datamodules.notice import say
from attest.datamodules.vocabulary import PADDING, UNKNOWN, Vocabulary

if TYPE_CHECKING:
    from attest.models.pretrained.subwords import Subwords


Batch = dict[str, Tensor]


class EncodedDocuments(Dataset):
    """A data set of texts as token ids, stored in one flat tensor and read one batch at a time."""

    def __init__(self, documents: Documents, vocabulary: Vocabulary) -> None:
        self.documents = documents
        self.ids = documents.ids
        """The ids of the texts, int64 ``(N,)``."""
        self.lengths = documents.lengths
        self.sizes = self.lengths
        """The number by which texts are sorted into batches, ``(N,)``: the number of tokens of each text or, in
        ``EncodedSentences``, the number of its sentences."""
        self._per_text = {"id": torch.tensor(documents.ids)}
        if documents.labels is not None:
            self._per_text["label"] = torch.tensor(documents.labels)
        self._per_token = {"token_ids": (torch.tensor(vocabulary.encode_all(documents.flat("tokens"))), PADDING)}
        for column, padding in (("tags", UNLABELLED), ("rationale", False), ("word", NO_WORD)):
            if documents.has(column):
                values = documents.flat(column).to_numpy(zero_copy_only=False)
                self._per_token[column] = (torch.tensor(values), padding)
        self._starts = _starts(self.lengths)
        self._row_of = {identity: row for row, identity in enumerate(documents.ids.tolist())}

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitems__(self, rows: list[int]) -> Batch:
        """Return one padded batch; see ``TextDataModule`` for its keys."""
        index = torch.tensor(rows, dtype=torch.int64)
        return self._padded(index, self._starts[index], torch.from_numpy(self.lengths[rows]))

    def _padded(self, index: Tensor, starts: Tensor, lengths: Tensor) -> Batch:
        position = torch.arange(int(lengths.max()))
        mask = position < lengths.unsqueeze(-1)
        source = (starts.unsqueeze(-1) + position).where(mask, 0)
        tokens = {key: values[source].where(mask, padding) for key, (values, padding) in self._per_token.items()}
        return {key: values[index] for key, values in self._per_text.items()} | tokens | {"mask": mask}

    @property
    def flat(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the token ids of all texts, int64 ``(N,)``, and the start and the length of each text, ``(M,)``."""
        return self._per_token["token_ids"][0], self._starts, torch.from_numpy(self.lengths)

    def without(self, erased: Mapping[int, np.ndarray]) -> "EncodedDocuments":
        """Return a copy of the data set in which the ``erased`` tokens are replaced by the unknown token."""
        if {*erased} != {*self.ids.tolist()} or any(
            len(erased[identity]) != length for identity, length in zip(self.ids.tolist(), self.lengths, strict=True)
        ):
            raise AttestError(
                "data.init_args.erased names a file for other texts; expected the file for this corpus. Leave the option out, "
                "or start again with FORCE=1."
            )
        gone = torch.from_numpy(np.concatenate([np.asarray(erased[identity], dtype=bool) for identity in self.ids.tolist()]))
        other = copy(self)
        tokens, padding = self._per_token["token_ids"]
        other._per_token = self._per_token | {"token_ids": (tokens.masked_fill(gone, UNKNOWN), padding)}
        return other

    def tokens_of(self, identity: int) -> list[str]:
        """Return the words of the text with the given id, including words that the vocabulary does not know."""
        return self.documents.words_of(self._row_of[identity])

    def units_of(self, identity: int) -> list[str]:
        """Return the words of the text with the given id; pooled attention gives each word a weight."""
        return self.tokens_of(identity)


class EncodedSentences(EncodedDocuments):
    """A data set whose texts are lists of sentences; a batch has token ids ``(B, S, T)`` and two masks."""

    def __init__(self, documents: Documents, vocabulary: Vocabulary) -> None:
        super().__init__(documents, vocabulary)
        self.sentences = pc.list_value_length(documents.table["sentences"]).to_numpy().astype(np.int64)
        """The number of sentences in each text, int64 ``(N,)``."""
        self._sentence_lengths = torch.tensor(documents.flat("sentences").to_numpy())
        self._sentence_starts = _starts(self._sentence_lengths.numpy())
        self._first_sentence = _starts(self.sentences)
        longest = np.maximum.reduceat(self._sentence_lengths.numpy(), self._first_sentence.numpy())
        self.sizes = self.sentences + longest / (longest.max() + 1)

    def __getitems__(self, rows: list[int]) -> Batch:
        index = torch.tensor(rows, dtype=torch.int64)
        counts = torch.from_numpy(self.sentences[rows])
        position = torch.arange(int(counts.max()))
        sentence_mask = position < counts.unsqueeze(-1)
        source = (self._first_sentence[index].unsqueeze(-1) + position).where(sentence_mask, 0)
        lengths = self._sentence_lengths[source].where(sentence_mask, 0)
        return self._padded(index, self._sentence_starts[source], lengths) | {"sentence_mask": sentence_mask}

    def units_of(self, identity: int) -> list[str]:
        """Return the sentences of the text with the given id; pooled attention gives each sentence a weight."""
        row = self._row_of[identity]
        words = iter(self.documents.words_of(row))
        return [" ".join(islice(words, length)) for length in self.documents.table["sentences"][row].as_py()]


class EncodedQuestions(EncodedDocuments):
    """A data set of texts with one question each; in a batch, the question follows the padding of its text.

    Candidate answers stand before the question; the id of each is the size of the vocabulary plus its class.
    """

    def __init__(self, documents: Documents, vocabulary: Vocabulary) -> None:
        super().__init__(documents, vocabulary)
        beside = {"question": vocabulary.encode_all(documents.flat("question"))}
        if documents.has("candidates"):
            beside = {"candidates": len(vocabulary) + documents.flat("candidates").to_numpy()} | beside
        lengths = [pc.list_value_length(documents.table[column]).to_numpy() for column in beside]
        text = np.concatenate([np.repeat(np.arange(len(documents)), each) for each in lengths])
        self._beside = torch.from_numpy(np.concatenate([*beside.values()])[text.argsort(kind="stable")])
        self._beside_lengths = torch.from_numpy(sum(lengths).astype(np.int64))
        self._beside_starts = _starts(self._beside_lengths.numpy())

    def __getitems__(self, rows: list[int]) -> Batch:
        batch, index = super().__getitems__(rows), torch.tensor(rows, dtype=torch.int64)
        lengths = self._beside_lengths[index].unsqueeze(-1)
        before = torch.arange(-int(lengths.max()), 0) + lengths  # below 0: padding
        questions = self._beside[(self._beside_starts[index].unsqueeze(-1) + before).where(before >= 0, 0)]
        paddings = {"mask": False} | {key: padding for key, (_, padding) in self._per_token.items()}
        wide = {key: functional.pad(batch[key], (0, before.shape[-1]), value=value) for key, value in paddings.items()}
        tokens = torch.cat([batch["token_ids"], questions.where(before >= 0, PADDING)], dim=-1)
        return batch | wide | {"token_ids": tokens}

    def question_of(self, identity: int) -> list[str]:
        return self.documents.table["question"][self._row_of[identity]].as_py()


def _starts(lengths: np.ndarray) -> Tensor:
    return torch.from_numpy(lengths.cumsum() - lengths)


def read_erased(path: Path, split: str) -> dict[int, np.ndarray]:
    """Read a table of erased tokens; return a mask, bool ``(T,)``, for the id of each text in the split."""
    if not path.is_file():
        raise AttestError(
            f"the file {path} in data.init_args.erased does not exist; expected a table that `attest roar` wrote."
        )
    rows = pd.read_parquet(path)
    mine = rows[rows["split"] == split]
    return dict(zip(mine["id"].tolist(), mine["erased"], strict=True))


def in_subwords(documents: Documents, subwords: "Subwords", label_names: Sequence[str] = ()) -> Documents:
    """Cut texts into subwords with special tokens, and print how many texts were shortened.

    Only the first subword of a word has its tag; all subwords of a deciding word are deciding.
    """
    from attest.models.pretrained.subwords import tags_of_subwords, told_of_unread  # whoever gives subwords has waited for it
    from attest.models.pretrained.texts import side_cut

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
        pairs = zip(documents.table["rationale"].to_pylist(), cut.words, strict=True)
        columns["rationale"] = pa.array([[word is not None and text[word] for word in words] for text, words in pairs])
    columns["word"] = pa.array([[NO_WORD if word is None else word for word in words] for words in cut.words])
    return Documents.of(documents.ids, pa.array(tokens, pa.list_(pa.string())), **columns)
