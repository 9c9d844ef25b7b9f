"""Scores of tagged sequences: whole chunks by seqeval, single tokens by counting.

Both are micro-averaged F1, so counts of each sentence are all that has to be kept: ten batches score as one, two ranks as one.
"""

from collections.abc import Sequence

import torch
from seqeval.scheme import IOB2, Entities
from torch import Tensor


def f1_of_counts(counts: Tensor) -> Tensor:
    """F1 in [0, 1], float32 ``()``: 2 · correct / (predicted + gold), 0 where nothing is predicted or gold.

    Args:
        counts: correct, predicted and gold ``(N, 3)``, of any number of sentences.
    """
    correct, predicted, gold = counts.sum(dim=0)
    return (2 * correct / (predicted + gold).clamp(min=1)).float()


def chunk_counts(predicted: Tensor, gold: Tensor, label_names: Sequence[str]) -> Tensor:
    """Whole chunks in each sentence, strict IOB2: type and both ends must be right (``seqeval``, mode strict).

    Args:
        predicted, gold: int64 tags ``(B, T)``; where the gold tag is negative there is no token.
        label_names: the tags in the order of their ids, ``B-NP``, ``I-NP``, ``O`` and the like.
    Returns:
        correct, predicted and gold chunks, int64 ``(B, 3)``.
    """
    pairs = zip(_chunks(predicted, gold, label_names), _chunks(gold, gold, label_names), strict=True)
    counts = [(len(guessed & true), len(guessed), len(true)) for guessed, true in pairs]
    return torch.tensor(counts, dtype=torch.int64, device=gold.device).reshape(-1, 3)


def _chunks(tags: Tensor, gold: Tensor, label_names: Sequence[str]) -> list[set[tuple[int, int, str]]]:
    sentences = [[label_names[tag] for tag in row[real].tolist()] for row, real in zip(tags, gold >= 0, strict=True)]
    found = Entities(sentences, scheme=IOB2).entities
    return [{(chunk.start, chunk.end, chunk.tag) for chunk in chunks} for chunks in found]


def token_counts(predicted: Tensor, gold: Tensor, label_names: Sequence[str]) -> Tensor:
    """Single tokens in each sentence with any tag but ``O``, which marks what is in no chunk.

    Args:
        predicted, gold, label_names: as in ``chunk_counts``.
    Returns:
        correct, predicted and gold tokens, int64 ``(B, 3)``.
    """
    outside = list(label_names).index("O") if "O" in label_names else -1
    real = gold >= 0
    claimed, true = real & (predicted != outside), real & (gold != outside)
    return torch.stack([each.sum(dim=-1) for each in (claimed & true & (predicted == gold), claimed, true)], dim=-1)
