"""What follows for a network that says nothing of itself, and what a network says."""

from dataclasses import asdict

from torch import nn

from attest.experiments.registry import INSIDE
from attest.models.traits import Traits, traits_of


class Silent(nn.Module):
    pass


class Decoder(nn.Module):
    pools_by_attention = False
    attends_everywhere = False
    looks_back = True


def test_a_network_that_says_nothing_pools_and_shows_everything():
    said = {name for name, value in asdict(traits_of(Silent())).items() if value}
    assert said == {"pools_by_attention", "attends_everywhere", "moves_keys", "shows_values", "shows_outputs"}
    assert traits_of(None) == Traits()


def test_what_a_network_says_counts_in_an_instance_too():
    network = Decoder()
    network.shows_values = False
    said = traits_of(network)
    assert (said.pools_by_attention, said.looks_back, said.shows_values, said.shows_outputs) == (False, True, False, True)


def test_an_experiment_is_for_networks_with_the_trait_that_it_needs():
    needs = {name: each.needs for name, each in INSIDE.items() if each.needs}
    assert needs["E3"] == "attends_everywhere"
    assert not INSIDE["E3"].suits(Decoder())
    assert INSIDE["E3"].suits(Silent())
