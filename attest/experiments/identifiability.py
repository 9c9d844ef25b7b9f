"""E13: does the output determine the attention, or would other weights give the same output? (Brunner et al. 2020.)"""

from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor

from attest.core.measures.identifiability import agreement, column_space, effective_attention, with_ones
from attest.core.memory import by_rows
from attest.experiments.sink import BEFORE, SPARED, columns_of_decoders
from attest.experiments.spec import Column, OfNumbers, Says, Spec
from attest.models.layers_observed import mean_over_rows
from attest.models.observation import Observation

COPIES = 6
"""To estimate memory: how many float64 copies of each matrix exist at once while its column space is computed, with and
without a column of ones."""


def identifiability(observation: Observation) -> dict[str, Tensor]:
    """Measure how much of the attention can be recovered from the context vector or a linear decoder's prediction.

    Attention is multiplied with a matrix T. ``context``: T = H, the hidden states. ``prediction``: T = H wᵀ, for a linear
    decoder. ``…_strict``: [T, 1], for weights are known to sum to 1.

    Returns:
        The columns of ``SPEC`` for each kind, ``(B,)`` float64.
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
    """Compute 12 measures of the identifiability of attention, ``(B, 12)``, as means over N heads and Q rows.

    Args:
        matrix_BNTD: the matrix with which the attention rows are multiplied.
        weights_BNQT: the attention rows.
        allowed_BNT: bool, the tokens to which the rows may attend.
        real_BQ: bool, the rows over which the means are taken.
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
        columns += [mean_over_rows(values[..., place], real_BQ.unsqueeze(1)) for values in compared]
    return torch.stack(columns, dim=-1)


TRANSFORMERS = "Transformers"
FURTHER = (
    Column.correlation("cosine_<kind>", "cosine of raw and effective attention"),
    Column.at_least_0("l1_<kind>", "L1 distance of raw and effective attention"),
    Column.nats("jsd_<kind>", "JSD of raw and effective attention, clipped and renormalised"),
)
TRIVIAL = Column.share(
    "trivial",
    "Share of heads for which no other attention weights give the same output, mean over texts. If a text has more tokens "
    "than a head has dimensions, other attention weights always give the same output.",
    only=TRANSFORMERS,
    title="heads whose output reveals their attention",
    misread="Whether the output of a head reveals its attention depends far more on text length and head dimension than on "
    "what the model learned.",
    suspicious="low",
)
TAU = Column.correlation(
    "tau",
    "Do attention weights rank tokens as effective attention does? Effective attention is the part of the attention weights "
    "that affects the head's output.",
    only=TRANSFORMERS,
    title="τ-b of raw and effective attention",
    misread="Effective attention may be negative and does not sum to 1: no model could attend like that.",
    suspicious="low",
)

SPEC = Spec(
    id="E13",
    name="identifiable attention",
    question="Does what the model computes determine its attention?",
    does="Computes the null spaces of the matrices that attention is multiplied with, and effective attention",
    source="Brunner et al. 2020",
    about="states",
    cost="one singular value decomposition of T × H for each text, inside layers one for each head",
    says=Says(
        "Algebra",
        "how much of the attention can change the output at all",
        "whether this part of the attention is right",
    ),
    about_columns="Columns from `rank` on are about Transformers: means over heads and rows, of all layers or, with "
    "`_layer<l>` at the end, of the l-th layer. `_strict` uses that weights sum to 1. For a decoder, they are about the "
    "deciding token's row; with `_without_sink` the sinks of a head keep their weight, and the other weights are made to sum "
    f"to 1 {BEFORE}. A sink of a head gets 0.3 of the attention of the rows that may attend to it, and its value is at most "
    "half as long as the median of its text.",
    columns=(
        Column.at_least_0("rank_<kind>", "rank of the matrix that maps attention to `<kind>`, the context or the prediction"),
        Column.yes_or_no(
            "trivial_<kind>", "whether only one attention gives this `<kind>` (the context vector or the prediction)"
        ),
        Column.yes_or_no(
            "trivial_context",
            "Share of texts for which no other attention weights give the same context vector. If one other attention gives "
            "the same context vector, infinitely many do.",
            title="texts whose context vector reveals the attention",
            misread="Whether the context vector reveals the attention depends far more on text length and state dimension "
            "than on what the model learned.",
            suspicious="low",
        ),
        Column.correlation("tau_<kind>", "τ-b of raw and effective attention"),
        *FURTHER,
        Column.at_least_0("rank", "rank of the matrix that maps a head's attention to its output", only=TRANSFORMERS),
        TRIVIAL,
        TAU,
        *(replace(each, name=each.name.removesuffix("_<kind>"), only=TRANSFORMERS) for each in FURTHER),
        Column.share(
            "sinks",
            "Share of heads that have a sink: a token that gets much attention whatever the text says, and whose value vector "
            "is short, so that it adds little to the output. Mean over texts.",
            only=TRANSFORMERS,
            title="heads with a sink",
            misread="A value vector counts as short if its norm is at most half of the median norm of the value vectors in "
            "the text.",
            beside=("at the first token", "sinks_first"),
        ),
        Column.share("sinks_first", "share of heads whose sink is the first token", only=TRANSFORMERS),
        Column.share(
            "sinks_special", "share of heads whose sink is a special token, but not the first token", only=TRANSFORMERS
        ),
        Column.share(
            "sinks_other", "share of heads whose sink is neither the first token nor a special one", only=TRANSFORMERS
        ),
        *columns_of_decoders((TRIVIAL, TAU), SPARED),
    ),
    run=identifiability,
    of_numbers=OfNumbers("inside layers the columns are about attention alone, whatever the model returns"),
)
