"""The test scores that the papers report."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from attest.lightning_modules.predictions import Predicted
from attest.measures.chunks import chunk_counts, f1_of_counts, of_scheme, token_counts
from attest.measures.decisions import decision_scores


def classification_scores(predicted: Predicted) -> dict[str, Tensor]:
    """Accuracy, F1 and ROC-AUC as ``decision_scores`` has them, and the mean loss."""
    return decision_scores(predicted.probabilities, predicted.labels) | {"loss": predicted.losses.mean().float()}


def tagging_columns(logits: Tensor, tags: Tensor, label_names: Sequence[str]) -> Tensor:
    """What each sentence contributes to the scores of a tagger, float64 ``(B, 12)``; B may be 0.

    Args:
        logits: ``(B, T, K)``.
        tags: int64 ``(B, T)``, -100 at padding.
        label_names: the K tags.
    Returns:
        sum of the tokens' losses, tokens, tokens tagged right; then what ``token_counts`` and ``chunk_counts`` return.
    """
    predicted, real = logits.argmax(dim=-1), tags >= 0
    losses = functional.cross_entropy(logits.transpose(1, 2), tags, reduction="none")
    counts = token_counts(predicted, tags, label_names), chunk_counts(predicted, tags, label_names)
    sums = (losses.double(), real, real & (predicted == tags))
    return torch.cat([*(each.sum(dim=-1, keepdim=True) for each in sums), *counts], dim=-1)


def tagging_scores(columns: Tensor) -> dict[str, Tensor]:
    """Scores over all tokens and chunks of sentences that ``tagging_columns`` describes, ``(N, 12)``.

    Returns:
        ``loss``, mean over tokens; ``accuracy`` over tokens, ``token_f1`` and ``chunk_f1``, in [0, 1], NaN where undefined:
        F1 where there is nothing to find and nothing found, and of chunks where tags mark none.
    """
    loss, tokens, right = columns[:, :3].sum(dim=0)
    return {
        "loss": (loss / tokens).float(),
        "accuracy": (right / tokens).float(),
        "token_f1": f1_of_counts(columns[:, 3:6]),
        "chunk_f1": f1_of_counts(of_scheme(columns[:, 6:])),
    }
