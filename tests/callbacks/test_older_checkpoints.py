"""A checkpoint of an earlier version lacks what callbacks have learned to keep since; it is read all the same."""

import torch

from attest.callbacks.checkpoints import RandomState
from attest.callbacks.progress import Curves


def test_curves_go_on_from_what_is_there():
    curves = Curves()
    curves.load_state_dict({"epochs": [{"epoch": 0.0}]})
    assert curves.state_dict() == {"epochs": [{"epoch": 0.0}], "running": [(0.0, 0)]}


def test_random_numbers_go_on_from_the_seed():
    torch.manual_seed(3)
    state, callback = torch.get_rng_state(), RandomState()
    callback.load_state_dict({"cpu": "as it was kept before there were ranks"})
    callback.on_train_batch_start(*[None] * 3, 0)
    assert torch.equal(torch.get_rng_state(), state)
