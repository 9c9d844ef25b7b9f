"""A checkpoint of an earlier version lacks what callbacks have learned to keep since; it is read all the same."""

from attest.callbacks.checkpoints import RandomState
from attest.callbacks.curves import Curves


def test_curves_go_on_from_what_is_there():
    curves = Curves()
    curves.load_state_dict({"epochs": [{"epoch": 0.0}]})
    assert curves.state_dict() == {"epochs": [{"epoch": 0.0}], "running": [(0.0, 0)]}


def test_random_numbers_go_on_from_the_seed():
    RandomState().load_state_dict({"cpu": "as it was kept before there were ranks"})
