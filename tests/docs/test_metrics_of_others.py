"""The metrics of others say what the libraries say, or what their formulas do."""

import pytest
import torch
from torch import nn

from examples import metrics_of_others

TOKENS = torch.tensor([[7, 8, 3, 5, 14, 2, 9, 11, 6, 4, 12, 1]])
BATCH = {"token_ids": TOKENS, "mask": torch.ones_like(TOKENS, dtype=torch.bool)}
ATTENTION = torch.tensor([[0.2, 0.052, 0.11, 0.0, 0.3, 0.053, 0.05, 0.054, 0.1, 0.02, 0.041, 0.03]])
PAIRS = (
    "a9 a9 74 91 05 89 20 20 15 63 95 73 94 80 ab 57 95 64 b2 a0 a8 40 58 85 81 4a 97 17 a3 29 94 a1 9a 04 63 b5 4b 4a 12 08 "
    "89 52 b1 16 57 07 95 a3 35 b5"
)
"""The random pairs of tokens that ICE drew, in hexadecimal."""


class InOrder(nn.Module):
    """A network that reads tokens, the earlier ones more."""

    def forward(self, tokens, mask):
        said = tokens.float().sin() * mask
        margin = (2 * said + said / (torch.arange(tokens.shape[1]) + 1)).sum(dim=-1)
        return torch.stack([-margin, margin], dim=-1) / 2


def test_comprehensiveness_is_what_ferret_says():
    found = metrics_of_others.aopc_comprehensiveness(InOrder(), BATCH, ATTENTION)
    assert found.tolist() == pytest.approx([0.65232205], abs=1e-6), "ferret-xai 0.4.2, remove_first_last=False"


def test_win_rate_is_what_ice_says_of_the_same_random_sets(monkeypatch):
    pairs = [torch.tensor([int(place, 16) for place in pair]) for pair in PAIRS.split()]
    drawn = [torch.full((1, 12), 5).index_fill(1, pair, 0) for pair in pairs]
    monkeypatch.setattr(metrics_of_others, "random_ranks", lambda _mask: drawn)
    found = metrics_of_others.win_rate(InOrder(), BATCH, ATTENTION)
    assert found.tolist() == [0.86], "ice-faithfulness 1.0.1, deletion, 50 permutations, k = 0.2"


def test_random_sets_leave_padding_out():
    mask = torch.arange(12).expand(2, -1) < torch.tensor([[5], [12]])
    ranks = torch.stack(metrics_of_others.random_ranks(mask))
    assert len(ranks) == metrics_of_others.SAMPLES
    assert (ranks[:, 0, 5:] >= 5).all()
    assert len({tuple(row) for row in ranks[:, 1].tolist()}) == len(ranks)


class Weighed(nn.Module):
    """A network whose probability is linear in which tokens are there, and whose attention is a softmax of embeddings."""

    def __init__(self, effects):
        super().__init__()
        self.embedding = nn.Embedding(15, 3)
        self.effects = effects

    def forward(self, tokens, mask):
        chance = 0.5 + (self.effects * (tokens > 0)).sum(dim=-1)
        return torch.stack([1 - chance, chance], dim=-1).log()

    def encode(self, tokens, mask):
        return self.embedding(tokens)

    def score(self, hidden, mask):
        return hidden.sum(dim=-1)

    def project(self, scores, mask):
        return scores.softmax(dim=-1)


def test_attention_in_proportion_to_effects_has_no_infidelity_and_other_attention_has():
    network = Weighed(0.4 * ATTENTION)
    assert metrics_of_others.infidelity(network, BATCH, ATTENTION).item() == pytest.approx(0, abs=1e-7)
    assert metrics_of_others.infidelity(network, BATCH, ATTENTION.flip(-1)).item() > 1e-4


def test_sensitivity_is_how_far_attention_moves_with_the_embeddings():
    network = Weighed(ATTENTION)
    found = metrics_of_others.sensitivity_max(network, BATCH, ATTENTION).item()
    assert 0 < found < 0.13, "scores move by up to 0.06, so that no weight changes by more than a factor of exp(0.12)"
    network.project = lambda scores, mask: torch.full_like(scores, 1 / 12)
    assert metrics_of_others.sensitivity_max(network, BATCH, ATTENTION).item() == 0
