"""Texts too long to compare every token with every other are left out by name, and change nothing for the others."""

from functools import partial

import pytest
import torch

from attest.core import memory
from attest.experiments import adversarial_attention, feature_importance, importance_entropy
from tests.experiments.networks import DeepDecoder, observation_of, pooling_classifier

LENGTHS = [4, 12, 1, 6]
"""The second is too long here."""
EXPERIMENTS = {
    "E1": (feature_importance, {"leave_one_out_inputs", "leave_one_out_hidden", "leave_one_out_hidden_renormalised"}),
    "E3": (adversarial_attention, {"jsd_exact", "jsd_exact_filter", "tvd_exact", "adversary"}),
    "E10": (partial(importance_entropy, everyone=None, texts=0), {"entropy_leave_one_out"}),
}


def is_skipped(name: str, left_out: set[str]) -> bool:
    return any(part in name for part in left_out | {"gradient_and_leave_one_out"})


@pytest.mark.whole("long texts")
@pytest.mark.parametrize("experiment", EXPERIMENTS)
@pytest.mark.parametrize("limit", [{"_longest": 6}, {"_budget": memory._BYTES_PER_PAIR * 6**2}])
def test_a_long_text_has_what_is_cheap_and_the_others_have_everything(experiment, limit, monkeypatch):
    measure, left_out = EXPERIMENTS[experiment]
    network = pooling_classifier()
    whole = measure(observation_of(network, LENGTHS))
    for name, value in limit.items():
        monkeypatch.setattr(memory, name, value)
    spared = measure(observation_of(network, LENGTHS))
    assert spared.keys() == whole.keys()
    short = torch.tensor([True, False, True, True])
    for name, column in spared.items():
        torch.testing.assert_close(column[short], whole[name][short], equal_nan=True, atol=1e-12, rtol=0)
        if is_skipped(name, left_out):
            assert column[1].isnan().all(), name
        else:
            torch.testing.assert_close(column[1], whole[name][1], equal_nan=True)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_a_table_of_long_texts_alone_has_the_same_columns(experiment, monkeypatch):
    measure, left_out = EXPERIMENTS[experiment]
    expected = measure(observation_of(pooling_classifier(), [8, 7]))
    monkeypatch.setattr(memory, "_longest", 5)
    found = measure(observation_of(pooling_classifier(), [8, 7]))
    assert {name: column.shape for name, column in found.items()} == {name: column.shape for name, column in expected.items()}
    for name in found:
        if is_skipped(name, left_out):
            assert found[name][0].isnan().all()
            assert found[name].ndim == 1 or (found[name][1, 7:] == 0).all(), "padding is 0 as ever"


def test_another_decoder_spares_long_texts_too(monkeypatch):
    monkeypatch.setattr(memory, "_longest", 6)
    columns = feature_importance(observation_of(DeepDecoder(pooling_classifier()), LENGTHS))
    assert columns["leave_one_out_hidden"][1].isnan().all()
    assert columns["leave_one_out_hidden"][0, :4].isfinite().all()
