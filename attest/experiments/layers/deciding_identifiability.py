"""E13 of a decoder's deciding row: does a head's output at the deciding token determine what that token attends to?

Legend: B batch, N heads, T tokens, D dimensions a head.
"""

import torch
from torch import Tensor

from attest.compute.memory import by_rows
from attest.experiments.layers.observation import LayerObservation
from attest.experiments.sink import without_sink
from attest.measures.identifiability import agreement, column_space, effective_attention, with_ones

COPIES = 12
"""Numbers in float64 alive for each number of T: its bases with and without ones, and what the decomposition works in."""


def deciding_identifiability(observation: LayerObservation, layer: str, matrix_BNTD: Tensor) -> Tensor:
    """Every measure of the deciding token's row in one layer, means over heads, float64 ``(B, 24)``; NaN where undefined.

    The row alone is compared, over the tokens that it attends to: earlier rows may not attend to all of them. Without the
    sink, the first token keeps its weight: its row of T says nothing of how the others share what is left, so it is left out,
    and their weights are renormalised.

    Args:
        observation: the batch, of a decoder.
        layer: by name.
        matrix_BNTD: T of its heads.
    Returns:
        Six measures without ones and six with ones (``…_strict``), then the same without the sink.
    """
    network = observation.network
    deciding = network.deciding(observation.mask).argmax(dim=-1)  # type: ignore[operator]
    row_BNT = observation.attention[layer][torch.arange(len(deciding), device=deciding.device), :, deciding]
    return by_rows(_measured, COPIES * 8 * matrix_BNTD[0].numel(), matrix_BNTD, row_BNT)


def _measured(matrix_BNTD: Tensor, row_BNT: Tensor) -> Tensor:
    """``(B, 24)``."""
    attended = row_BNT > 0
    together = [_compared(matrix_BNTD, row_BNT, counted) for counted in (attended, without_sink(attended))]
    return torch.cat(together, dim=-1).nanmean(dim=1)


def _compared(matrix_BNTD: Tensor, row_BNT: Tensor, counted_BNT: Tensor) -> Tensor:
    """Every measure over the tokens that count, ``(B, N, 12)``; NaN where there is none."""
    weights = row_BNT.double().masked_fill(~counted_BNT, 0)
    weights_BN1T = (weights / weights.sum(dim=-1, keepdim=True)).unsqueeze(-2)
    count_BN = counted_BNT.sum(dim=-1)
    columns: list[Tensor] = []
    for each in (matrix_BNTD, with_ones(matrix_BNTD)):
        space = column_space(each, counted_BNT)
        found = agreement(weights_BN1T, effective_attention(weights_BN1T, space), counted_BNT)
        columns += [space.rank, space.rank == count_BN, *(values.squeeze(-1) for values in found)]
    return torch.stack([column.double() for column in columns], dim=-1).where(count_BN.unsqueeze(-1) > 0, torch.nan)
