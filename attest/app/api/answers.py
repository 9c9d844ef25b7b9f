"""Prepare and score the answers of a model that answers each question with a span of a passage.

Legend: B texts of a batch, T tokens.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from typing import Any

import torch

from attest.app.api.batches import Batch
from attest.app.api.measuring import inputs_of
from attest.core.errors import AttestError
from attest.core.label_values import in_order
from attest.core.memory import in_evaluation_mode
from attest.datamodules.notice import say

DECISIONS = ("another answer", "its answer")
"""The names of classes 0 and 1. A trial changes the passage and asks: does the model now give another answer (0), or the
answer that it gave to the unchanged passage (1)?"""
REMARK = (
    "The model answers by a span of the passage. A decision is whether it still gives the answer that it gave; erasing the "
    "first or the last token of that answer takes it away. The question is neither ranked nor erased."
)
HOW = 'For example: attest.trial(model, [("Who wrote it?", "It was written by Ann.")], labels=["Ann"], tokenizer=tokenizer)'


def require_questions(texts: Sequence[Any], encode: Any) -> None:
    """Refuse texts that are not pairs of a question and its passage."""
    from attest.models.pretrained.texts import Encoder, is_pair

    if not isinstance(encode, Encoder) or not all(map(is_pair, texts)):
        raise AttestError(
            "the model marks an answer in a passage; expected pairs of a question and its passage, and the model's tokenizer. "
            f"{HOW}"
        )


def asked_about(network: Any, batches: Sequence[Batch], texts: Sequence[Any], encode: Any) -> list[Batch]:
    """Return batches of questions and passages with the answer that the model gives to each question.

    Args:
        batches: questions with their passages; ``text_of_pair`` int64 ``(B, T)`` is 0 in the question and 1 in the passage.
    Returns:
        Batches with the answers as strings in ``answer``, and ``roles``, int64 ``(B, T)``, which say what tokens belong to the
        passage and to the answer; ``word`` is -1 at all tokens of the question.
    """
    from attest.models.pretrained.spans import roles_in

    found = []
    with in_evaluation_mode(network), torch.no_grad():
        for batch in batches:
            read, of_passage = inputs_of(batch, network), batch["text_of_pair"] == 1
            passage = of_passage.to(read.mask.device)
            if not passage.any(dim=-1).all():
                place = int(batch["id"][int((~passage.any(dim=-1)).nonzero()[0])])
                raise AttestError(
                    f"no token of the passage of text {place} is read, because the question is too long or the passage is "
                    "empty; expected a shorter question. Leave the text out."
                )
            span, given = network.answered(read, passage), []
            for row, begin, end in zip(batch["id"].tolist(), *(each.tolist() for each in span), strict=True):
                places = encode.places_of(texts[row])
                given.append(texts[row][1][places[begin][0] : places[end][1]])
            told = {"roles": roles_in(passage, span).cpu(), "answer": given}
            found.append(batch | told | {"word": batch["word"].where(of_passage, -1)})
    return found


def scores_of(batches: Sequence[Batch], labels: Any, passages: Sequence[str]) -> tuple[list[Batch], dict[str, float]]:
    """Return two things: batches with ``label`` (1 for a right answer, else 0), and the model's SQuAD scores.

    Args:
        labels: the right answer to each question, a list of right answers, or a dictionary with this list as ``text``, as
            SQuAD has it; None if they are not known. Questions with an empty list, of SQuAD 2, are left out.
        passages: the passage of each question; it is printed how many contain no right answer.
    Returns:
        Batches of the questions that have an answer, and ``test/answer_exact_match`` and ``test/answer_f1`` in [0, 1];
        empty if no answers are known.
    """
    if labels is None:
        return list(batches), {}
    labelled = in_order(labels)
    if labelled is None:
        raise AttestError(
            f"labels= is a {type(labels).__name__}; expected a list with the right answer to each question, or with a list of "
            f"right answers. {HOW}"
        )
    given = [label.get("text") if isinstance(label, Mapping) else label for label in labelled]
    right = [[*each] if isinstance(each, Iterable) and not isinstance(each, str) else [each] for each in given]
    count = sum(len(batch["id"]) for batch in batches)
    if len(right) != count or not all(isinstance(one, str) for each in right for one in each):
        raise AttestError(
            f"labels= does not give a string for each question (questions: {count}, labels: {len(right)}); expected the right "
            f"answer to each question, or a list of right answers. {HOW}"
        )
    if not any(right):
        raise AttestError(f"no question has an answer ({count} empty lists); expected questions with answers. {HOW}")
    if without := sum(not each for each in right):
        say(f"{without} of {count} questions have no answer and are left out: the model always marks one.")
    lacking = [
        not any(str(answer).casefold() in passage.casefold() for answer in each)
        for each, passage in zip(right, passages, strict=True)
        if each
    ]
    if any(lacking):
        say(
            f"{sum(lacking)} of {len(lacking)} questions have no right answer that stands in their passage, so the model "
            "cannot give it. Are passages and answers what they should be?"
        )
    found, scores = [], []
    for batch in (_of_rows(batch, [right[row] != [] for row in batch["id"].tolist()]) for batch in batches):
        if not len(batch["id"]):
            continue
        each = [_scored(answer, right[row]) for answer, row in zip(batch["answer"], batch["id"].tolist(), strict=True)]
        found.append(batch | {"label": torch.tensor([exact == 1 for exact, _ in each]).long()})
        scores += each
    exact, overlap = torch.tensor(scores, dtype=torch.float64).mean(dim=0).tolist()
    return found, {"test/answer_exact_match": exact, "test/answer_f1": overlap}


def _of_rows(batch: Batch, kept: Sequence[bool]) -> Batch:
    """Return the rows of a batch that are kept."""
    rows = torch.tensor(kept)
    return {
        name: values[rows.to(values.device)] if isinstance(values, torch.Tensor) else [*compress(values, kept)]
        for name, values in batch.items()
    }


def _scored(given: str, right: Sequence[str]) -> tuple[float, float]:
    """Return two scores of an answer, in [0, 1]: its exact match, and its best word F1 with a right answer."""
    from torchmetrics.functional.text import squad  # five seconds to import

    answers: dict[str, Any] = {"text": [*right], "answer_start": [0] * len(right)}
    scores = squad([{"prediction_text": given, "id": "0"}], [{"answers": answers, "id": "0"}])
    return float(scores["exact_match"]) / 100, float(scores["f1"]) / 100
