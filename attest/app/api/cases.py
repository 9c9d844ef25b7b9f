"""What a trial does differently for models that decide between classes, tag words, choose between texts, mark answers, give
several labels, or return a number.

A trial is one case, which ``case_of`` finds once by the kind of the network. A case says how texts and labels are read, which
decisions a text has, and who measures them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from attest.app.api import answers as spans
from attest.app.api.batches import Batch, Encode, Words, batches_of, encoder_in, in_batches
from attest.app.api.choices import made_choices
from attest.app.api.given import Given
from attest.app.api.measuring import Measuring, TaggedMeasuring, tagged_batches
from attest.app.api.multilabel import DECISIONS, asked_of, labels_of
from attest.app.api.one_number import NumberMeasuring, numbers_of, scale_of
from attest.core.errors import AttestError
from attest.core.kinds import CHOICE, LABELS, NUMBER, SPANS, TAGS
from attest.core.label_values import listed
from attest.core.labels import class_numbers, doubt
from attest.core.memory import in_evaluation_mode
from attest.datamodules.notice import say
from attest.models.prediction import kind_of

Batched = tuple[list[Batch], dict[str, float]]
"""The batches on which a trial tests a model; and the model's test scores, such as accuracy, by their names in the summary.
The second is empty if the scores are computed later, from the model's decisions in the trial."""


class Case:
    """A model that chooses one of K classes for each text; the other cases say what differs.

    Args:
        network: the network on trial.
    """

    measuring: ClassVar[type[Measuring]] = Measuring
    """The class that runs the experiments on models with this kind of decision, and computes their test scores, such as
    accuracy."""
    takes_explanations: ClassVar[bool] = True
    """Whether users may give explanations of their own, such as SHAP values: one number for each token of each text."""
    takes_rationales: ClassVar[bool] = True
    row: ClassVar[str] = "id"
    """The key of a batch's entry, int64 ``(B,)``, that says which of the user's texts each row of the batch is about, as an
    index from 0. It is not ``id`` if one text gives several rows, as in multi-label classification, where a row is about one
    label of a text."""
    remark: ClassVar[str | None] = None
    """A note for readers of the report on what counts as a decision of models of this kind; None if no note is needed."""

    def __init__(self, network: nn.Module) -> None:
        self.network: Any = network
        self.kind = kind_of(network)

    def read(self, read: Given, encode: Encode | None, batch_size: int) -> Given:
        """Return the texts as the model reads them; refuse those that it cannot read."""
        return read

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of what is decided, given those of the classes of the model."""
        return names

    def truth(self, labels: Any, texts: int, names: Sequence[str]) -> Tensor | None:
        """Return the labels that a user gave, in the order of the texts; None without labels."""
        if labels is None:
            return None
        numbers = class_numbers(labels, (texts,), names)
        if doubtful := doubt(numbers, names):
            say(doubtful)
        return torch.from_numpy(numbers)

    def batches(
        self, read: Given, encode: Encode | None, words: Words | None, batch_size: int, names: Sequence[str]
    ) -> list[Batch]:
        """Return the batches of the texts, with their labels."""
        labels = read.labels_for(names, self.kind.asks)
        items = in_batches(read.items, batch_size) if read.tokenized else read.items
        if labels is not None and read.batched and not read.tokenized:
            raise AttestError(
                "labels= was given together with batches; expected labels= only for a list of texts. Put the labels under the "
                "key 'label' of each batch."
            )
        known = self.truth(labels, len(read.items), names)
        batches = batches_of(items, encode, words, batch_size)
        if known is None and (self.kind.asks or not self.kind.chooses) and batches[0].get("label") is not None:
            return self._with_truth(batches, names)
        return batches if known is None else [batch | {"label": known[batch["id"]]} for batch in batches]

    def _with_truth(self, batches: list[Batch], names: Sequence[str]) -> list[Batch]:
        """Return batches whose own labels were read as those of ``labels=`` are."""
        sizes = [len(batch["id"]) for batch in batches]
        known = self.truth([label for batch in batches for label in listed(batch["label"])], sum(sizes), names)
        assert known is not None
        return [batch | {"label": own} for batch, own in zip(batches, known.split(sizes), strict=True)]

    def asked(self, batches: list[Batch], read: Given, encode: Encode | None) -> Batched:
        """Return the batches with what is asked about each text."""
        return batches, {}

    def instances(self, batches: list[Batch], scores: dict[str, float], batch_size: int) -> Batched:
        """Return batches with one row for each decision; by default one a text."""
        return batches, scores

    def decisions(self, names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the names of the classes of a decision, and those of the labels that decisions are about."""
        return names, ()

    def prepare(self, batches: Sequence[Batch]) -> None:
        """Do what has to be done once before the texts are measured."""


class Tags(Case):
    """A tagger, which chooses a class for each word."""

    measuring, takes_explanations = TaggedMeasuring, False

    def batches(
        self, read: Given, encode: Encode | None, words: Words | None, batch_size: int, names: Sequence[str]
    ) -> list[Batch]:
        items = in_batches(read.items, batch_size) if read.tokenized else read.items
        tagged = tagged_batches(items, read.labels_for(names), encode, batch_size, names)
        return batches_of(tagged, encode, words, batch_size)


class Choice(Case):
    """A model of multiple choice, which chooses one of several texts."""

    takes_explanations = takes_rationales = False

    def read(self, read: Given, encode: Encode | None, batch_size: int) -> Given:
        return replace(read, items=made_choices(self.network, read.items, encode, batch_size))

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return names or tuple(f"choice {place}" for place in range(1, self.network.choices.logits.shape[-1] + 1))

    def batches(
        self, read: Given, encode: Encode | None, words: Words | None, batch_size: int, names: Sequence[str]
    ) -> list[Batch]:
        found = super().batches(read, encode, words, batch_size, names)
        if (encoder := encoder_in(encode)) is not None:
            encoder.cut = 0  # pairs that were told of when the model chose
        return found

    def asked(self, batches: list[Batch], read: Given, encode: Encode | None) -> Batched:
        return [batch | {"asked": batch["id"]} for batch in batches], {}


class Spans(Case):
    """A model that marks the answer to a question in a passage."""

    takes_explanations = takes_rationales = False
    remark = spans.REMARK

    def read(self, read: Given, encode: Encode | None, batch_size: int) -> Given:
        spans.require_questions(read.items, encode)
        return read

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return spans.DECISIONS

    def batches(
        self, read: Given, encode: Encode | None, words: Words | None, batch_size: int, names: Sequence[str]
    ) -> list[Batch]:
        unlabelled = replace(read, labels=None)  # right answers are strings, which are compared once the model has answered
        return super().batches(unlabelled, encode, words, batch_size, names)

    def asked(self, batches: list[Batch], read: Given, encode: Encode | None) -> Batched:
        answered = spans.asked_about(self.network, batches, read.items, encode)
        return spans.scores_of(answered, read.labels, [passage for _, passage in read.items])


class Labels(Case):
    """A model that decides each of several labels of a text by itself."""

    takes_explanations, takes_rationales, row = False, False, "text"

    def truth(self, labels: Any, texts: int, names: Sequence[str]) -> Tensor | None:
        return labels_of(labels, texts, names)

    def instances(self, batches: list[Batch], scores: dict[str, float], batch_size: int) -> Batched:
        with in_evaluation_mode(self.network):
            return asked_of(self.network, batches, batch_size)

    def decisions(self, names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return DECISIONS, names


class Number(Case):
    """A model that returns one number for each text."""

    measuring = NumberMeasuring

    def truth(self, labels: Any, texts: int, names: Sequence[str]) -> Tensor | None:
        return numbers_of(labels, texts)

    def prepare(self, batches: Sequence[Batch]) -> None:
        self.network.number = scale_of(self.network, batches)


CASES = {TAGS: Tags, CHOICE: Choice, SPANS: Spans, LABELS: Labels, NUMBER: Number}
"""The subclass of ``Case`` for each kind of decision (tags, spans and so on). Models of a kind without an entry choose one
class for each text, and ``Case`` itself is used."""


def case_of(network: nn.Module) -> Case:
    """Return the case of a network, by what it says that it decides."""
    return CASES.get(kind_of(network), Case)(network)
