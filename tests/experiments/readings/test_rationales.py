"""Plausibility by hand, as ERASER counts it; random orders by their closed form; annotators beside one another."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
import torch

from attest.experiments.readings import side_by_side
from attest.experiments.readings.rationales import (
    against_marks,
    agreement,
    area_under_curve,
    chance,
    plausibility,
    spans_found,
)
from tests.experiments.networks import observation_of, pooling_classifier


def bits(text: str) -> torch.Tensor:
    return torch.tensor([[each == "1" for each in text]])


@pytest.mark.parametrize(
    ("chosen", "true", "precision", "recall"),
    [
        ("0110100", "0111000", 1 / 2, 1.0),  # 2 of 3 match, and one that meets nothing
        ("0111110", "0010000", 0.0, 0.0),  # 1 of 5
        ("0011000", "0001100", 0.0, 0.0),  # 1 of 3
        ("1100110", "1110010", 1.0, 1.0),  # 2 of 3, and 1 of 2, which counts
        ("1111111", "1110111", 0.0, 0.0),  # 3 of 7 each
    ],
)
def test_spans_by_hand(chosen, true, precision, recall):
    found = spans_found(bits(chosen), bits(true))
    assert [each.item() for each in found] == pytest.approx([precision, recall], abs=1e-6)


@pytest.mark.parametrize(
    ("values", "true", "area"),
    [
        ([4, 3, 2, 1], "1010", (1 + 1) / 2 / 2 + (1 / 2 + 2 / 3) / 2 / 2),
        ([4, 3, 2, 1], "0001", (0 + 1 / 4) / 2),
        ([1, 1, 1, 1], "1000", (1 + 1 / 4) / 2),  # all at once
        ([2, 2, 1, 0], "1001", (1 + 1 / 2) / 2 / 2 + (1 / 3 + 2 / 4) / 2 / 2),
    ],
)
def test_the_area_by_hand(values, true, area):
    """At each threshold precision and recall, joined by straight lines from precision 1 at recall 0."""
    values, mask = torch.tensor([[values]]).double(), torch.ones(1, 4, dtype=torch.bool)
    assert area_under_curve(values, bits(true).unsqueeze(1), mask).item() == pytest.approx(area, abs=1e-6)
    beyond = torch.cat([values, torch.full((1, 1, 2), 9.0).double()], dim=-1)
    padded = torch.cat([mask, torch.zeros(1, 2, dtype=torch.bool)], dim=-1)
    true = torch.cat([bits(true), torch.zeros(1, 2, dtype=torch.bool)], dim=-1).unsqueeze(1)
    assert area_under_curve(beyond, true, padded).item() == pytest.approx(area, abs=1e-6)


@pytest.mark.parametrize("true", ["10", "11000", "101010", "0100000", "111110"])
def test_chance_is_the_mean_over_all_orders(true):
    marked, mask = bits(true), torch.ones(1, len(true), dtype=torch.bool)
    ranks = torch.tensor([*permutations(range(len(true)))]).unsqueeze(0)
    found = plausibility(-ranks.double(), ranks, marked, mask)
    f1, auprc = chance(marked, mask)
    assert found["f1"].mean().item() == pytest.approx(f1.item(), abs=1e-6)
    assert found["auprc"].mean().item() == pytest.approx(auprc.item(), abs=1e-6)


def test_two_annotators_by_hand():
    marks = torch.tensor([[[1.0, 1, np.nan], [1, 0, np.nan], [0, 0, np.nan], [0, 0, np.nan]]])
    f1, kappa = agreement(marks, torch.ones(1, 4, dtype=torch.bool))
    assert f1.item() == pytest.approx(2 / 3, abs=1e-6)
    assert kappa.item() == pytest.approx((0.75 - 0.5) / (1 - 0.5), abs=1e-6)  # by chance 1/2 · 1/4 + 1/2 · 3/4


@pytest.fixture(scope="module")
def observation():
    seen = observation_of(pooling_classifier(), [6, 8, 4])
    marks = torch.zeros(3, 8, 2)
    marks[:, 1:3] = 1
    marks[:2, 4, 1] = 1
    marks[2, :, 1] = torch.nan
    return replace(seen, marks=marks)


def test_an_oracle_finds_all_and_the_opposite_nothing(observation):
    marked = observation.marks.nanmean(dim=-1) >= 0.5
    columns = against_marks(observation, {"oracle": marked.double(), "opposite": 1 - marked.double()}, seed=0)
    for score in ("f1", "iou_precision", "iou_recall", "auprc"):
        assert columns[f"plausible_{score}_oracle"].tolist() == [1, 1, 1]
    assert columns["plausible_f1_opposite"].tolist() == [0, 0, 0]
    assert columns["plausible_f1_chance"].tolist() == pytest.approx([3 / 6, 3 / 8, 2 / 4])
    assert columns["plausible_f1_human"].nan_to_num().tolist() == pytest.approx([4 / 5, 4 / 5, 0])


def test_words_are_scored_and_not_their_subwords(observation):
    """A word of three subwords is one word, and its number is their sum."""
    words = torch.tensor([[0, 1, 1, 1, 2, 3, -1, -1]] * 3)
    marks = torch.zeros(3, 8, 1)
    marks[:, 1:4] = 1
    values = torch.tensor([[0.3, 0.2, 0.2, 0.2, 0.1, 0.1, 0, 0]] * 3)
    seen = replace(observation, words=words, mask=words >= 0, marks=marks)
    columns = against_marks(seen, {"mine": values}, seed=0)
    assert columns["plausible_f1_mine"].tolist() == [1, 1, 1]
    assert columns["plausible_f1_chance"].tolist() == [1 / 4] * 3


def test_marks_stand_beside_faithfulness(observation):
    columns = side_by_side(observation, observation.ids, texts=3, sets=2)
    assert columns["plausible_f1_attention"].isfinite().all()
    assert {name.removeprefix("win_comprehensiveness_") for name in columns if name.startswith("win_comprehensiveness_")} == {
        name.removeprefix("plausible_auprc_") for name in columns if name.startswith("plausible_auprc_")
    } - {"chance"}
    assert not any(
        name.startswith("plausible") for name in side_by_side(replace(observation, marks=None), observation.ids, 3, 2)
    )
