"""The evidence on every network of the population: one row a text, with the truth about it.

Legend: B texts, T tokens.
"""

from collections.abc import Mapping
from typing import Any, cast

import pandas as pd
import torch
from torch import Tensor, nn

from attest.experiments.judges.measuring import witnessed
from attest.experiments.judges.population import Recipe, made
from attest.experiments.judges.texts import EVERY_WORD_NEEDED, Texts, draw_texts
from attest.experiments.judges.truth import moved_by_fillers, moved_by_states

GAIN_SEED, TEXT_SEED = 10_001, 7
FEATURES = ("tokens", "states", "layers")
"""What columns speak of: tokens, states that pooled attention weights, states inside layers."""


def about_of(inside: bool) -> dict[str, str]:
    """Return which features answer about tokens and about states, by what the answer is about."""
    return {"tokens": "tokens", "states": "layers" if inside else "states"}


def points_at(attention: Tensor, truth: Tensor, ranked: Tensor, every: bool, lead: float) -> Tensor:
    """Return the texts in which attention points at what decides, bool ``(B,)``.

    Args:
        attention: ``(B, T)``.
        truth: bool ``(B, T)``, what decides.
        ranked: bool ``(B, T)``, what counts.
        every: whether all of the truth must lead; else one of it.
    """
    truth = truth & ranked
    others = attention.masked_fill(truth | ~ranked, 0).amax(dim=-1)
    ours = attention.masked_fill(~truth, torch.inf).amin(-1) if every else attention.masked_fill(~truth, 0).amax(-1)
    return (ours >= lead * others) & (ours > 0) & truth.any(dim=-1)


def refused(network: nn.Module | None, texts: Texts, stated: Mapping[str, Any]) -> str:
    """Return why a network does not count; an empty string if it does."""
    if network is None:
        return "no gain lets it decide every text by its rule"
    with torch.no_grad():
        if bool((network(texts.tokens, texts.mask).argmax(dim=-1) != texts.labels).any()):
            return "it decides a text against its rule"
        if bool((network(texts.exchanged, texts.mask).argmax(dim=-1) == texts.labels).any()):
            return "it keeps a decision when the words are exchanged"
        if moved_by_fillers(network, texts, stated["replaced"]) > stated["delta"]:
            return "it moves when a token that does not decide is replaced"
        moved, kept = moved_by_states(network, texts, stated["replaced"])
        if moved > stated["delta"]:
            return "it moves when a state that carries nothing is replaced"
        return "it keeps a decision when the carrying states are exchanged" if kept else ""


def rows_of_recipe(numbered: tuple[int, tuple[str, Recipe]], stated: Mapping[str, Any]) -> pd.DataFrame | str:
    """Return one row for each text of a network of the population, or the reason why the network does not count.

    Returns:
        ``network``, ``side``, ``kind``, ``mechanism``, ``value``, ``look``, ``rule``, ``text``; ``right_tokens`` and
        ``right_states``, the truth; and the features, NaN where one is undefined.
    """
    number, (side, recipe) = numbered
    network = made(recipe, draw_texts(recipe.rule, stated["gain_texts"], GAIN_SEED))
    texts = draw_texts(recipe.rule, stated["texts"][recipe.kind], TEXT_SEED)
    if reason := refused(network, texts, stated):
        return reason
    assert network is not None
    carrying = cast(Any, network).carrying_states(texts.tokens, texts.mask)
    every_state = recipe.rule == "conjunction" and recipe.value in ("words", "later")
    named = {"network": number, "side": side, "kind": recipe.kind, "mechanism": recipe.mechanism}
    named |= {"value": recipe.value, "look": recipe.look, "rule": recipe.rule}
    return truthful_rows(network, texts, carrying, every_state, stated).assign(**named)


def truthful_rows(
    network: nn.Module, texts: Texts, carrying: Tensor | None, every_state: bool, stated: Mapping[str, Any]
) -> pd.DataFrame:
    """Return the features of each text and the truth about it, one row a text.

    Args:
        carrying: bool ``(B, T)``, the states that carry the decision; None if nobody knows.
    """
    keys = [key for of in FEATURES for key in stated["features"][of]]
    found = witnessed(network, texts, stated["seed"], keys, stated["settings"])
    every = texts.rule in EVERY_WORD_NEEDED
    rows = pd.DataFrame({key: column.float().numpy() for key, column in found.columns.items()})
    right = points_at(found.attention, texts.deciding, found.ranked, every, stated["lead"])
    rows = rows.assign(text=texts.ids.numpy(), right_tokens=right.numpy().astype(float))
    if carrying is None:
        return rows.assign(right_states=float("nan"))
    right = points_at(found.received, carrying, found.ranked, every_state, stated["lead"])
    return rows.assign(right_states=right.numpy().astype(float))
