"""The networks of the population, and the evidence on every one: one row a text, with the truth about it.

Legend: B texts, T tokens.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

import pandas as pd
import torch
from torch import Tensor, nn

from attest.core.attention.rollout import attention_rollout
from attest.core.randomness import random_bits
from attest.experiments import observe
from attest.experiments.judges.judging import GAIN_SEED
from attest.experiments.judges.population import Recipe, made
from attest.experiments.judges.texts import EVERY_WORD_NEEDED, Texts, draw_texts
from attest.experiments.judges.truth import moved_by_fillers, moved_by_states
from attest.experiments.layers.rollout import where_rollout_begins
from attest.experiments.registry import INSIDE, Context, askable, settings_of
from attest.models.layers_observed import observe_layers

TEXT_SEED = 7
KINDS = ("pooled", "layered", "decoder")
FIELDS = ("rules", "shares", "projections", "noises", "margins", "residuals", "depths", "idle_heads", "mixtures", "looks")
FEATURES = ("tokens", "states", "layers")
"""What columns speak of: tokens, states that pooled attention weights, states inside layers."""


def recipes(stated: Mapping[str, Any]) -> Iterator[tuple[str, Recipe]]:
    """Yield the side of the split and the recipe of each network; mechanisms with an added place are ``fresh``."""
    added = stated["added"]
    for place, value in enumerate([*stated["values"], *added["values"]]):
        for other, look in enumerate([*stated["looks"], *added["looks"]]):
            fresh = value in added["values"] or look in added["looks"]
            side = "fresh" if fresh else stated["split"][(place + other) % len(stated["split"])]
            for kind, count in (added if fresh else stated)["kinds"].items():
                if kind == "decoder" and value not in stated["decoder_values"]:
                    continue
                for number in range(count):
                    yield side, _drawn(stated, kind, value, look, number)


def _drawn(stated: Mapping[str, Any], kind: str, value: str, look: str, number: int) -> Recipe:
    values, looks = ([*stated[name], *stated["added"][name]] for name in ("values", "looks"))
    coordinates = values.index(value), looks.index(look), KINDS.index(kind), number
    key = [torch.tensor(each) for each in coordinates]
    bits = random_bits(stated["seed"], *key, torch.arange(len(FIELDS))).tolist()
    rule, share, projection, noise, margin, residual, depth, idle, mixture, other = (
        stated[name][drawn % len(stated[name])] for name, drawn in zip(FIELDS, bits, strict=True)
    )
    return Recipe(kind, value, look, rule, share, projection, noise, margin, residual, depth, idle, mixture, other)


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


class Witnessed(NamedTuple):
    """The columns of experiments about the texts of a network, and the attention that they speak of."""

    columns: dict[str, Tensor]
    """By key, ``E1/tau_gradient_inputs``, float64 ``(B,)``; a key that the experiments do not have is left out."""
    attention: Tensor
    """``(B, T)``, pooled attention or rollout."""
    received: Tensor
    """``(B, T)``, pooled attention or what each token receives in the mean over layers, heads and rows."""
    ranked: Tensor
    """bool ``(B, T)``, the tokens that count: all but the one at which a decoder decides."""


def witnessed(network: Any, texts: Texts, seed: int, keys: Collection[str], settings: Mapping[str, Any]) -> Witnessed:
    """Run the experiments that columns come from as a trial runs them, on rollout where attention is inside layers alone."""
    inside = not getattr(network, "pools_by_attention", True)
    observation = observe(network, texts.ids, texts.tokens, texts.mask, texts.labels)
    attention = received = observation.attention
    layers = None
    if inside:
        with torch.no_grad():
            layers = observe_layers(network, texts.ids, texts.tokens, texts.mask, texts.labels)
        attention = attention_rollout(layers.attention, where_rollout_begins(observation)).detach()
        observation = observation.explained_by(attention)
        rows = layers.mask[:, None, :, None]
        count = layers.mask.sum(dim=-1, keepdim=True)
        received = torch.stack([(each * rows).sum(dim=2).mean(dim=1) / count for each in layers.attention.values()]).mean(
            dim=0
        )
        settings = {name: {**settings.get(name, {}), **settings.get("inside", {}).get(name, {})} for name in settings}
    context = Context(texts.labels, texts.ids, seed)
    columns: dict[str, Tensor] = {}
    for name, experiment in askable(inside).items():
        if not any(key.startswith(f"{name}/") for key in keys) or (experiment.inside and not INSIDE[name].suits(network)):
            continue
        known = settings_of(experiment.run)
        chosen_settings = {key: value for key, value in settings.get(name, {}).items() if key in known}
        with torch.enable_grad() if not experiment.inside else torch.no_grad():
            seen = layers if experiment.inside and layers is not None else observation
            found = replace(experiment, settings=chosen_settings)(seen, context)
        columns |= {key: found[key.split("/")[1]].detach().double() for key in keys if _in(key, name, found)}
    return Witnessed(columns, attention, received, observation.ranked)


def _in(key: str, name: str, found: dict[str, Tensor]) -> bool:
    return key.startswith(f"{name}/") and key.split("/")[1] in found


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
