"""The callback of an experiment follows from its id and from where the model has its attention."""

from types import SimpleNamespace
from typing import Any

import pytest
from torch import nn

from attest import callbacks
from attest.callbacks import layers
from attest.callbacks.by_id import callback_of
from attest.core.attention import Sparsegen


def module(pools: bool, predicts: str) -> Any:
    network = nn.Module()
    network.pools_by_attention = pools
    return SimpleNamespace(network=network, predicts=predicts)


POOLS, WITHIN, TAGS = module(True, "label"), module(False, "label"), module(False, "tags")


@pytest.mark.parametrize(
    ("name", "model", "expected"),
    [
        ("E2", POOLS, callbacks.AttentionPermutation),
        ("E2", WITHIN, layers.LayerPermutation),
        ("E2", TAGS, layers.LayerPermutation),
        ("E14", POOLS, callbacks.Erasure),
        ("E14", WITHIN, callbacks.Erasure),
        ("E14", TAGS, layers.TagErasure),
        ("E19", TAGS, layers.TagDecides),
        ("E17", WITHIN, layers.LayerExperiment),
        ("instances", WITHIN, callbacks.Instances),
        ("tagged", TAGS, callbacks.TaggedInstances),
        ("maps", WITHIN, layers.AttentionMaps),
        ("E1", SimpleNamespace(), callbacks.FeatureImportance),
    ],
)
def test_the_place_of_attention_decides_which(name, model, expected):
    made = callback_of(name, {}, model)
    assert type(made) is expected
    assert made.id == name


def test_settings_reach_it_and_projections_are_built():
    projection = {"class_path": "attest.core.attention.Sparsegen", "init_args": {"lam": 0.5}}
    made = callback_of("E8", {"projections": {"half": projection}, "every_n_epochs": 3}, POOLS)
    assert isinstance(made.options["projections"]["half"], Sparsegen)
    assert made.every_n_epochs == 3


def test_a_callback_of_ones_own_is_named_by_its_class():
    attack = {"class_path": "attest.callbacks.layers.KeyAttack"}
    assert type(callback_of("E9", attack, WITHIN)) is layers.KeyAttack


@pytest.mark.parametrize(
    ("name", "settings", "model"),
    [
        ("E77", {"class_path": "attest.callbacks.layers.KeyAttack"}, WITHIN),
        ("E1", {}, TAGS),
        ("E9", {}, POOLS),
        ("instances", {"texts": 3}, POOLS),
        ("E2", {"permutation": 3}, POOLS),
    ],
)
def test_what_does_not_suit_is_refused_in_a_sentence(name, settings, model, refusal):
    with refusal():
        callback_of(name, settings, model)
