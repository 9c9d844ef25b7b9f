"""What a network offers beside its four steps."""

from dataclasses import asdict

import torch
from torch import nn

from attest.models.layers_observed import blocks_in
from attest.models.networks.pooling import PoolingClassifier
from attest.models.offers import Offers, offers_of


class Stacked(nn.Module):
    """Somebody's network whose attribute ``blocks`` is a list of its layers."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(2, 2)])


def test_a_network_offers_what_it_has_and_none_of_the_rest():
    said = {name for name, value in asdict(offers_of(PoolingClassifier(10, 2))).items() if value is not None}
    assert said == {"token_logits", "attention_parameters"}
    assert offers_of(None) == Offers()


def test_a_token_id_counts_in_an_instance_too():
    network = nn.Linear(2, 2)
    network.padding = torch.tensor(0)
    assert offers_of(network).padding == 0


def test_blocks_of_a_stranger_are_no_layers_at_which_a_pass_can_start():
    assert blocks_in(Stacked()) == {}
