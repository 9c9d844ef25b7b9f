"""Comparison of explanations with the words that people marked: plausibility, as ERASER scores it (DeYoung et al. 2020).

A plausible explanation need not be faithful: it can rank first what people would choose, and miss what the model uses.

Legend: B batch, R readings, T tokens, W words, A annotators.
"""

import torch
from torch import Tensor
from torch.nn import functional

from attest.experiments.erasure.outcomes import random_ranks, ranks_of
from attest.experiments.words import first_of_words, over_words, ranked_words
from attest.models.observation import Observation

MATCH = 0.5
"""A span of words that an explanation marks counts as found if its intersection over union with a span that people marked is
at least this."""
SETS = 20


def plausibility(values: Tensor, ranks: Tensor, marked: Tensor, mask: Tensor) -> dict[str, Tensor]:
    """Score how well rankings of words agree with the words that people marked.

    Args:
        values: float ``(B, R, W)``.
        ranks: int64 ``(B, R, W)``, the place of each word by its value, ties broken, as ``ranks_of`` returns them.
        marked, mask: bool ``(B, W)``.
    Returns:
        float64 ``(B, R)`` in [0, 1], NaN if no words or all words are marked: ``f1``, the token F1 of as many words ranked
        first as are marked, for which precision and recall are the same; ``iou_precision``, the share of the spans ranked
        first that overlap a marked span by half of their union; ``iou_recall``, their number over that of marked spans;
        ``auprc``, the area under the curve of precision and recall, by trapezoids from (0, 1); tied words come at once.
    """
    count = (marked & mask).sum(dim=-1)
    undefined = ((count == 0) | (count == mask.sum(dim=-1))).unsqueeze(-1)
    true = (marked & mask).unsqueeze(1).expand(ranks.shape)
    chosen = (ranks < count[:, None, None]) & mask.unsqueeze(1)
    precision, recall = spans_found(chosen, true)
    f1 = (chosen & true).sum(dim=-1).double() / count.unsqueeze(-1)
    scores = {"f1": f1, "iou_precision": precision, "iou_recall": recall, "auprc": area_under_curve(values, true, mask)}
    return {name: each.double().masked_fill(undefined, torch.nan) for name, each in scores.items()}


def spans_found(chosen: Tensor, true: Tensor) -> tuple[Tensor, Tensor]:
    """Compute precision and recall, ``(...)`` each, of the spans in ``chosen`` against those in ``true``, bool ``(..., W)``.

    A span is a run of neighbouring words. Two overlapping spans share one run of words, whose length is their intersection.
    """
    place, ours, theirs, both = _runs(chosen), _lengths(chosen), _lengths(true), _lengths(chosen & true)
    overlap = torch.where(chosen & true, both.double() / (ours + theirs - both).clamp(min=1), 0.0)
    best = torch.zeros(*place.shape[:-1], place.shape[-1] + 1, dtype=overlap.dtype, device=place.device)
    best = best.scatter_reduce(-1, place, overlap.masked_fill(~chosen, 0), "amax")
    found = (best >= MATCH).sum(dim=-1)
    chosen_spans, true_spans = (_begins(each).sum(dim=-1).clamp(min=1) for each in (chosen, true))
    return found.double() / chosen_spans, found.double() / true_spans


def _begins(chosen: Tensor) -> Tensor:
    return chosen & ~functional.pad(chosen[..., :-1], (1, 0))


def _runs(chosen: Tensor) -> Tensor:
    return _begins(chosen).cumsum(dim=-1).masked_fill(~chosen, 0)


def _lengths(chosen: Tensor) -> Tensor:
    runs = _runs(chosen)
    counts = torch.zeros(*runs.shape[:-1], runs.shape[-1] + 1, dtype=torch.int64, device=runs.device)
    return counts.scatter_add(-1, runs, chosen.long()).gather(-1, runs).masked_fill(~chosen, 0)


def area_under_curve(values: Tensor, true: Tensor, mask: Tensor) -> Tensor:
    """Compute the area under the precision-recall curve of each ranking, ``(B, R)``; equal values share one point."""
    keys, order = values.masked_fill(~mask.unsqueeze(1), -torch.inf).sort(dim=-1, descending=True)
    in_order = true.gather(-1, order)
    so_far, place = in_order.cumsum(dim=-1), torch.arange(1, values.shape[-1] + 1, device=values.device)
    last = functional.pad(keys[..., 1:] != keys[..., :-1], (0, 1), value=True)  # of its value: a threshold
    recall = so_far.double() / so_far[..., -1:].clamp(min=1)
    precision = so_far.double() / place
    before = torch.where(last, place, 0).cummax(dim=-1).values  # the threshold at or before each place, counted from 1
    before = functional.pad(before[..., :-1], (1, 0))
    last_recall, last_precision = (
        functional.pad(each, (1, 0), value=start).gather(-1, before) for each, start in ((recall, 0.0), (precision, 1.0))
    )
    areas = (recall - last_recall) * (precision + last_precision) / 2
    return (areas * last).sum(dim=-1)


def chance(marked: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    r"""Compute the expected token F1 and area under the precision-recall curve of random orders, float64 ``(B,)``.

    With m of n words marked, F1 is m / n. The area is the mean of m / n and the average precision. The latter is
    :math:`\frac 1 n \left(\frac{m - 1}{n - 1} (n - H_n) + H_n\right)`, :math:`H_n` being the n-th harmonic number.
    """
    n = mask.sum(dim=-1).double()
    m = (marked & mask).sum(dim=-1).double()
    harmonic = (1 / torch.arange(1, mask.shape[-1] + 1, dtype=torch.float64, device=mask.device)).cumsum(dim=-1)
    h = harmonic[(n.long() - 1).clamp(min=0)]
    average_precision = ((m - 1) / (n - 1).clamp(min=1) * (n - h) + h) / n
    undefined = (m == 0) | (m == n)
    f1, auprc = m / n, average_precision / 2 + m / n / 2
    return f1.masked_fill(undefined, torch.nan), auprc.masked_fill(undefined, torch.nan)


def agreement(marks: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Compute how well pairs of annotators agree on average: token F1 in [0, 1] and Cohen's κ, float64 ``(B,)``.

    Args:
        marks: ``(B, W, A)`` of 0 and 1, NaN for an annotator who did not mark the text.
        mask: bool ``(B, W)``.
    """
    known = marks.isfinite()[:, 0]
    each = marks.nan_to_num().double() * mask.unsqueeze(-1)
    both = each.transpose(1, 2) @ each  # (B, A, A): words that both mark
    count, words = each.sum(dim=1), mask.sum(dim=-1).double()[:, None, None]
    summed = count.unsqueeze(1) + count.unsqueeze(2)
    f1 = 2 * both / summed
    share = count / words.squeeze(-1)
    alike = 1 - (summed - 2 * both) / words
    expected = share.unsqueeze(1) * share.unsqueeze(2) + (1 - share).unsqueeze(1) * (1 - share).unsqueeze(2)
    kappa = (alike - expected) / (1 - expected)
    pairs = torch.triu(known.unsqueeze(1) & known.unsqueeze(2), diagonal=1)
    f1, kappa = (torch.where(pairs & found.isfinite(), found, torch.nan).nanmean(dim=(1, 2)) for found in (f1, kappa))
    return f1, kappa


def against_marks(observation: Observation, rankings: dict[str, Tensor], seed: int) -> dict[str, Tensor]:
    """Score how well explanations agree with the words that people marked, as columns ``(B,)``.

    Args:
        rankings: ``(B, T)``, by name.
        seed: with an instance's id it breaks ties and draws random sets.
    """
    assert observation.marks is not None
    if observation.words is None:
        first, values = observation.ranked, torch.stack([*rankings.values()], dim=1).double()
        marks = observation.marks
    else:
        words = ranked_words(observation)
        first = first_of_words(words)
        values = torch.stack([over_words(each.double(), words) for each in rankings.values()], dim=1)
        summed = [over_words(each, words) for each in observation.marks.unbind(dim=-1)]
        marks = torch.stack([torch.where(each.isnan(), each, (each > 0).to(each)) for each in summed], dim=-1)
    order = (~first).long().argsort(dim=-1, stable=True)  # words side by side, what is ranked in front
    mask = first.gather(-1, order)
    values = values.gather(-1, order.unsqueeze(1).expand_as(values))
    marks = marks.gather(1, order.unsqueeze(-1).expand_as(marks))
    marked = (marks.nanmean(dim=-1) >= MATCH) & mask
    undefined = values.isnan().any(dim=-1)
    values = values.nan_to_num()
    ranks = ranks_of(values, observation.ids, mask, seed)
    found = plausibility(values, ranks, marked, mask)
    columns: dict[str, Tensor] = {}
    for score, each in found.items():
        rows = each.masked_fill(undefined, torch.nan).unbind(dim=1)
        columns |= {f"plausible_{score}_{name}": row for name, row in zip(rankings, rows, strict=True)}
    drawn = random_ranks(observation.ids, mask, SETS, seed)
    by_chance = plausibility(-drawn.double(), drawn, marked, mask)
    f1, auprc = chance(marked, mask)
    columns |= {"plausible_f1_chance": f1, "plausible_auprc_chance": auprc}
    columns |= {f"plausible_{name}_chance": by_chance[name].mean(dim=-1) for name in ("iou_precision", "iou_recall")}
    if marks.shape[-1] > 1:
        columns["plausible_f1_human"], columns["kappa_human"] = agreement(marks, mask)
    return columns
