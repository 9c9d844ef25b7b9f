"""Small Transformers on trial, untrained, their attention far from uniform."""

import torch
from torch import nn

from attest.core.attention import Projection, Softmax
from attest.experiments.layers import LayerObservation, observe_layers
from attest.models.networks import TransformerClassifier, TransformerTagger
from tests.experiments.networks import VOCABULARY, ragged_batch

LENGTHS = [6, 1, 3, 9]


def classifier(outputs: int = 1, projection: Projection | None = None, layers: int = 2) -> TransformerClassifier:
    """Two heads, 8 dimensions."""
    torch.manual_seed(0)
    network = TransformerClassifier(
        VOCABULARY, outputs, size=8, layers=layers, heads=2, feedforward_size=16, projection=projection or Softmax()
    )
    return spread(network)


def tagger(outputs: int = 3) -> TransformerTagger:
    """One layer of four heads."""
    torch.manual_seed(0)
    return spread(TransformerTagger(VOCABULARY, outputs, size=8, embedding_size=6))


def spread(network: nn.Module) -> nn.Module:
    """Draw all matrices wide, so that attention differs from row to row and predictions are spread over their range."""
    for parameter in network.parameters():
        if parameter.ndim > 1:
            nn.init.normal_(parameter, std=0.7)
    return network.double().eval()


def observed(network: nn.Module, lengths: list[int] = LENGTHS, seed: int = 0) -> LayerObservation:
    """Random texts, observed without a graph."""
    with torch.no_grad():
        return observe_layers(network, *ragged_batch(lengths, seed))


def alone(observation: LayerObservation, row: int) -> LayerObservation:
    """One instance without padding."""
    length = int(observation.mask[row].sum())
    ids, tokens = observation.ids[row : row + 1], observation.tokens[row : row + 1, :length]
    with torch.no_grad():
        return observe_layers(observation.network, ids, tokens, tokens > 0)
