"""E9: does the model still predict well if attention keys are exchanged between tokens? (Drozdyuk et al.)

Legend: R instances times draws, Y layers, T tokens, H size of the keys of all heads.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from attest.core.randomness import random_bits, random_permutations
from attest.experiments.layers.tampering import (
    Sinks,
    Tampering,
    clean_keys,
    replacing_keys,
    shuffled_within,
    tampered_at_random,
)
from attest.experiments.says import OTHER_ATTENTION
from attest.experiments.sink import and_for_decoders, columns_of_decoders
from attest.experiments.spec import MOVES, Column, Inside, OfNumbers, Spec
from attest.models.layers_observed import LayerObservation


@torch.no_grad()
def key_shuffle(observation: LayerObservation, labels: Tensor, seed: int, draws: int = 2) -> dict[str, Tensor]:
    """Permute the attention keys over the real tokens, and measure how predictions and attention change.

    Args:
        labels: int64 ``(B,)``, gold classes, or ``(B, T)``, gold tags.
        seed: with an instance's id it fixes that instance's shuffles, which differ from layer to layer.
        draws: shuffles per instance; results are means over them. A layer is shuffled in the same way alone and with all
            others.
    Returns:
        The first columns of ``SPEC``, ``(B,)``, with every layer shuffled and, with ``_layer<l>``, with the l-th layer alone.
        In columns with ``_without_sink``, a token that is a sink of any head of a layer keeps its key there.
    """
    everywhere = observation.scopes[""]
    keys = clean_keys(observation.network, everywhere, observation.texts)
    columns = {"correct": observation.correct(labels)}
    outcomes = tampered_at_random(observation, labels, draws, seed, partial(_shuffling, keys, everywhere, seed), compared=True)
    for suffix, outcome in outcomes.items():
        for name in ("correct", "tvd", "jsd"):
            columns[f"{name}_shuffled{suffix}"] = getattr(outcome, name).mean(dim=-1)
    return columns


def with_shuffled_keys(observation: LayerObservation, seed: int) -> LayerObservation:
    """Return a new observation of a batch, with the attention keys of all layers permuted among the tokens."""
    layers = observation.scopes[""]
    keys = clean_keys(observation.network, layers, observation.texts)
    rows = torch.arange(len(observation.ids), device=observation.ids.device)
    draw = random_bits(seed, observation.ids, torch.zeros_like(rows))
    return observation.under(*_shuffling(keys, layers, seed, {}, observation, rows, draw)(layers))


def _shuffling(
    keys_BYTH: Tensor, everywhere: Sequence[str], seed: int, sinks: Sinks, clean: LayerObservation, rows: Tensor, draws: Tensor
) -> Tampering:
    if sinks:  # the keys of all heads move together
        free_RYT = torch.stack([clean.mask & ~sinks[layer][rows].any(dim=1) for layer in everywhere], dim=1)
        keys_RY = random_bits(seed, draws.unsqueeze(-1), torch.arange(len(everywhere), device=draws.device))
        order_RYT = shuffled_within(seed, keys_RY.flatten(), free_RYT.flatten(0, 1)).view(free_RYT.shape)
    else:
        order_RYT = random_permutations(seed, draws, len(everywhere), clean.mask)
    keys_RYTH = keys_BYTH[rows]
    shuffled_RYTH = keys_RYTH.gather(-2, order_RYT.unsqueeze(-1).expand_as(keys_RYTH))
    changes = dict(zip(everywhere, replacing_keys(clean.network, everywhere, shuffled_RYTH), strict=True))
    return lambda layers: [changes[layer] for layer in layers]


STAY = "while the keys of sinks stay in their places"
SHUFFLED = (
    Column.share(
        "correct_shuffled",
        "Accuracy when the keys of every layer are permuted over the tokens, so that attention goes to other tokens. If the "
        "accuracy stays the same with shuffled keys, it did not matter which tokens got attention.",
        title="accuracy with keys shuffled",
        misread="Shuffled keys may lower accuracy only because the model was never trained with them.",
        suspicious="high",
    ),
    Column.share("tvd_shuffled", "how far (TVD) the prediction moves with shuffled keys, on average"),
    Column.nats("jsd_shuffled", "how far (JSD) attention moves with shuffled keys, on average"),
)
MOVED_SHUFFLED = replace(
    SHUFFLED[1].moved(),
    means=f"For a model that returns one number: how far the number moves with keys permuted in every layer, {MOVES}.",
    title="change of the predicted number with shuffled keys, in σ",
    misread="The model was never trained with shuffled keys: a changed prediction does not show that attention explains the "
    "prediction.",
    suspicious="low",
)

SPEC = Spec(
    id="E9",
    name="other keys",
    question="Does the model survive other keys?",
    does="Shuffles the keys inside a Transformer over the tokens, draws them at random, or trains them to mislead",
    source="Drozdyuk et al.",
    about="layers",
    cost="one forward pass for each draw and layer; an attack is trained",
    says=OTHER_ATTENTION,
    needs="attacks",
    about_columns="Columns are about all layers together or, with `_layer<l>` at the end, about the l-th layer, counted from "
    "1. The last four columns need a trained adversary.",
    columns=(
        Column.yes_or_no("correct", "whether the model decides rightly", type="bool"),
        *SHUFFLED,
        Column.share(
            "correct_shuffled_layer<l>", "share of shuffles of the keys of one layer after which the decision is right"
        ),
        Column.share(
            "correct_shuffled_layer1",
            "Accuracy when the keys of the first layer alone are permuted over the tokens.",
            title="accuracy, first layer shuffled",
            misread="Later layers can recover information that the first layer lost.",
            suspicious="high",
        ),
        Column.yes_or_no(
            "correct_attacked",
            "Share of texts for which the model under attack predicts the label that the attack was trained for. The attack "
            "changes attention keys.",
            title="accuracy under attack",
            misread="An attack that was trained badly shows nothing: compare it with an attack by random attention keys.",
        ),
        Column.yes_or_no("flipped", "whether the attack changes the decision"),
        Column.share("tvd_attacked", "how far (TVD) the prediction moves under attack"),
        Column.nats(
            "jsd_attacked",
            "How far (JSD) the attack changes attention: the mean over rows of attention, at most ln 2 = 0.693.",
            title="JSD between the attention with and without attack",
            misread="Attention may change much at tokens that no later layer uses.",
        ),
        *columns_of_decoders(SHUFFLED, STAY),
        *and_for_decoders([MOVED_SHUFFLED], STAY),
    ),
    of_numbers=OfNumbers.moves("and nothing is decided"),
)

INSIDE = Inside("E9", key_shuffle, reads=("labels", "seed"), needs="moves_keys")
