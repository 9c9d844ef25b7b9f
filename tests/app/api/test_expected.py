"""A longer text costs a trial more than its share of tokens, and a text keeps what marks the end of a shorter one."""

import pytest
import torch

from attest.app.api.batches import in_batches, texts_of
from attest.app.api.measuring import work_of


def test_longer_texts_cost_more_than_as_many_tokens_in_short_ones():
    shapes = ((1, 40), (4, 10))
    long, short = ({"id": torch.arange(shape[0]), "mask": torch.ones(shape, dtype=torch.bool)} for shape in shapes)
    assert work_of(long) == pytest.approx(2 * work_of(short))


def test_texts_are_put_together_anew_with_the_values_that_stand_for_nothing():
    batch = {
        "id": torch.tensor([3, 4]),
        "token_ids": torch.tensor([[5, 6, 7], [8, 0, 0]]),
        "mask": torch.tensor([[True, True, True], [True, False, False]]),
        "tags": torch.tensor([[1, 2, 3], [4, -100, -100]]),
        "tokens": [["a", "b", "c"], ["d"]],
    }
    short, long = in_batches(texts_of(batch), 1)
    assert (short["token_ids"].tolist(), short["tokens"], long["id"].tolist()) == ([[8]], [["d"]], [3])
    (together,) = in_batches([*texts_of(short), *texts_of(long)], 2)
    assert together["tags"].tolist() == [[4, -100, -100], [1, 2, 3]]
    assert together["mask"].tolist() == [[True, False, False], [True, True, True]]
