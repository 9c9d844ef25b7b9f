"""E17: do the heads that attend to the important tokens decide the prediction?

To switch off a head, its output is replaced by its mean output over all tokens of all texts (Michel et al. 2019 use 0). The
fall of the logit difference is compared with two numbers of the head: ``look``, its attention to the important tokens, and
``write``, a first-order estimate of the same fall, by one gradient.

Legend: B batch, M heads of all layers, N heads of a layer, T tokens, D dimensions a head, Q rows of attention, V sets of
heads, R rows of the batch times sets, K classes.
"""

import re
from collections.abc import Mapping, Sequence

import pandas as pd
import torch
from torch import Tensor

from attest.core.attention.interventions import unwrapped
from attest.core.errors import AttestError
from attest.core.measures import tau_b
from attest.core.measures.numbers import number
from attest.core.randomness import random_order, stream
from attest.core.rounding import in_steps, rounding
from attest.experiments.layers.mattering import what_matters
from attest.experiments.layers.switching import Heads, Pairs, unseen
from attest.experiments.layers.tampering import beside_random, highest
from attest.experiments.spec import ANY, SHARE, Column, Drawing, Inside, Means, Says, Spec
from attest.models.layers_observed import LayerObservation
from attest.models.prediction import says_number
from attest.models.traits import traits_of

CURVE = (5, 10, 20, 30, 40, 50, 70, 90)
"""Percentages of all attention heads. For each percentage, so many heads from the top of a ranking are switched off together,
and the results are the points of a curve."""


def passes_a_text(heads: int, layers: int, draws: int = 10) -> int:
    """Estimate the forward passes that E17 (switching off heads) needs for each text, not counting leave-one-out."""
    sets = 2 * (1 + draws) + 3 * len(CURVE)
    return round(heads * (layers + 1) / (2 * layers)) + sets


@torch.no_grad()
def head_ablation(
    observation: LayerObservation,
    seed: int,
    head_means: Mapping[str, Tensor] | None = None,
    truth: Tensor | None = None,
    heads: Pairs = (),
    spans: Mapping[int, Sequence[int]] | None = None,
    share: float = 0.1,
    draws: int = 10,
) -> dict[str, Tensor]:
    """Switch off each head alone, then sets of heads, and measure how the decision changes.

    A random set has as many heads of each layer as the set that it is compared with. Layers below a head are not run again.

    Args:
        seed: with an instance's id it fixes that instance's random sets.
        head_means: as in the function ``head_means``, over all texts.
        truth: bool ``(B, T)``, tokens that decide, where they are known.
        heads: pairs of a layer and a head, both from 1, that are switched off together.
        spans: positions of the important tokens, by text id; ``look`` is NaN for other texts. Without ``spans`` and ``truth``,
            the important tokens are the tenth of the tokens whose removal changes the logit difference most; in a tagger, each
            tag has its own important tokens.
        share: the share of all heads that a set contains, at least one head.
        draws: random sets a text.
    Returns:
        The columns of ``SPEC``, ``(B,)``; the sets ``look`` and ``write`` contain the heads with the largest ``look`` or
        ``write``.
    Raises:
        AttestError: means are missing, the model hides the outputs of its heads, or a setting is out of range.
    """
    stage = Heads(observation, _required(observation, head_means, share, draws))
    look, write = stage.look(what_matters(observation, truth, spans)), stage.write()
    every = torch.eye(len(stage.names), dtype=torch.bool, device=write.device).expand(len(write), -1, -1)
    drop, flipped = stage.without(every)
    columns: dict[str, Tensor] = {}
    for place, (layer, head) in enumerate(stage.names):
        of_head = {"look": look, "write": write, "drop": drop, "flipped": flipped}
        columns |= {f"{name}_layer{layer}_head{head}": values[:, place] for name, values in of_head.items()}
    noise = rounding(observation.logits.dtype)
    orders = {"look": in_steps(look), "write": in_steps(write, noise)}
    real = torch.ones_like(write, dtype=torch.bool)
    taus = tau_b(in_steps(drop, noise), torch.stack(list(orders.values()), dim=1), real)
    columns |= {f"tau_{name}": tau for name, tau in zip(orders, taus.unbind(dim=-1), strict=True)}
    size = torch.full((len(write),), -int(-share * len(stage.names) // 1), device=write.device)
    sets = {name: highest(order.nan_to_num(nan=-torch.inf), size) for name, order in orders.items()}
    if heads:
        sets["chosen"] = stage.chosen(heads).expand(len(write), -1)
    undefined = look.isnan().any(dim=-1)
    for place, (name, chosen) in enumerate(sets.items()):
        drawn = stage.random_sets(chosen, draws, stream(seed, f"heads {place}"))
        found = beside_random(*stage.without(torch.cat([chosen.unsqueeze(1), drawn], dim=1)), noise).items()
        columns |= {f"{key}_{name}": column.masked_fill(undefined & (name == "look"), torch.nan) for key, column in found}
    orders["random"] = random_order(stream(seed, "order of heads"), observation.ids, 1, real)[:, 0]
    for name, order in orders.items():
        counts = [-(-percentage * len(stage.names) // 100) for percentage in CURVE]
        without = torch.stack([highest(order.nan_to_num(nan=-torch.inf), size.new_tensor(each)) for each in counts], dim=1)
        _, gone = stage.without(without)
        gone = gone.masked_fill((undefined & (name == "look")).unsqueeze(-1), torch.nan)
        columns |= {f"flipped_{name}_{p}": column for p, column in zip(CURVE, gone.unbind(dim=-1), strict=True)}
    return columns


def _required(
    observation: LayerObservation, means: Mapping[str, Tensor] | None, share: float, draws: int
) -> Mapping[str, Tensor]:
    if not 0 < share <= 0.5 or draws < 1:
        raise AttestError(
            f"E17 was given share={share}, draws={draws}; expected a share above 0 and at most 0.5, and at least one draw."
        )
    if says_number(observation.network):
        raise AttestError(
            "E17 is for models that choose a class, and this model returns one number; expected a classifier. Leave E17 out."
        )
    if not traits_of(unwrapped(observation.network)).shows_outputs:
        raise AttestError(unseen(observation.network, "any layer"))
    if means is None:
        raise AttestError(
            "E17 replaces the output of a head by its mean over many texts, and the argument means= was not given; expected "
            'these means. To compute them and E17, type: attest.trial(model, texts, ["E17"])'
        )
    return means


def _answer(mean: Means) -> str | None:
    chosen = _answer_of_chosen(mean)
    flips = (mean.share(f"E17/flipped_{name}") for name in ("look", "random_look", "write", "random_write"))
    look, random_look, write, random_write = flips
    tau_look, tau_write = mean.number("E17/tau_look"), mean.number("E17/tau_write")
    if write is None or random_write is None:
        return chosen
    said = [] if chosen is None else [chosen]
    if look is not None and random_look is not None:
        said.append(_changed("attend most to the important tokens", look, random_look))
    said.append(_changed("add most to the decision", write, random_write))
    if look is not None and random_look is not None and tau_look is not None and tau_write is not None:
        said.append(
            f"In the average {mean.called_one}, τ-b over heads is {tau_look} between the effect of switching a head off and "
            f"its attention to the important tokens, and {tau_write} between this effect and what the head adds to the "
            "decision."
        )
    return " ".join(said)


def _changed(what: str, share: str, random: str) -> str:
    return (
        f"Without the heads that {what}, {share} of decisions change; without random heads of the same layers, "
        f"{random} change."
    )


def _answer_of_chosen(mean: Means) -> str | None:
    drop, random = mean.number("E17/drop_chosen"), mean.number("E17/drop_random_chosen")
    flipped = mean.share("E17/flipped_chosen")
    won, low, high = mean("E17/won_chosen"), *(mean.summary.get(f"E17/won_chosen/ci_{end}") for end in ("low", "high"))
    if drop is None or random is None or flipped is None or won is None or low is None or high is None:
        return None
    matter = "matter more" if low > 0.5 else "matter less" if high < 0.5 else "are not shown to matter more"
    return (
        f"Without the chosen heads, the logit difference falls by {drop} and {flipped} of decisions change. "
        f"Without random heads of the same layers, it falls by {random}. The chosen heads {matter} than random heads: "
        f"{mean.share('E17/won_chosen')} of random sets of heads have a smaller effect."
    )


HEAD = re.compile(r"drop_layer(\d+)_head(\d+)")


def by_head(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the mean results of E17 (switching off heads) for each ``layer`` and ``head``."""
    places = [found.groups() for name in rows.columns if (found := HEAD.fullmatch(name))]
    kinds = ("look", "write", "drop", "flipped")
    means = [{kind: rows[f"{kind}_layer{layer}_head{head}"].mean() for kind in kinds} for layer, head in places]
    return pd.DataFrame(
        [{"layer": int(layer), "head": int(head)} | of for (layer, head), of in zip(places, means, strict=True)]
    )


def _caption(rows: pd.DataFrame) -> str:
    heads = by_head(rows)
    taus = {kind: heads[kind].corr(heads["drop"], method="kendall") for kind in ("look", "write")}
    said = [f"{number(tau)} with the mean “{kind}”" for kind, tau in taus.items() if pd.notna(tau)]
    return (
        "Mean fall of the logit difference when a head is switched off, by layer and head. Point at a square to see how much "
        "its head attends to important tokens (“look”) and what fall a gradient estimates (“write”). Over all heads, the rank "
        f"correlation (τ-b) of the fall is {', '.join(said)}."
    )


OF_SET = (
    ("drop_<by>", ANY, "fall of the logit difference without the set of heads `<by>`"),
    ("flipped_<by>", SHARE, "whether the decision changes without the set of heads `<by>`"),
    ("drop_random_<by>", ANY, "fall of the logit difference without random heads of the same layers, mean over draws"),
    ("flipped_random_<by>", SHARE, "share of random sets of heads without which the decision changes"),
    ("won_<by>", SHARE, "share of random sets of heads with a smaller fall (ties count half)"),
)

SPEC = Spec(
    id="E17",
    name="single heads",
    question="Do the heads that attend to the important tokens carry the decision?",
    does="Switches off each head, then those that attend most to the important tokens, and compares with random heads",
    source="Michel et al. 2019; Syed et al. 2023",
    about="layers",
    cost="a pass from its layer on for each head, about 50 passes for sets, one for each token, and one gradient",
    says=Says(
        "Switching heads off",
        "whether decisions need heads that look at the evidence more than other heads in their layers",
        "that a head without effect does nothing: other heads may do its work",
    ),
    about_columns="A head that is switched off returns its mean over all tokens of all texts. `<by>` is `look`, `write` or "
    "`chosen`, the heads of the setting `heads`. For a tagger the columns `flipped` are shares of tags.",
    columns=(
        Column.share("look_layer<l>_head<h>", "share of the head's attention on the important tokens"),
        Column.unbounded(
            "write_layer<l>_head<h>", "gradient's estimate of the fall of the logit difference without the head", unit="logits"
        ),
        Column.unbounded("drop_layer<l>_head<h>", "fall of the logit difference without the head", unit="logits"),
        Column.share("flipped_layer<l>_head<h>", "whether the decision changes without the head"),
        Column.correlation(
            "tau_look",
            "Do the heads that attend most to the important tokens also move the decision most when they are switched off? "
            "Kendall's τ-b, over heads, of attention to important tokens and effect on the decision. 0: a head's attention "
            "says nothing about its effect.",
            title="τ-b of heads' attention to important tokens and their effect",
            misread="Other heads may do the work of a missing head: a small effect does not show that the head did nothing.",
            suspicious="low",
        ),
        Column.correlation(
            "tau_write",
            "Does a gradient estimate well which heads change the decision most when they are switched off? Kendall's τ-b "
            "over heads.",
            title="τ-b of the estimated and the measured effect of heads",
            misread="The gradient is a first-order estimate of the effect of switching a head off: a τ-b above 0 is no "
            "surprise.",
        ),
        *(Column(name, range, means, unit="logits" if range is ANY else "") for name, range, means in OF_SET),
        Column.share(
            "won_look",
            "Share of random sets of heads whose removal moves the decision less than removing the heads that attend most to "
            "the important tokens. If only half of the random sets of heads have a smaller effect than the heads that attend "
            "to the important tokens, these heads matter no more than random heads.",
            title="random heads beaten by heads that attend to important tokens",
            misread="The important tokens are those that the corpus marks; if it marks none, those that leave-one-out finds.",
            suspicious="low",
        ),
        Column.share(
            "flipped_look",
            "Share of decisions that change without the heads that attend most to the important tokens.",
            title="flips without the heads that attend to important tokens",
            misread="A confident decision seldom changes: compare with the share of decisions that change if random heads "
            "are switched off.",
            beside=("random heads", "flipped_random_look"),
        ),
        Column.share(
            "won_chosen",
            "Share of random sets of heads, from the same layers, whose removal moves the decision less than removing the "
            "heads that you chose.",
            title="random heads beaten by the chosen heads",
            misread="Heads may have other effects on other texts.",
            suspicious="low",
        ),
        *(
            Column.share(f"flipped_{name}_<percent>", f"whether the decision changes without this share of heads, {order}")
            for name, order in (
                ("look", "largest `look` first"),
                ("write", "largest `write` first"),
                ("random", "in a random order"),
            )
        ),
    ),
    answer=_answer,
    drawings=(
        Drawing("heads", "Heads switched off", _caption, "head_map", ("tau_write",)),
        Drawing(
            "curve",
            "Heads switched off one after the other",
            "Share of decisions that change if heads are switched off: those that attend most to the important tokens "
            "(look), those that add most to the decision (write), or random ones. Whiskers: 95 % intervals of the mean.",
            "head_curves",
            ("tau_write",),
        ),
    ),
)

INSIDE = Inside("E17", head_ablation, reads=("seed", "head_means", "truth"), needs="shows_outputs", by_name=True)
