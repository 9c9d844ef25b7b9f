"""Scores of tagged sequences: micro-averaged F1 of whole chunks and of single tokens.

Legend: B sentences of a batch, N of a split, T tokens, K tags.
"""

import re
from collections.abc import Sequence

import torch
from torch import Tensor

TAG = re.compile(r"([BIESLUM])-(.+)", re.IGNORECASE)
OUTSIDE, BEGIN, INSIDE, END, SINGLE = range(5)
PREFIXES = {"B": BEGIN, "I": INSIDE, "M": INSIDE, "E": END, "L": END, "S": SINGLE, "U": SINGLE}
"""The place of a token in its chunk (``BEGIN``, ``INSIDE``, ``END``, or ``SINGLE`` for a chunk of one token), by the prefix of
its tag, such as ``B`` in ``B-NP``. Covers the schemes IOB1, IOB2, IOBES, BILOU and BMES."""


def f1_of_counts(counts: Tensor) -> Tensor:
    """Compute F1 in [0, 1], float32 ``()``, from counts of correct, predicted and true items; NaN if there are no items.

    Args:
        counts: correct, predicted and gold ``(N, 3)``, of any number of sentences.
    """
    correct, predicted, gold = counts.sum(dim=0)
    return (2 * correct / (predicted + gold)).float()


def has_chunks(label_names: Sequence[str]) -> bool:
    """Return whether all tags except ``O`` have a chunk prefix, as ``B-NP`` and ``I-NP`` have."""
    marked = [TAG.fullmatch(name) for name in label_names if not is_outside(name)]
    return bool(marked) and all(marked)


def is_outside(name: str) -> bool:
    """Return whether a tag is ``O``, the tag of tokens outside all chunks."""
    return name.upper() == "O"


def chunk_counts(predicted: Tensor, gold: Tensor, label_names: Sequence[str]) -> Tensor:
    """Count correct, predicted and true chunks of each sentence; correct means the right type, start and end.

    Args:
        predicted, gold: int64 tags ``(B, T)``; where the gold tag is negative there is no token.
        label_names: the K tags in the order of their ids.
    Returns:
        int64 ``(B, 6)``: correct, predicted and gold chunks, counted twice. The first three count as IOB2 does: a chunk begins
        with B- (``seqeval``, mode strict). The last three count as CoNLL's script does: a chunk may also begin with I-
        (``seqeval``, default). ``of_scheme`` chooses between them for a split. All are 0 if the tags mark no chunks.
    """
    if not has_chunks(label_names):
        return gold.new_zeros(len(gold), 6)
    real_first = (gold < 0).long().argsort(dim=-1, stable=True)
    gold, predicted = gold.gather(-1, real_first), predicted.gather(-1, real_first)
    claimed, true = (_Chunks(tags.masked_fill(gold < 0, -1), label_names) for tags in (predicted, gold))
    same = claimed.starts & true.starts & (claimed.types == true.types) & (claimed.last == true.last)
    counts = (same & claimed.proper & true.proper, claimed.proper, true.proper, same, claimed.starts, true.starts)
    return torch.stack([each.sum(dim=-1) for each in counts], dim=-1)


class _Chunks:
    """The chunks in sentences with tags ``(B, T)``: the type, the start and the end of each chunk.

    ``proper`` marks chunks that start with B-; if some tag is not of the kind B-, I- or O, it marks no chunk.
    """

    def __init__(self, tags: Tensor, label_names: Sequence[str]) -> None:
        found = [TAG.fullmatch(name) for name in label_names]
        kinds = [OUTSIDE if each is None else PREFIXES[each[1].upper()] for each in found]
        names = ["" if each is None else each[2] for each in found]
        prefix = tags.new_tensor([*kinds, OUTSIDE])[tags]  # -1, no token, is the last
        self.types = tags.new_tensor([*(names.index(name) for name in names), -1])[tags]
        inside = prefix != OUTSIDE
        ended = torch.isin(prefix, tags.new_tensor([END, SINGLE])) | ~inside
        before = torch.ones_like(inside)
        before[:, 1:] = ended[:, :-1] | (self.types[:, :-1] != self.types[:, 1:])
        self.starts = inside & (before | torch.isin(prefix, tags.new_tensor([BEGIN, SINGLE])))
        self.proper = self.starts & (prefix == BEGIN) & (max(kinds) <= INSIDE)
        stops = torch.ones_like(inside)
        stops[:, :-1] = ended[:, :-1] | self.starts[:, 1:] | ~inside[:, 1:]
        places = torch.arange(tags.shape[-1], device=tags.device).expand_as(tags)
        self.last = places.masked_fill(~stops, tags.shape[-1]).flip(-1).cummin(dim=-1).values.flip(-1)
        """int64 ``(B, T)``: the position of the last token of the chunk that each token is in; a token outside all chunks has
        its own position."""


def of_scheme(counts: Tensor) -> Tensor:
    """Choose the counts of IOB2 or of CoNLL's script from the counts ``(N, 6)`` of ``chunk_counts``; return ``(N, 3)``.

    The counts of IOB2 are chosen, unless some gold chunk begins without B-, as in IOB1 and IOBES.
    """
    proper, all_chunks = counts[:, 2].sum(), counts[:, 5].sum()
    return counts[:, :3] if proper == all_chunks else counts[:, 3:]


def token_counts(predicted: Tensor, gold: Tensor, label_names: Sequence[str]) -> Tensor:
    """Count in each sentence the correct, predicted and true tags that are not ``O``, int64 ``(B, 3)``.

    Args:
        predicted, gold, label_names: as in ``chunk_counts``.
    """
    outside = next((place for place, name in enumerate(label_names) if is_outside(name)), -1)
    real = gold >= 0
    claimed, true = real & (predicted != outside), real & (gold != outside)
    return torch.stack([each.sum(dim=-1) for each in (claimed & true & (predicted == gold), claimed, true)], dim=-1)
