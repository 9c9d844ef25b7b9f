"""From tensors to tables: one row an instance, padding left behind."""

import numpy as np
import torch

from attest.experiments.rows import rows_of


def test_columns_with_a_value_a_token_become_lists_as_long_as_the_text():
    mask = torch.tensor([[True, True, True], [True, False, False]])
    rows = rows_of({"id": torch.tensor([4, 2]), "weight": torch.tensor([[0.1, 0.2, 0.7], [1.0, 0.0, 0.0]])}, mask)
    assert rows["id"].tolist() == [4, 2]
    assert [len(weights) for weights in rows["weight"]] == [3, 1]
    np.testing.assert_allclose(rows["weight"][0], [0.1, 0.2, 0.7])
