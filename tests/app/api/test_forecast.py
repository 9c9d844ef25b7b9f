"""How long a trial goes on is judged by each experiment's own texts: some read all, some a sample."""

import pytest
import torch
from torch import nn

from attest.app.api.measuring import Measuring
from attest.experiments.registry import chosen
from attest.experiments.sampling import sample_of_ids

EVERYONE = torch.arange(8)
SAMPLE = sample_of_ids(0, EVERYONE, 4).tolist()
OTHERS = [each for each in EVERYONE.tolist() if each not in SAMPLE]


def batch(*ids, length=9):
    return {"id": torch.tensor(ids), "mask": torch.ones(len(ids), length, dtype=torch.bool)}


def left(done, coming):
    measuring = Measuring(nn.Identity(), chosen({"E1": {}, "E14": {"texts": 4}}), ("bad", "good"), seed=0)
    return measuring._seconds_left({"instances": 1.0, "E1": 10.0, "E14": 6.0}, 20.0, done, coming, EVERYONE)


def test_a_sample_goes_on_by_its_own_texts_and_everything_else_by_all():
    done, coming = [batch(*OTHERS[:3], SAMPLE[0])], [batch(OTHERS[3], *SAMPLE[1:])]
    assert left(done, coming) == pytest.approx(6.0 * 3 + 14.0)


def test_longer_texts_take_longer_each():
    done, coming = [batch(*OTHERS[:3], SAMPLE[0], length=9)], [batch(OTHERS[3], *SAMPLE[1:], length=4)]
    assert left(done, coming) == pytest.approx((6.0 * 3 + 14.0) * 8 / 27)


def test_nothing_is_known_before_a_text_of_every_sample_is_read():
    assert left([batch(*OTHERS)], [batch(*SAMPLE)]) is None
    assert left([batch(*SAMPLE)], [batch(*OTHERS)]) == pytest.approx(14.0)
