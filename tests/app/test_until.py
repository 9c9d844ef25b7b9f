"""Evidence of a run that reads no more texts than are needed: alike on all numbers of processes, whole where that is asked."""

import shutil

import numpy as np
import pandas as pd
import pytest

from attest.app.cli.main import main
from attest.callbacks import AdversarialAttention, Erasure, ImportanceEntropy, SideBySide
from attest.experiments import stopping
from attest.runs.folder import RunFolder, Stopped, read_json
from tests.app.test_parallel import require_same_evidence
from tests.conftest import without_places
from tests.finished_runs import only_folder

pytestmark = pytest.mark.whole("a run from beginning to end")

QUIET = ("--trainer.enable_progress_bar=false",)
PRECISION = "--until=0.2"
SOME, ALL = 30, 77


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(stopping, "FIRST", 30)


@pytest.fixture
def again(small_run, tmp_path):
    """Gathers evidence into a copy of the small run that has none, and returns the copy."""

    def gather(name: str, *options: str) -> RunFolder:
        root = tmp_path / name
        shutil.copytree(small_run.path.parents[2], root, dirs_exist_ok=True)
        copy = only_folder(root)
        shutil.rmtree(copy.evidence("E1").parent)
        copy.summary.unlink()
        assert main(["evidence", "--run", str(copy.path), "instances", "E1", "E2", "E3", "E14", *QUIET, *options]) == 0
        return copy

    return gather


@pytest.fixture
def stopped(again):
    return again("one", PRECISION, "--run.processes=1")


def test_a_part_is_read_and_the_summary_says_so(stopped, small_run):
    whole = read_json(small_run.summary)
    summary = read_json(stopped.summary)
    read = summary["E2/texts_read/count"]
    assert SOME <= read == len(pd.read_parquet(stopped.evidence("E2"))) < summary["E2/texts/count"] == ALL
    assert stopped.stopped_evidence()["E2"].precision == 0.2
    for column in ("tvd_median", "tvd_max"):
        low, high = (summary[f"E2/{column}/{end}"] for end in ("ci_low", "ci_high"))
        assert high - low <= 0.4
        assert low <= whole[f"E2/{column}/mean"] <= high
    assert len(pd.read_parquet(stopped.evidence("instances"))) == ALL
    assert "E3" in stopped.stopped_evidence(), "a run's search reads all texts"
    assert "E14" not in stopped.stopped_evidence(), "it reads a sample of its own"
    assert f"{read:.0f} of {ALL} texts" in stopped.report.read_text(encoding="utf-8")


def test_it_goes_on_until_every_mean_is_known():
    """One that is the same of all texts is known at once, a coin is not."""
    coin = np.random.default_rng(0).integers(2, size=1000).astype(float)
    constant, rule = np.full(1000, 0.5), stopping.Stopping("E2", 0.02, 10_000)
    assert not rule.after(pd.DataFrame({"tvd_median": constant, "flipped": coin}))
    assert rule.names == ["tvd_median", "flipped"]
    assert stopping.Stopping("E2", 0.02, 10_000).after(pd.DataFrame({"tvd_median": constant, "flipped": constant}))


def test_what_takes_a_sample_says_so():
    sampling = {
        evidence.id
        for evidence in (AdversarialAttention(), Erasure(), ImportanceEntropy(), SideBySide())
        if evidence.draws_a_sample
    }
    assert sampling == {"E10", "E14", "E15"}


def test_rows_are_those_of_the_whole_evidence(stopped, small_run):
    """To the last digits, which a batch's padding moves."""
    part, whole = (pd.read_parquet(run.evidence("E2")) for run in (stopped, small_run))
    assert part["id"].is_monotonic_increasing
    expected = whole.set_index("id").loc[part["id"]].reset_index()
    pd.testing.assert_frame_equal(part, expected, atol=1e-5)


def test_processes_stop_alike(stopped, again):
    other = again("two", PRECISION, "--run.processes=2")
    require_same_evidence(other, stopped)
    assert other.stopped_evidence() == stopped.stopped_evidence()


def test_asked_for_more_it_is_gathered_again_bit_for_bit(stopped, small_run, capsys):
    asked = ["evidence", "--run", str(stopped.path), "instances", "E1", "E2", "E3", "E14", *QUIET]
    assert main([*asked, "--until=0.3"]) == 0
    assert capsys.readouterr().out.count("there already") == 5, "known better than asked for"
    assert main(asked) == 0
    assert stopped.stopped_evidence() == {}
    pd.testing.assert_frame_equal(*(pd.read_parquet(run.evidence("E2")) for run in (stopped, small_run)), check_exact=True)
    assert "E2/texts_read/count" not in read_json(stopped.summary)


READ = {"E2/texts_read/count": 20.0, "E2/texts/count": 90.0}


def test_a_run_is_complete_with_what_it_was_asked_for(tmp_path):
    folder = RunFolder(tmp_path)
    folder.write_evidence("E2", pd.DataFrame({"id": [1]}), Stopped(0.02, READ))
    assert folder.missing_evidence(["E2"], until=0.02) == []
    assert folder.missing_evidence(["E2"], until=0.01) == folder.missing_evidence(["E2"]) == ["E2"]
    folder.write_evidence("E2", pd.DataFrame({"id": [1, 2]}))
    assert folder.missing_evidence(["E2"]) == []


def test_a_table_of_a_part_never_passes_for_the_whole(tmp_path, monkeypatch):
    """Killed between two files."""
    folder = RunFolder(tmp_path)
    folder.write_evidence("E2", pd.DataFrame({"id": [1, 2]}))

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("attest.runs.folder.write_table", killed)
    with pytest.raises(KeyboardInterrupt):
        folder.write_evidence("E2", pd.DataFrame({"id": [1]}), Stopped(0.02, READ))
    assert folder.missing_evidence(["E2"]) == ["E2"]


@pytest.mark.parametrize(
    "options",
    [
        ["--until=0"],
        ["--until=0.1", "--trainer.limit_test_batches=2", "FORCE=1"],
    ],
)
def test_what_cannot_be_is_refused(small_run, capsys, options, tmp_path, snapshot):
    root = tmp_path / "runs"
    shutil.copytree(small_run.path.parents[2], root)
    run = only_folder(root)
    assert main(["evidence", "--run", str(run.path), "E2", "--run.processes=1", *QUIET, *options]) == 2
    assert without_places(capsys.readouterr().err) == snapshot
