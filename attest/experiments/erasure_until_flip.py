r"""E12: how many attention weights must be set to zero until the decision changes? (Serrano & Smith 2019, section 5.)

Weights are set to zero one after another in some order, the rest renormalised, while at least one is left. For a linear
decoder and two classes the smallest flipping set is known too: what is kept decides by the sign of
:math:`\sum_{kept} \alpha_i m_i`, so taking away the terms that speak most for the decision is best, one by one.

Legend: B batch, O orders, T tokens, K classes.
"""

from typing import Any

import torch
from torch import Tensor

from attest.core.measures import probabilities
from attest.core.randomness import random_order
from attest.experiments.erasure.outcomes import left_after_each
from attest.experiments.says import ERASED_WEIGHTS
from attest.experiments.spec import Column, Drawing, Means, Spec
from attest.models.observation import Observation, cached_per_batch


def erasure_until_flip(observation: Observation, seed: int = 0, draws: int = 5) -> dict[str, Tensor]:
    """Count how many attention weights must be set to 0, in each of several orders, until the decision changes.

    Args:
        observation: the batch; if another explanation replaces attention, the order ``attention`` is that of this explanation.
        seed: with an instance's id it fixes that instance's random orders.
        draws: random orders, averaged over those that flip; 5 in the paper.
    Returns:
        The columns of ``SPEC``, ``(B,)`` float64, for the orders ``attention``, ``gradient`` (of the predicted class with
        respect to the weights, signed), ``product`` of the two and ``random``, largest first; for two classes and a linear
        decoder also ``minimum``, the smallest set that flips. NaN if the decision never flips, as for a text of one token.
    """
    importances = _importances(observation)
    keys = torch.stack(list(importances.values()), dim=1)
    shuffled = random_order(seed, observation.ids, draws, observation.mask).double()
    order = torch.cat([keys, shuffled], dim=1).argsort(dim=-1, descending=True, stable=True)
    zeroed, zeroed_support = _zeroed_until_flip(observation, order)
    names = [*importances, "random"]
    counts, counts_support = (
        dict(zip(names, [*each[:, : len(importances)].unbind(1), each[:, len(importances) :].nanmean(dim=-1)], strict=True))
        for each in (zeroed, zeroed_support)
    )
    support = (observation.attention > 0).sum(dim=-1)
    columns = {f"fraction_{name}": count / observation.lengths for name, count in counts.items()}
    every = ~torch.stack(list(columns.values())).isnan().any(dim=0)
    # an order that flips easy texts alone would look good beside others
    columns |= {name.replace("_", "_common_", 1): each.where(every, torch.nan) for name, each in columns.items()}
    columns["flips_in_every_order"] = every.double()
    columns |= {f"fraction_support_{name}": count / support for name, count in counts_support.items()}
    if "minimum" in names:
        least = counts_support.pop("minimum")
        columns |= {f"excess_{name}": count - least for name, count in counts_support.items()}
    return columns


def _importances(observation: Observation) -> dict[str, Tensor]:
    """Return by name the importances that define the orders of erasure, float64 ``(B, T)``; -inf at padding."""
    gradient = attention_gradient(observation)
    importances = {"attention": observation.explanation, "gradient": gradient, "product": gradient * observation.attention}
    if observation.margins is not None:
        decision = torch.where(observation.predicted == 1, 1, -1).unsqueeze(-1)
        importances["minimum"] = decision * observation.attention.double() * observation.margins
    return {name: each.double().masked_fill(~observation.mask, -torch.inf) for name, each in importances.items()}


@cached_per_batch
def attention_gradient(observation: Observation) -> Tensor:
    """Return the signed derivative of the predicted class's probability by each attention weight, ``(B, T)``."""
    with torch.enable_grad():
        weights = observation.attention.clone().requires_grad_()
        logits = observation.network.decode(observation.hidden.detach(), weights)
        return torch.autograd.grad(observation.of_predicted(probabilities(logits)).sum(), weights)[0]


def _zeroed_until_flip(observation: Observation, order: Tensor) -> tuple[Tensor, Tensor]:
    """Count all weights, and all non-zero weights, that are set to 0 until the decision changes, ``(B, O)`` each."""
    ordered = observation.attention.double().unsqueeze(1).expand(order.shape).gather(-1, order)
    something_left = left_after_each(ordered) > 0
    flips = (_decisions_after_each(observation, order) != observation.predicted[:, None, None]) & something_left
    first = flips.to(torch.uint8).argmax(dim=-1, keepdim=True)
    nonzero = (ordered > 0).cumsum(dim=-1).gather(-1, first)
    flipped = flips.any(dim=-1)
    return (first.squeeze(-1) + 1).double().where(flipped, torch.nan), nonzero.squeeze(-1).double().where(flipped, torch.nan)


def _decisions_after_each(observation: Observation, order: Tensor) -> Tensor:
    """Return the decision after each step that sets one more weight to 0, int64 ``(B, O, T)`` for O orders."""
    if observation.class_logits is None:
        return torch.stack([_decisions_the_long_way(observation, each) for each in order.unbind(dim=1)], dim=1)
    votes = observation.attention.double().unsqueeze(-1) * observation.class_logits.double()  # (B, T, K)
    ordered = votes.transpose(1, 2).unsqueeze(1).expand(-1, order.shape[1], -1, -1)
    ordered = ordered.gather(-1, order.unsqueeze(2).expand_as(ordered))  # (B, O, K, T)
    return left_after_each(ordered).argmax(dim=2)


def _decisions_the_long_way(observation: Observation, order: Tensor) -> Tensor:
    place = order.argsort(dim=-1).unsqueeze(1)
    after = torch.arange(order.shape[-1], device=order.device).unsqueeze(-1)
    kept = observation.attention.unsqueeze(1) * (place > after)
    left = kept.sum(dim=-1, keepdim=True)
    return observation.probabilities_under(kept / torch.where(left > 0, left, 1.0)).argmax(dim=-1)


ORDERS = {"in the order of attention": "attention", "in random order": "random"}
"""The orders of setting weights to zero that the sentence in the report compares. The keys are its phrases, the values the
names of these orders in columns."""
LEAST = {"in the smallest set that flips the decision": "minimum"}


def _answer(mean: Means) -> str | None:
    if not any(f"E12/fraction_{order}" in mean for order in ORDERS.values()):
        return None
    return " ".join(said for said in (_flips(mean), _needed(mean), _excess(mean)) if said)


def _flips(mean: Means) -> str:
    counts = {how: mean.defined(f"E12/fraction_{order}") for how, order in ORDERS.items() if f"E12/fraction_{order}" in mean}
    known = [f"{count:,} {how}" for how, count in counts.items() if count is not None]
    return (
        f"Of {mean.instances:,} decisions, erasing attention weights one after another flips {' and '.join(known)}."
        if known
        else ""
    )


def _needed(mean: Means) -> str:
    flips = any(mean(f"E12/fraction_{order}") is not None for order in ORDERS.values())
    if not flips or "E12/fraction_common_attention" not in mean:
        return ""
    shares = {how: mean.share(f"E12/fraction_common_{order}") for how, order in (ORDERS | LEAST).items()}
    said = [f"{share} {how}" for how, share in shares.items() if share is not None]
    if not said:
        return "The orders of erasing cannot be compared, because no decision flips in all of them."
    count = mean.defined("E12/fraction_common_attention")
    texts = "texts" if count is None else f"{count:,} texts"
    return (
        f"For the {texts} whose decisions flip in every order of erasing, the share of weights erased until the flip is "
        f"{', '.join(said)}."
    )


def _excess(mean: Means) -> str:
    excess = mean("E12/excess_attention")
    if excess is None:
        return ""
    count = mean.defined("E12/excess_attention")
    low, high = mean.bounds("E12/excess_attention")
    within = "" if low is None or high is None else f" [{low:.1f}, {high:.1f}]"
    over = "" if count is None else f" (mean over the {count:,} texts that flip in this order)"
    return (
        f"In the order of attention, {excess:.1f}{within} more weights are erased than are in the smallest set that flips the "
        f"decision{over}."
    )


def _caption(rows: Any) -> str:
    least = " The minimum is exact: no order needs fewer." if "fraction_minimum" in rows else ""
    every = len(rows.filter(regex="^fraction_(attention|gradient|product|random|minimum)$").dropna())
    return (
        "Share of the tokens whose weights are set to zero until the decision flips, by order (Serrano & Smith 2019). An "
        f"order with a small share finds the tokens that decide. The figure shows only the {every:,} of {len(rows):,} texts "
        f"that flip in every order.{least}"
    )


SPEC = Spec(
    id="E12",
    name="erasing until the decision flips",
    question="How many weights must go until the decision flips?",
    does="Sets weights to zero one by one, by attention, its gradient, their product or at random; and the exact minimum",
    source="Serrano & Smith 2019; exact: ours",
    about="states",
    cost="T log T if the decoder is linear, else one decoding for each weight",
    says=ERASED_WEIGHTS,
    columns=(
        Column.share("fraction_<order>", "weights set to zero until the decision flips, as a share of the tokens"),
        Column.share("fraction_common_<order>", "`fraction_<order>` if the decision flips in every order of erasing"),
        Column.yes_or_no(
            "flips_in_every_order",
            "Share of texts whose decision flips in every tested order of erasing attention weights. The next two rows are "
            "means over the texts whose decision flips in every tested order of erasing attention weights.",
            title="flips in every order of erasing weights",
            misread="The next two rows leave out decisions that do not flip in at least one tested order, often the most "
            "confident decisions.",
        ),
        Column.share(
            "fraction_common_attention",
            "Share of the attention weights that are set to 0, largest first, until the decision flips. The share of erased "
            "weights is a mean over the texts whose decision flips in every order of erasing.",
            title="weights erased until the decision flips",
            misread="Setting attention weights to 0 leaves the hidden states unchanged: they still contain information from "
            "the erased tokens.",
            suspicious="high",
            beside=("in random order, on the same texts", "fraction_common_random"),
            short=("erased", "Share of weights erased by attention until the decision flips (E12)."),
            of_texts="fraction_attention",
        ),
        Column.share(
            "fraction_common_minimum",
            "Smallest share of the attention weights whose erasure flips the decision. The share of erased weights is a mean "
            "over the texts whose decision flips in every order of erasing.",
            title="smallest set of weights that flips the decision",
            misread="Erasing the smallest set is enough to change the decision, but the model need not have used exactly "
            "this set.",
        ),
        Column.share(
            "fraction_support_<order>", "share of the non-zero weights that are set to zero until the decision flips"
        ),
        Column.at_least_0(
            "excess_<order>",
            "number of non-zero weights set to zero until the decision flips, minus the smallest possible number",
            unit="tokens",
        ),
    ),
    answer=_answer,
    drawings=(Drawing("erasure_until_flip", "Erasing attention weights until the decision flips", _caption, "erasure_boxes"),),
    run=erasure_until_flip,
    reads=("seed",),
    any_reading=True,
)
