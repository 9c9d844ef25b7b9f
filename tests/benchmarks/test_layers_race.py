"""The race inside Transformers is fair: both sides give the same numbers, and every row of the table is there."""

import numpy as np
import pytest
import torch

from benchmarks import layers


def test_both_sides_agree_and_the_table_is_complete(monkeypatch):
    for name, small in {"LAYERS": 2, "SIZE": 16, "FEEDFORWARD": 8, "HEADS": 2, "PERMUTATIONS": 3, "SHUFFLES": 2}.items():
        monkeypatch.setattr(layers, name, small)
    lengths = torch.tensor([4, 7, 12])
    tokens = torch.randint(2, 60, (3, 12), generator=torch.Generator().manual_seed(0))
    racing = layers.race([(tokens * (torch.arange(12) < lengths[:, None]), lengths)], vocabulary=60, steps=2)
    for name, stage in racing.stages.items():
        assert stage.apart < 1e-5, name
        assert racing.floors[name] > 0, name
    printed = layers.table(racing)
    assert all(f"\n{name} " in printed for name in racing.stages)


def test_effective_attention_on_two_tokens_of_the_same_output_has_their_mean_on_both():
    outputs, weights = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([[0.5, 0.3, 0.2]])
    assert layers._effective(outputs, weights)[0] == pytest.approx(0.2)


def test_effective_attention_is_the_raw_one_where_outputs_determine_it():
    distance, tau = layers._effective(np.eye(3), np.array([[0.5, 0.3, 0.2]]))
    assert distance == pytest.approx(0)
    assert tau == 1
