"""The table of a tagger's sentences: which of the heads that stand there are those of which layer."""

from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import torch

from attest.callbacks.instances import TaggedInstances
from attest.experiments.layers import observe_layers
from attest.models.networks import TransformerTagger


def test_heads_stand_layer_by_layer_and_the_table_says_how_many_each_has():
    torch.manual_seed(0)
    network = TransformerTagger(9, 3, size=8, layers=2, heads=4, feedforward_size=8).eval()
    tokens, mask = torch.randint(1, 9, (2, 5)), torch.ones(2, 5, dtype=torch.bool)
    observation = observe_layers(network, torch.arange(2), tokens, mask)
    data = SimpleNamespace(label_names=("O", "B-NP", "I-NP"))
    trainer = SimpleNamespace(datamodule=data, lightning_module=SimpleNamespace(network=network))
    tagged = TaggedInstances()
    tagged._running.split = SimpleNamespace(with_words=lambda rows, column, method: rows)
    columns = tagged.measure(replace(observation, labels=torch.zeros_like(tokens)), {}, trainer)
    rows = tagged.complete(pd.DataFrame({"id": range(2)}), trainer)
    assert rows["heads"].tolist() == [[4, 4], [4, 4]]
    layers = columns["attention"].split(rows["heads"][0], dim=-1)
    for stored, weights in zip(layers, observation.attention.values(), strict=True):
        torch.testing.assert_close(stored.permute(0, 3, 1, 2), weights)
