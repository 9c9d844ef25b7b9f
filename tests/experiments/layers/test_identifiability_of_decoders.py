"""E13 of a decoder asks the deciding row, among the tokens that it may attend to; with sinks and without."""

import numpy as np
import pytest
import torch

from attest.core.attention.interventions import recorded
from attest.core.measures import kendall_tau_b
from attest.experiments.layers import identifiability, layer_identifiability, observe_layers
from attest.models.pretrained.network import PretrainedNetwork
from tests.experiments.test_sink import first_token
from tests.models.pretrained.tiny import batch, tiny

WINDOW = {"mistral": 4}


@pytest.fixture(autouse=True)
def first_is_sink(monkeypatch):
    monkeypatch.setattr(identifiability, "sinks_of", first_token)


@pytest.fixture(params=["llama", "mistral", "gpt_oss"])
def observation(request):
    tokens, mask = batch()
    settings = {"sliding_window": WINDOW[request.param]} if request.param in WINDOW else {}
    return observe_layers(PretrainedNetwork(tiny(request.param, **settings), 0), torch.arange(3), tokens, mask)


def by_hand(values: np.ndarray, row: np.ndarray) -> tuple[float, float, float, float]:
    """Rank, triviality, L1 distance and τ-b of one head's row over the tokens that are left."""
    row = row / row.sum()
    effective = row @ values @ np.linalg.pinv(values, rtol=1e-6)
    rank = np.linalg.matrix_rank(values, rtol=1e-6)
    compared = (torch.from_numpy(each)[None] for each in (row, effective, np.ones(len(row), dtype=bool)))
    return rank, rank == len(row), np.abs(row - effective).sum(), float(kendall_tau_b(*compared).tau)


@pytest.mark.parametrize("first", [0, 1])
@torch.no_grad()
def test_the_deciding_row_equals_the_pseudo_inverse(observation, first):
    ending = "_without_sink" if first else ""
    with recorded(observation.network, "values") as values:
        observation.network(observation.tokens, observation.mask)
    columns = layer_identifiability(observation)
    for place, (layer, weights) in enumerate(observation.attention.items(), start=1):
        for text, length in enumerate(observation.mask.sum(dim=-1).tolist()):
            rows = weights[text, :, length - 1, :length].double().numpy()
            kept = [np.flatnonzero(row * (np.arange(length) >= first)) for row in rows]
            heads = values[layer][text, :, :length].double().numpy()
            expected = [by_hand(head[seen], row[seen]) for head, row, seen in zip(heads, rows, kept, strict=True)]
            found = [float(columns[f"{name}{ending}_layer{place}"][text]) for name in ("rank", "trivial", "l1", "tau")]
            np.testing.assert_allclose(found, np.nanmean(expected, axis=0), atol=1e-6)


def test_without_the_sink_it_is_another_number(observation):
    columns = layer_identifiability(observation)
    assert (columns["rank_without_sink"] <= columns["rank"]).all()
    determined = (columns["trivial"] == 1) & (columns["trivial_without_sink"] == 1)
    assert torch.equal((columns["l1_without_sink"] - columns["l1"]).abs() < 1e-9, determined)
    assert (columns["jsd_without_sink"] >= -1e-12).all()


def test_one_token_has_no_others():
    tokens, mask = torch.tensor([[5]]), torch.ones(1, 1, dtype=torch.bool)
    columns = layer_identifiability(observe_layers(PretrainedNetwork(tiny("llama"), 0), torch.arange(1), tokens, mask))
    assert columns["trivial"].item() == 1
    assert all(columns[f"{name}_without_sink"].isnan().all() for name in ("trivial", "tau", "l1", "jsd"))
