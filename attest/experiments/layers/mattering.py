"""The important tokens of a text: those that a user names, those that the corpus marks, or those that leave-one-out finds.

Legend: B batch, T tokens.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from attest.core.memory import NEAR, by_rows, longest_quadratic
from attest.experiments.layers.tampering import MAPS, highest, named
from attest.models.layers_observed import LayerObservation
from attest.models.prediction import lead, logits_of_classes

SHARE = 0.1
"""If leave-one-out must find the important tokens: of the tokens whose removal changes the logit difference, the share that
counts as important, those with the largest change; at least one token."""


def what_matters(observation: LayerObservation, truth: Tensor | None, spans: Mapping[int, Sequence[int]] | None) -> Tensor:
    """Return a mask of the tokens that matter to the decision, bool ``(B, 1, T)``, or to each tag, ``(B, T, T)``."""
    mask = observation.mask
    if spans is not None:
        return named(spans, observation.ids, mask, "E17").unsqueeze(1)
    if truth is not None:
        return (truth & mask).unsqueeze(1)
    moved = _moved_without_each(observation)
    candidates = observation.ranked.unsqueeze(1) & (moved > 0)
    counts = (SHARE * candidates.sum(dim=-1)).ceil().long()
    return highest(moved.masked_fill(~candidates, -1), counts)


def _moved_without_each(observation: LayerObservation) -> Tensor:
    """Return how much removing each token changes the logit difference, ``(B, 1, T)``; for a tagger, ``(B, T, T)``.

    0 for tokens that are never removed, for all tokens of a text that is too long, and for the removed token's own tag.
    """
    network, mask = observation.network, observation.mask
    lengths, size = mask.sum(dim=-1, keepdim=True), mask.shape[-1]
    candidates = observation.ranked & (lengths > 1) & (lengths <= longest_quadratic())
    rows, places = candidates.nonzero().unbind(dim=-1)
    before = lead(logits_of_classes(network, observation.logits), observation.predicted)
    kept_T = torch.arange(size - 1, device=mask.device)

    def moved(rows: Tensor, places: Tensor) -> Tensor:
        kept = kept_T + (kept_T >= places.unsqueeze(-1))
        logits = observation.texts.rows(rows).at(kept).read_by(network)
        predicted = observation.predicted[rows]
        if predicted.ndim == 1:
            return (lead(logits_of_classes(network, logits), predicted) - before[rows]).abs().unsqueeze(-1)
        leads = lead(logits_of_classes(network, logits), predicted.gather(-1, kept))
        apart = (leads - before[rows].gather(-1, kept)).abs()
        return torch.zeros_like(before[rows]).scatter(-1, kept, apart)

    found = before.new_zeros(len(mask), size, size if before.ndim > 1 else 1)
    if len(rows):
        per_row = MAPS * max(weights[0].nbytes for weights in observation.attention.values())
        found[rows, places] = by_rows(moved, per_row, rows, places, budget=NEAR)
    return found.mT
