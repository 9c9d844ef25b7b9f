"""From tensors to tables: one row an instance, padding left behind."""

from types import SimpleNamespace

import numpy as np
import torch

from attest.experiments.rows import rows_of, text_columns


def test_columns_with_a_value_a_token_become_lists_as_long_as_the_text():
    mask = torch.tensor([[True, True, True], [True, False, False]])
    rows = rows_of({"id": torch.tensor([4, 2]), "weight": torch.tensor([[0.1, 0.2, 0.7], [1.0, 0.0, 0.0]])}, mask)
    assert rows["id"].tolist() == [4, 2]
    assert [len(weights) for weights in rows["weight"]] == [3, 1]
    np.testing.assert_allclose(rows["weight"][0], [0.1, 0.2, 0.7])


def test_probabilities_of_half_precision_logits_are_computed_in_single_precision():
    """As pipelines do: in bfloat16 both texts would have the probability 0.8789, a tie that ROC-AUC counts as half."""
    logits = torch.tensor([[0.0, 1.96875], [0.0, 1.9765625]], dtype=torch.bfloat16)
    seen = SimpleNamespace(logits=logits, spared=None, words=None, explanation=torch.ones(2, 1))
    found = torch.stack([text_columns(seen, ["bad", "good"])[f"probability_{name}"] for name in ("bad", "good")], dim=-1)
    torch.testing.assert_close(found, logits.float().softmax(dim=-1), rtol=0, atol=0)
    assert len(logits.softmax(dim=-1)[:, 1].unique()) == 1
    assert len(found[:, 1].unique()) == 2
