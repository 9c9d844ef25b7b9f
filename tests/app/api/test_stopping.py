"""A trial that stops when it knows enough: the same for all numbers of processes, and whole where it reads to the end."""

import pandas as pd
import pytest
import torch

import attest
from attest.experiments import stopping
from attest.experiments.stopping import looks
from tests.experiments.networks import pooling_classifier

pytestmark = pytest.mark.whole("evidence of many texts, read twice")

TEXTS, EXPERIMENTS = 160, {"E1": {}, "E2": {"permutations": 3}, "E14": {"texts": 4, "sets": 2, "extras": False}}


@pytest.fixture(scope="module", autouse=True)
def _short():
    patch = pytest.MonkeyPatch()
    patch.setattr(stopping, "FIRST", 40)
    yield
    patch.undo()


@pytest.fixture(scope="module")
def batches():
    draw = torch.Generator().manual_seed(0)
    found = []
    for start in range(0, TEXTS, 16):
        lengths = torch.randint(2, 9, (16,), generator=draw)
        mask = torch.arange(8) < lengths.unsqueeze(-1)
        tokens = torch.randint(2, 11, (16, 8), generator=draw) * mask
        found.append({"id": torch.arange(start, start + 16), "token_ids": tokens, "mask": mask, "label": tokens[:, 0] % 2})
    return found


def tried(batches, until=None, **options):
    torch.manual_seed(0)
    return attest.trial(pooling_classifier(), batches, EXPERIMENTS, until=until, progress=False, batch_size=16, **options)


@pytest.fixture(scope="module")
def whole(batches):
    return tried(batches)


@pytest.fixture(scope="module")
def stopped(batches):
    return tried(batches, 0.2)


def test_looks_are_fixed_before_anything_is_read():
    assert looks(160) == [40, 50, 62, 78, 97]
    assert looks(50) == []


def test_a_part_of_the_texts_is_read_and_brackets_the_mean_of_all(stopped, whole, tmp_path):
    read = stopped.summary["E2/texts_read/count"]
    assert len(stopped.table("E2")) == read < TEXTS == stopped.summary["E2/texts/count"]
    key = "E2/tvd_median"
    assert stopped.summary[f"{key}/ci_low"] <= whole.summary[f"{key}/mean"] <= stopped.summary[f"{key}/ci_high"]
    assert stopped.summary[f"{key}/ci_high"] - stopped.summary[f"{key}/ci_low"] <= 0.4
    rows = whole.table("E2").set_index("id", drop=False).loc[stopped.table("E2")["id"]].reset_index(drop=True)
    pd.testing.assert_frame_equal(stopped.table("E2"), rows, atol=1e-6)
    assert f"{read:.0f} of {TEXTS} texts" in stopped.save(tmp_path / "kept").folder.report.read_text()


def test_the_texts_themselves_and_samples_are_whole(stopped, whole):
    for table in ("instances", "E14"):
        pd.testing.assert_frame_equal(stopped.table(table), whole.table(table))


@pytest.mark.usefixtures("one_thread")
def test_processes_stop_alike(stopped, batches):
    for processes in (2, 3):
        again = tried(batches, 0.2, processes=processes)
        assert {key: value for key, value in again.summary.items() if key.startswith("E2")} == pytest.approx(
            {key: value for key, value in stopped.summary.items() if key.startswith("E2")}, nan_ok=True
        )
        assert again.table("E2")["id"].tolist() == stopped.table("E2")["id"].tolist()


def test_read_to_the_end_it_is_the_whole_evidence_bit_for_bit(batches, whole):
    to_the_end = tried(batches, 1e-9)
    for table in EXPERIMENTS:
        pd.testing.assert_frame_equal(to_the_end.table(table), whole.table(table), check_exact=True)
    assert to_the_end.summary == whole.summary


def test_no_precision_is_refused(batches, refusal):
    with refusal():
        tried(batches, 0)
