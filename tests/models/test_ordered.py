"""Models of ordered classes on trial: what they choose, and how far a change moves them along the order."""

import numpy as np
import pytest
import torch

import attest
from attest.core.kinds import CLASSES, NUMBER
from attest.models.ordered import ExpectedRank, OrderedClasses
from attest.runs.contents import RunContents
from attest.runs.kinds import kind_in
from tests.models.pretrained.test_softmaxes import Own
from tests.models.pretrained.tiny import batch

THRESHOLDS = torch.tensor([1.5, 0.4, -0.3])


class Stars(Own):
    """One to four stars: a score of the text, less a threshold for each step."""

    def __init__(self):
        super().__init__(classes=1)

    def forward(self, tokens, mask):
        return 3 * super().forward(tokens, mask) + THRESHOLDS


def tried(model, **options):
    tokens, mask = batch((9, 4, 7, 3))
    given = {"token_ids": tokens, "mask": mask} | options
    return attest.trial(model, [given], {"E1": {}, "E2": {"permutations": 2}}, progress=False)


@torch.no_grad()
def above(tokens=None, mask=None):
    """The probability of more than one, two and three stars for each text."""
    given = batch((9, 4, 7, 3)) if tokens is None else (tokens, mask)
    return Stars()(*given).sigmoid().double().numpy()


def test_the_class_of_an_ordered_model_is_chosen_by_its_thresholds():
    trial, share = tried(OrderedClasses(Stars()), label=torch.tensor([0, 1, 2, 3])), above()
    expected = np.hstack([1 - share[:, :1], share[:, :-1] - share[:, 1:], share[:, -1:]])
    table = trial.table()
    np.testing.assert_allclose(table.filter(like="probability_").to_numpy(), expected, atol=1e-6)
    assert table["predicted"].tolist() == expected.argmax(axis=1).tolist()
    assert kind_in(RunContents(trial.folder)) == CLASSES


def test_a_change_moves_an_ordered_model_by_ranks():
    trial, (tokens, mask) = tried(ExpectedRank(Stars())), batch((9, 4, 7, 3))
    assert kind_in(RunContents(trial.folder)) == NUMBER
    np.testing.assert_allclose(trial.table()["prediction"].to_numpy(), above().sum(axis=1), atol=1e-6)
    kept = torch.arange(tokens.shape[1]) != 1
    moved = np.abs(above(tokens[:1, kept], mask[:1, kept]).sum() - above()[0].sum())
    found = trial.table("E1")["leave_one_out_inputs"][0][1] * trial.summary["number/deviation"]
    assert found == pytest.approx(moved, abs=1e-5)
    assert "flipped" not in trial.table("E2"), "nothing is decided of a number"


def test_thresholds_out_of_order_give_no_class_a_negative_probability():
    class Crossed(torch.nn.Module):
        def forward(self, tokens, mask):
            return torch.tensor([[0.0, 2.0]]).expand(len(tokens), -1)

    shares = OrderedClasses(Crossed())(*batch((3,))).exp()
    torch.testing.assert_close(shares, torch.tensor([[0.5, 0.0, 0.5]]))
