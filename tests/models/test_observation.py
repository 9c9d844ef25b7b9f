"""The observed forward pass that all evidence starts from."""

import torch

from tests.experiments.networks import observation_of, pooling_classifier

LENGTHS = [6, 1, 9]


def test_a_network_trained_in_half_precision_is_observed_in_its_own():
    network = pooling_classifier(dtype=torch.float32)
    expected = observation_of(network, LENGTHS)
    with torch.autocast("cpu", torch.bfloat16):
        observed = observation_of(network, LENGTHS)
    assert observed.weights.dtype == observed.hidden.dtype == torch.float32
    torch.testing.assert_close(observed.logits, expected.logits, rtol=0, atol=0)
