"""E16: does a decoder decide by the tokens that its last token attends to? (Attention knockout, Geva et al. 2023.)

Legend: B batch, Y layers, N heads, T tokens, C logits, V variants of a text, D random draws, R rows, Q queries of a pass.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from attest.core.attention.interventions import Intervention
from attest.core.errors import AttestError
from attest.core.measures import movement
from attest.core.randomness import random_order
from attest.experiments.layers.tampering import DecidingRow, beside_random, highest, named, row_among
from attest.experiments.sink import parks_attention
from attest.experiments.spec import MOVES, NO_DECISION, Column, Drawing, Inside, Means, OfNumbers, Says, Spec
from attest.models.contract import shown_class
from attest.models.layers_observed import LayerObservation
from attest.models.prediction import lead, logits_of_classes, rounding_of, says_number

WINDOWS = 4
"""The number of windows (groups of neighbouring layers) into which the layers are divided if the user sets no width of a
window. Attention edges are cut in all layers of a window together."""
NEVER = ", but not the first token, not the token at which the decoder decides, and no special token"


@torch.no_grad()
def knockout(
    observation: LayerObservation,
    seed: int,
    share: float = 0.1,
    draws: int = 10,
    width: int = 0,
    spans: Mapping[int, Sequence[int]] | None = None,
) -> dict[str, Tensor]:
    """Block the attention from a decoder's last token to a set of tokens, and measure how the prediction moves.

    The set contains the tokens with the most attention from the deciding token, as a mean over the heads of the blocked
    layers. It never contains the deciding token, a special token, or the first token of a text, which gets much attention. For
    comparison, the attention to random sets of as many tokens is blocked.

    Args:
        seed: with an instance's id it fixes that instance's random sets, the same in all windows.
        share: the share of tokens to cut, of those that may be cut; at least one token is cut.
        draws: random sets a text.
        width: layers of a window; 0 for a quarter of all, rounded up.
        spans: positions of the tokens to cut, by text id, instead of this set; results for other texts are NaN.
    Returns:
        The columns of ``SPEC``, ``(B,)``, NaN if a text has too few tokens. The logit difference is that between the predicted
        class and the next best.
    Raises:
        AttestError: the network is no decoder, a setting is out of range, or a span names a token that cannot be cut.
    """
    _require_decoder(observation)
    if not 0 < share <= 0.5 or draws < 1 or width < 0:
        raise AttestError(
            f"E16 was given share={share}, draws={draws}, width={width}; expected a share above 0 and at most 0.5, at least "
            "one draw, and a width of at least 0 layers."
        )
    row = DecidingRow(observation)
    row_BYNT = torch.stack(list(row.attention.values()), dim=1)
    candidates = _candidates(observation, row.places)
    columns = _sink_columns(row_BYNT[..., 0])
    for suffix, layers in _windows(list(observation.attention), width).items():
        places = [list(observation.attention).index(layer) for layer in layers]
        if spans is None:
            attention_BT = row_BYNT[:, places].mean(dim=(1, 2)).masked_fill(~candidates, -1)
            chosen = highest(attention_BT, (share * candidates.sum(dim=-1)).ceil().long())
        else:
            chosen = named(spans, observation.ids, candidates, "E16", NEVER)
        others, count = candidates & ~chosen, chosen.sum(dim=-1)
        enough = torch.where(others.sum(dim=-1) >= count, count, 0)
        random_BDT = highest(random_order(seed, observation.ids, draws, others), enough.unsqueeze(-1).expand(-1, draws))
        first = torch.zeros_like(chosen)
        first[:, 0] = row.places > 0  # the deciding token may be the first
        cut_BVT = torch.cat([chosen.unsqueeze(1), first.unsqueeze(1), random_BDT], dim=1)

        def cutting(rows: Tensor, cut: Tensor, layers: Sequence[str] = layers) -> list[Intervention]:
            return [Intervention("edges", _cut(cut, row.places[rows]), layers)]

        found = _fallen(observation, row.logits(cut_BVT, cutting), cut_BVT)
        columns |= {f"{name}{suffix}": column for name, column in found.items()}
    return columns


def _require_decoder(observation: LayerObservation) -> None:
    network: Any = observation.network
    if not parks_attention(network):
        kind = shown_class(network).__name__
        raise AttestError(
            f"{kind} does not decide at a last token that attends only to earlier tokens; expected a decoder, because E16 "
            "cuts attention edges of the last token. Leave E16 out."
        )


def _windows(layers: list[str], width: int) -> dict[str, list[str]]:
    """Return groups of neighbouring layers, by suffixes such as ``_layers1to8``, and the group of all layers."""
    width = width or -(-len(layers) // WINDOWS)
    starts = range(0, len(layers), width) if width < len(layers) else ()
    parts = {start: layers[start : start + width] for start in starts}
    return {"": layers} | {f"_layers{start + 1}to{start + len(part)}": part for start, part in parts.items()}


def _candidates(observation: LayerObservation, deciding: Tensor) -> Tensor:
    place_T = torch.arange(observation.mask.shape[-1], device=deciding.device)
    return observation.ranked & (place_T > 0) & (place_T < deciding.unsqueeze(-1))


def _sink_columns(first_BYN: Tensor) -> dict[str, Tensor]:
    columns = {"sink": first_BYN.mean(dim=(1, 2))}
    for layer, heads in enumerate(first_BYN.unbind(dim=1), start=1):
        columns[f"sink_layer{layer}"] = heads.mean(dim=-1)
        columns |= {f"sink_layer{layer}_head{head}": each for head, each in enumerate(heads.unbind(dim=-1), start=1)}
    return columns


def _cut(cut_RT: Tensor, deciding_R: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    def left(allowed: Tensor, mask: Tensor) -> Tensor:
        from_RQ = one_hot(row_among(deciding_R, allowed), allowed.shape[-2]).bool()
        return allowed & ~(from_RQ[:, None, :, None] & cut_RT[:, None, None, :])

    return left


def _fallen(observation: LayerObservation, logits_BVC: Tensor, cut_BVT: Tensor) -> dict[str, Tensor]:
    network, predicted = observation.network, observation.predicted
    logits_BVK, before_B1K = (logits_of_classes(network, each) for each in (logits_BVC, observation.logits.unsqueeze(1)))
    if says_number(network):
        drop_BV = movement(logits_BVK, before_B1K).double()
    else:
        drop_BV = (lead(before_B1K, predicted.unsqueeze(-1)) - lead(logits_BVK, predicted.unsqueeze(-1))).double()
    flipped_BV = (logits_BVK.argmax(dim=-1) != predicted.unsqueeze(-1)).double()
    nothing = ~cut_BVT.any(dim=-1)
    drop_BV, flipped_BV = drop_BV.masked_fill(nothing, torch.nan), flipped_BV.masked_fill(nothing, torch.nan)
    sets = [0, *range(2, cut_BVT.shape[1])]
    columns = beside_random(drop_BV[:, sets], flipped_BV[:, sets], rounding_of(network, logits_BVC.dtype))
    return columns | {"drop_sink": drop_BV[:, 1], "flipped_sink": flipped_BV[:, 1]}


def _answer(mean: Means) -> str | None:
    flipped, random, won, sink = (mean.share(f"E16/{name}") for name in ("flipped", "flipped_random", "won", "sink"))
    if won is not None and sink is not None and (moves := mean.number("E16/moved")) is not None:
        return (
            "If the token at which the decoder decides cannot attend to the tokens that it attends to most, the prediction "
            f"moves by {moves}{mean.unit} in the average {mean.called_one}. In {won} of comparisons, this is further than "
            f"without attention to random tokens. The token gives {sink} of its attention to the first token of the "
            "text."
        )
    if flipped is None or random is None or won is None or sink is None:
        return None
    return (
        f"If the token at which the decoder decides cannot attend to the tokens that it attends to most, {flipped} "
        f"of decisions change. If it cannot attend to random tokens, {random} change. In {won} of "
        f"comparisons, the logit difference falls further in the first case. The token gives {sink} of its "
        "attention to the first token of the text."
    )


CUT = (
    Column.unbounded("drop", "fall of the logit difference without the attention edges to the chosen tokens", unit="logits"),
    Column.share(
        "won",
        "Share of random sets of attention edges whose removal lowers the logit difference less than removing the edges "
        "to the most attended tokens; ties count half. If only half of the random sets of edges have a smaller effect than "
        "the edges to the most attended tokens, these tokens matter no more than random tokens.",
        title="random edges beaten",
        misread="Information from the most attended tokens may still reach the last token through other tokens.",
        suspicious="low",
    ),
    Column.yes_or_no(
        "flipped",
        "Share of texts whose decision changes if the edges from the last token to its most attended tokens are cut in "
        "all layers.",
        title="decisions that flip if edges to the top tokens are cut",
        misread="A confident decision seldom changes: compare with the share of decisions that flip if random attention edges "
        "are cut.",
        suspicious="low",
    ),
    Column.unbounded("drop_random", "mean fall of the logit difference without random attention edges", unit="logits"),
    Column.share(
        "flipped_random",
        "Share of texts whose decision changes if random attention edges are cut, as a mean over random draws.",
        title="decisions that flip if random attention edges are cut",
        misread="The share of decisions that flip if random edges are cut says how fragile the model is, and nothing about "
        "its attention.",
    ),
    Column.unbounded("drop_sink", "fall of the logit difference without the attention edge to the first token", unit="logits"),
    Column.yes_or_no("flipped_sink", "whether the decision changes without the attention edge to the first token"),
)

MOVED = tuple(each.moved(each.name.replace("drop", "moved")) for each in CUT if each.name.startswith("drop"))

SPEC = Spec(
    id="E16",
    name="attention cut off",
    question="Does a decoder decide by the tokens that its deciding token attends to?",
    does="Cuts edges from the deciding token in windows of layers, compares with random edges; attention on the first token",
    source="Geva et al. 2023",
    about="layers",
    cost="one pass of the whole text, and one pass of the last token for each set and window",
    says=Says(
        "Cutting edges",
        "that the deciding token of a decoder needs the tokens that it attends to, in these layers",
        "that no other path carries the same information",
    ),
    about_columns="Only decoders have these columns. No set contains the first token, the deciding one or special ones. With "
    "`_layers<first>to<last>` at the end, columns from `drop` to `flipped_sink` are about a window of layers, from 1.",
    columns=(
        *CUT,
        *MOVED,
        *(
            each.untitled(f"{each.name}_layers<first>to<last>", f"`{each.name}` if edges are cut in a window of layers")
            for each in (*CUT, *MOVED)
        ),
        Column.share(
            "sink",
            "Share of the last token's attention that goes to the first token, as a mean over layers and heads. A decoder "
            "decides at the last token.",
            title="attention on the first token",
            misread="Many decoders give much attention to the first token, whichever token it is.",
            suspicious="high",
        ),
        Column.share("sink_layer<l>", "a layer's mean attention from the last token, where a decoder decides, to the first"),
        Column.share("sink_layer<l>_head<h>", "a head's attention from the last token, where a decoder decides, to the first"),
    ),
    answer=_answer,
    drawings=(
        Drawing(
            "sinks",
            "Attention on the first token",
            "Share of the last token's attention that goes to the first token, for each layer and head, as a mean over "
            "texts. A decoder decides at the last token. Attention on the first token says little about the text.",
            "sink_map",
        ),
        Drawing(
            "knockout_by_window",
            "Attention edges cut in windows of layers",
            "Mean fall of the logit difference (predicted class minus next best) if attention edges are cut: those to the "
            "most attended tokens, to random tokens, or to the first token. The attention edges are cut in a window of "
            "layers or in all layers. Whiskers: 95 % intervals of the mean over texts.",
            "knockout_by_window",
            ("drop",),
        ),
    ),
    of_numbers=OfNumbers(
        f"`moved` says how far the number moves, {MOVES}, in place of `drop`, and nothing flips",
        ((r"drop(.*)", r"moved\1"), NO_DECISION),
    ),
)

INSIDE = Inside("E16", knockout, reads=("seed",), needs="looks_back")
