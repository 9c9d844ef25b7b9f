"""Random state that a resumed run takes up."""

import torch

from attest.callbacks.checkpoints import RandomState


def test_random_numbers_go_on_where_they_stopped_once_the_first_batch_begins():
    kept = RandomState().state_dict()
    expected = torch.rand(3)
    resumed = RandomState()
    resumed.load_state_dict(kept)
    torch.rand(1)  # the loader draws before the first batch
    resumed.on_train_batch_start(*[None] * 3, 0)
    assert torch.equal(torch.rand(3), expected)
    before = torch.get_rng_state()
    resumed.on_train_batch_start(*[None] * 3, 1)
    assert torch.equal(torch.get_rng_state(), before), "only once"
