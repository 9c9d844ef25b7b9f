"""E13: does the outcome determine the attention? (Brunner et al. 2020; Drozdyuk et al., section 2.7.)"""

from typing import Any, cast

import torch
from torch import Tensor

from attest.core.measures.identifiability import agreement, column_space, effective_attention, with_ones
from attest.core.memory import by_rows
from attest.experiments.sink import BEFORE, spared
from attest.experiments.spec import AT_LEAST_0, CORRELATION, NATS, SHARE, Column, Measure, OfNumbers, Spec
from attest.models.layers_observed import mean_over_rows
from attest.models.observation import Observation

COPIES = 6
"""Matrices alive for each one: in float64, its bases with and without ones, and what the decomposition works in."""


def identifiability(observation: Observation) -> dict[str, Tensor]:
    """Measure the rank of the matrix that attention is multiplied with, and how much of the attention the product determines.

    ``context``: T = H, what the context determines. ``prediction``: T = H wᵀ, what the logits determine, for a linear decoder.
    ``…_strict``: [T, 1], for weights are known to sum to 1.

    Returns:
        Per instance ``(B,)`` float64 for each kind: ``rank_<kind>``; ``trivial_<kind>``, 1 where the null space is trivial, so
        that one attention alone gives this outcome; and between raw and effective attention ``tau_<kind>``,
        ``cosine_<kind>``, ``l1_<kind>`` and ``jsd_<kind>``, the last of clipped and renormalised weights.
    """
    matrices = {"context": observation.hidden.detach()}
    if observation.class_logits is not None:
        decide, hidden = cast(Any, observation.network).token_logits, matrices["context"]
        matrices["prediction"] = (decide(hidden) - decide(torch.zeros_like(hidden))).detach()
    columns = {}
    one = torch.ones(len(observation.ids), 1, dtype=torch.bool, device=observation.mask.device)
    for kind, matrix in matrices.items():
        per_text = COPIES * 8 * matrix[0].numel()
        rows = matrix.unsqueeze(1), observation.attention[:, None, None], observation.mask.unsqueeze(1), one
        measured = by_rows(measured_of_rows, per_text, *rows)
        for name, column in zip(MEASURED, measured.unbind(dim=-1), strict=True):
            measure, strict = name.removesuffix("_strict"), "_strict" * name.endswith("_strict")
            columns[f"{measure}_{kind}{strict}"] = column
    return columns


MEASURED = [f"{name}{strict}" for strict in ("", "_strict") for name in ("rank", "trivial", "tau", "cosine", "l1", "jsd")]


def measured_of_rows(matrix_BNTD: Tensor, weights_BNQT: Tensor, allowed_BNT: Tensor, real_BQ: Tensor) -> Tensor:
    """Return 12 measures of attention rows, ``(B, 12)``, means over N heads and Q rows: six, and six with a column of ones.

    Args:
        matrix_BNTD: what the rows are multiplied with.
        weights_BNQT: the rows.
        allowed_BNT: bool, what they may attend to.
        real_BQ: bool, the rows that count.
    """
    plain = column_space(matrix_BNTD, allowed_BNT)
    spaces = (plain, with_ones(plain, allowed_BNT, matrix_BNTD.dtype))
    effective_BNQ2T = torch.stack([effective_attention(weights_BNQT, space) for space in spaces], dim=-2)
    compared = agreement(weights_BNQT, effective_BNQ2T, allowed_BNT)
    count_BN = allowed_BNT.sum(dim=-1)
    columns: list[Tensor] = []
    for place, space in enumerate(spaces):
        trivial = torch.where(count_BN > 0, (space.rank == count_BN).double(), torch.nan)
        columns += [space.rank.double().mean(dim=-1), trivial.nanmean(dim=-1)]
        columns += [mean_over_rows(values[..., place], real_BQ) for values in compared]
    return torch.stack(columns, dim=-1)


TRIVIAL = Measure(
    "trivial",
    "heads that determine their attention",
    "Share of heads, mean over texts, where no other weights give the same output. It is 0 for texts with more "
    "tokens than a head has dimensions.",
    "It depends far more on the length of the text and the size of a head than on what was learned.",
    suspicious="low",
    about="layers",
)

TAU = Measure(
    "tau",
    "τ-b of raw and effective attention",
    "Do the weights rank tokens like effective attention, the part that the head's output determines?",
    "Effective attention may be negative and does not sum to 1: the model could never attend like this.",
    suspicious="low",
    about="layers",
)

SPEC = Spec(
    id="E13",
    question="Does what the model computes determine its attention?",
    does="Null spaces of the matrices that attention is multiplied with, and effective attention",
    source="Brunner et al. 2020",
    about="states",
    cost="one singular value decomposition of T × H for each text, inside layers one for each head",
    about_columns="Those from `rank` on are about Transformers: means over heads and rows, of all layers and with "
    "`_layer<l>` at the end of the l-th alone; with `_strict`, where weights are known to sum to 1. Of a decoder they are "
    "about the deciding token's row, and are there with `_without_sink` as well: sinks of a head keep their weight, and those "
    f"of the others are made to sum to 1 {BEFORE}. A sink of a head gets 0.3 of the attention of the rows that may attend to "
    "it, and its value is at most half as long as the median of its text.",
    columns=(
        Column(
            "rank_<kind>",
            AT_LEAST_0,
            "rank of the matrix that attention weights; `<kind>` is the outcome: the context or the prediction",
        ),
        Column("trivial_<kind>", SHARE, "whether only one attention gives the outcome", unit="0 or 1"),
        Column("tau_<kind>", CORRELATION, "τ-b of raw and effective attention"),
        Column("cosine_<kind>", CORRELATION, "their cosine"),
        Column("l1_<kind>", AT_LEAST_0, "their L1 distance"),
        Column("jsd_<kind>", NATS, "their JSD, clipped and renormalised", unit="nats"),
        Column("rank", AT_LEAST_0, "Transformers only: rank of the matrix that a head's attention weights"),
        Column("trivial", SHARE, "Transformers only: share of heads where only one attention gives the output"),
        Column("tau", CORRELATION, "Transformers only: τ-b of raw and effective attention"),
        Column("cosine", CORRELATION, "Transformers only: their cosine"),
        Column("l1", AT_LEAST_0, "Transformers only: their L1 distance"),
        Column("jsd", NATS, "Transformers only: their JSD, clipped and renormalised", unit="nats"),
        Column("sinks", SHARE, "Transformers only: share of heads that have a sink"),
        Column("sinks_first", SHARE, "Transformers only: share of heads of which the first token is a sink"),
        Column("sinks_special", SHARE, "Transformers only: share of heads of which another special token is a sink"),
        Column("sinks_other", SHARE, "Transformers only: share of heads of which another token is a sink"),
    ),
    measures=(
        Measure(
            "trivial_context",
            "contexts that determine their attention",
            "Share of texts where no other weights give the same context. In all other texts the attention is one of many.",
            "It depends far more on the length of the text and the size of the states than on what was learned.",
            suspicious="low",
        ),
        TRIVIAL,
        TAU,
        Measure(
            "sinks",
            "heads with a sink",
            "Share of heads that park attention on a token with a short value, mean over texts: what lies there adds little.",
            "Which value is short is a choice: at most half as long as the median of the text.",
            beside=("at the first token", "sinks_first"),
            about="layers",
        ),
        spared(TRIVIAL),
        spared(TAU),
    ),
    run=identifiability,
    of_numbers=OfNumbers("inside layers it is about attention alone, whatever the model says"),
)
