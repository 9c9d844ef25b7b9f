"""The race is fair: both sides give the same numbers, and every row of the table is there."""

import pytest
import torch

from benchmarks import floors
from benchmarks.evidence import SHARES, TARGETS, Stage, missed, race, table, targets
from benchmarks.measuring import Cost


@pytest.fixture(autouse=True)
def quick_floors(monkeypatch):
    for name, small in {"ROUNDS": 1, "NUMBERS": 2**10, "ROWS": 8}.items():
        monkeypatch.setattr(floors, name, small)


@pytest.mark.whole("a benchmark")
def test_both_sides_agree_and_the_table_is_complete():
    generator = torch.Generator().manual_seed(0)
    texts = []
    for lengths in ([2, 3, 5], [7, 12, 12]):
        lengths = torch.tensor(lengths)
        tokens = torch.randint(2, 60, (3, int(lengths.max())), generator=generator)
        texts.append((tokens * (torch.arange(tokens.shape[1]) < lengths[:, None]), lengths))
    stages = race(texts, vocabulary=60, steps=15)
    for name in ("evaluation", "gradients", "permutation × 100", "leave-one-out"):
        assert stages[name].apart < 1e-5
    assert stages["τ"].apart < 1e-12
    assert stages["search"].apart < 1e-3
    assert stages["exact adversary"].apart <= 1e-6  # the search is never above it
    printed = table(stages, "sst")
    assert all(name in printed for name in (*TARGETS, "everything"))
    assert all(stages[name].floor > 0 for name in stages)


def test_the_floor_of_leave_one_out_grows_with_the_square_of_the_length():
    short, long = (floors.floors(torch.tensor([length]), permutations=1, restarts=1, steps=1) for length in (11, 101))
    assert long["leave-one-out"] / short["leave-one-out"] == pytest.approx(101 * 100 / (11 * 10))
    assert long["evaluation"] / short["evaluation"] == pytest.approx(101 / 11)


@pytest.mark.parametrize("data", ["sst", "imdb"])
def test_a_stage_misses_only_below_both_its_target_and_its_share(data):
    def stage(name, ratio, share, noise=0.0):
        """Half of the target or of the share, or twice."""
        theirs, ours = Cost(targets(data)[name] * ratio), Cost(1.0)
        return Stage(theirs, ours, floor=SHARES[data][name] * share, first=1.0, second=1 - noise)

    assert missed({name: stage(name, 2, 0.5) for name in TARGETS}, data) == []
    assert missed({name: stage(name, 0.5, 2) for name in TARGETS}, data) == []
    assert missed({name: stage(name, 0.5, 0.5) for name in TARGETS}, data) == list(TARGETS)
    assert missed({name: stage(name, 0.9, 0.8, noise=0.05) for name in TARGETS}, data) == list(TARGETS)
    assert missed({name: stage(name, 0.9, 0.8, noise=0.2) for name in TARGETS}, data) == []
