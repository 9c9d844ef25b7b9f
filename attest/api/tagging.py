"""A model that gives every token a class, on trial: sentences as words with a tag each in, a table of tagged sentences out.

Legend: B batch, T tokens, K tags.
"""

from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from attest.api.batches import Batch
from attest.api.measuring import Measuring
from attest.attention.interventions import attending
from attest.datamodules.notice import say
from attest.errors import AttestError
from attest.experiments.contract import require_finite_logits
from attest.experiments.layers import LayerObservation, observe_layers
from attest.experiments.layers.observation import self_attending
from attest.experiments.registry import Asked
from attest.experiments.rows import rows_of, tag_columns
from attest.labels import UNLABELLED as NO_TAG
from attest.labels import class_numbers, doubt, of_batch
from attest.measures.chunks import chunk_counts, f1_of_counts, has_chunks, of_scheme, token_counts
from attest.runs.folder import TAGGED


def tagged_batches(
    sentences: Sequence[Any], tags: Sequence[Any] | None, reads: Any, batch_size: int, label_names: Sequence[str]
) -> list[Batch]:
    """Batches of sentences of like length, in subwords; a word's tag is that of its first subword.

    Args:
        sentences: lists of words; or batches with ``token_ids``, ``mask`` and ``tags`` ``(B, T)``, which are returned.
        tags: classes of the words of each sentence, as ``class_numbers`` takes them.
        reads: the ``Encoder`` of the model.
        batch_size: largest batch.
        label_names: the tags, in class order.
    Raises:
        AttestError: a sentence is no list of words, or tags are missing or other than as many.
    """
    given = list(sentences)
    if given and all(isinstance(each, Mapping) for each in given):
        return given
    if reads is None or any(isinstance(each, str) for each in given):
        raise AttestError(
            "the model gives every token a class; expected sentences as lists of words, a tag for each word, and the model's "
            "tokenizer: attest.trial(model, [['A', 'film']], labels=[[3, 4]], tokenizer=tokenizer)"
        )
    lengths = [len(words) for words in given]
    tags = [each for each in (() if tags is None else tags) if isinstance(each, Sized) and not isinstance(each, str)]
    if lengths != [len(each) for each in tags]:
        raise AttestError("the tags do not match the words; expected labels= with one class for each word of each sentence.")
    flat = class_numbers([tag for each in tags for tag in each], (sum(lengths),), label_names, partly=True)
    if doubtful := doubt(flat, label_names):
        say(doubtful)
    numbers = [each.tolist() for each in np.split(flat, np.cumsum(lengths)[:-1])]
    from attest.pretrained.subwords import cut, tags_of_subwords, told_of_unread

    found = cut(reads.tokenizer, given, reads.longest)
    reads.cut += found.shortened
    if told := told_of_unread(given, found, reads.longest):
        say(told)
    first = tags_of_subwords(numbers, found.words, label_names)
    order = sorted(range(len(given)), key=lambda row: len(found.ids[row]))
    special = [[word is None for word in words] for words in found.words]
    return [_batch(order[start : start + batch_size], found.ids, first, special) for start in range(0, len(order), batch_size)]


def _batch(rows: list[int], ids: list[list[int]], tags: list[list[int]], special: list[list[bool]]) -> Batch:
    lengths = torch.tensor([len(ids[row]) for row in rows])
    return {
        "id": torch.tensor(rows),
        "token_ids": pad_sequence([torch.tensor(ids[row]) for row in rows], batch_first=True),
        "tags": pad_sequence([torch.tensor(tags[row]) for row in rows], batch_first=True, padding_value=NO_TAG),
        "special": pad_sequence([torch.tensor(special[row]) for row in rows], batch_first=True),
        "mask": torch.arange(int(lengths.max())) < lengths.unsqueeze(-1),
    }


class TaggedMeasuring(Measuring):
    """Experiments inside the layers of a tagger; the table of the sentences is that of a run with a tagger.

    Args:
        network, measures, label_names, seed: as in ``Measuring``.
    """

    first = TAGGED

    def _measured(self, batch: Batch, everyone: Tensor) -> Iterator[str]:
        layers = self._seen(batch)
        assert layers.labels is not None
        asked = Asked(layers.labels, everyone.to(layers.ids.device), self.seed)
        identity = {"id": layers.ids, "length": layers.mask.sum(dim=-1)}
        heads = [attending(self.network)[layer].heads for layer in self_attending(self.network)]
        if TAGGED in self._asked:
            with self._timed(TAGGED):
                rows = rows_of(identity | tag_columns(layers, self.label_names), layers.mask)
                self._parts[TAGGED].append(rows.assign(tokens=batch["tokens"], heads=[heads] * len(rows)))
            yield TAGGED
        for name, measure in self.measures.items():
            if name not in self._asked:
                continue
            with self._timed(name):
                self._parts[name].append(rows_of(identity | measure(layers, asked), layers.mask))
            yield name

    @torch.no_grad()
    def _seen(self, batch: Batch) -> LayerObservation:
        device = next(self.network.parameters()).device
        ids, tokens, mask = (batch[name].to(device) for name in ("id", "token_ids", "mask"))
        if "tags" not in batch:
            raise AttestError(f"a batch has no tags (B, T); expected a class for each token, {NO_TAG} where it has none.")
        seen = observe_layers(self.network, ids, tokens, mask)
        require_finite_logits(seen.logits, ids, mask)
        self._require_names(seen.probabilities.shape[-1])
        tags = of_batch(batch["tags"], mask.shape, self.label_names, partly=True)
        special = batch["special"].to(device) if "special" in batch else None
        return replace(seen, labels=tags.to(device), special=special)

    def _scores(self, texts: pd.DataFrame) -> dict[str, float]:
        """Accuracy over words; F1 of single tags and of whole chunks where tags mark chunks."""
        gold, predicted = (
            pad_sequence([torch.tensor(row) for row in texts[name]], batch_first=True, padding_value=NO_TAG)
            for name in ("tags", "predicted_tags")
        )
        scores = {"accuracy": (gold == predicted)[gold >= 0].double().mean()}
        if has_chunks(self.label_names):
            scores["token_f1"] = f1_of_counts(token_counts(predicted, gold, self.label_names))
            scores["chunk_f1"] = f1_of_counts(of_scheme(chunk_counts(predicted, gold, self.label_names)))
        return {f"test/{name}": float(score) for name, score in scores.items()}
