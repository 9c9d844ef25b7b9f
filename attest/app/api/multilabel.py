"""Ask a multi-label model one question for each text and label: does the text have the label?

A model that decides each label by itself has no one decision about a text. So each instance of a trial is a text and a label,
one that the text has or that the model gives it, and the decision is whether the label is present.

Legend: N texts, B texts of a batch, L labels.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from attest.app.api.batches import Batch
from attest.app.api.measuring import inputs_of
from attest.core.errors import AttestError
from attest.core.label_sets import label_sets
from attest.datamodules.notice import say

DECISIONS = ("absent", "present")
"""The names of classes 0 and 1 of each decision, which is about one label of one text: the text lacks the label, or has it."""


def labels_of(labels: Any, texts: int, names: Sequence[str]) -> Tensor | None:
    """Return which of L labels each of N texts has, bool ``(N, L)``; None if the labels are not known."""
    return None if labels is None else torch.from_numpy(label_sets(labels, texts, names))


def asked_of(network: Any, batches: Sequence[Batch], batch_size: int) -> tuple[list[Batch], dict[str, float]]:
    """Return batches with one row for each pair of text and label, and a dictionary of F1 scores and exact match.

    Args:
        batches: batches of texts; ``label`` bool ``(B, L)`` says which labels each text has, if that is known.
    Returns:
        Batches with one row for each label that a text has or that the model predicts for it: ``text`` is the id of the text,
        ``asked`` the number of the label, int64 ``(B,)`` each; ``label`` is 1 if the text has it. And ``test/f1_micro``,
        ``test/f1_macro`` and ``test/exact_match`` in [0, 1]; empty if no labels are known.
    """
    found, probabilities, gold, left_out = [], [], [], 0
    for batch in batches:
        with torch.no_grad():
            each = inputs_of(batch, network).read_by(network).float().sigmoid().cpu()
        probabilities.append(each)
        present = each > 0.5
        if "label" in batch:
            gold.append(batch["label"].cpu().long())
            present = present | (gold[-1] == 1)
        rows, asked = present.nonzero().unbind(dim=-1)
        left_out += int((~present.any(dim=-1)).sum())
        for start in range(0, len(rows), batch_size):
            here = slice(start, start + batch_size)
            found.append(_part(batch, rows[here], asked[here], each.shape[-1]))
    if not found:
        raise AttestError(
            "the model predicts no label for any text, and the true labels are not given; expected texts with labels. Give "
            "labels=."
        )
    if left_out:
        texts = sum(map(len, probabilities))
        say(f"{left_out} of {texts} texts have no label and are given none; nothing is asked about them.")
    return found, _scores(torch.cat(probabilities), torch.cat(gold)) if gold else {}


def _part(batch: Batch, rows: Tensor, asked: Tensor, labels: int) -> Batch:
    taken = {
        name: values[rows] if isinstance(values, Tensor) else [values[row] for row in rows] for name, values in batch.items()
    }
    taken |= {"text": taken["id"], "asked": asked, "id": batch["id"][rows] * labels + asked}
    return taken | ({"label": batch["label"][rows, asked].long()} if "label" in batch else {})


def _scores(probabilities: Tensor, gold: Tensor) -> dict[str, float]:
    from torchmetrics.functional.classification import binary_f1_score  # five seconds to import

    each = [binary_f1_score(probabilities[:, label], gold[:, label]) for label in range(gold.shape[-1])]
    there = ((probabilities > 0.5) | (gold == 1)).any(dim=0)
    scores = {
        "f1_micro": binary_f1_score(probabilities.flatten(), gold.flatten()),
        "f1_macro": torch.stack(each)[there].mean(),
        "exact_match": ((probabilities > 0.5) == (gold == 1)).all(dim=-1).double().mean(),
    }
    return {f"test/{name}": float(score) for name, score in scores.items()}
