"""Evidence in shards is that of one job, table for table and bit for bit."""

import shutil

import pandas as pd
import pytest

from attest.app.cli import evidence
from attest.app.cli.evidence import workflow_configuration
from attest.app.cli.main import main
from attest.app.evaluating import RunOnTrial, configuration_of, evaluate, read_shard, rows_together, shard_folder
from attest.core.errors import AttestError
from attest.datamodules.batching import Shard, deal
from attest.runs.folder import RunFolder, read_json
from tests.app.test_parallel import require_same_evidence
from tests.conftest import only_folder, without_places
from tests.forking import attest_command

TABLES = ["instances", "E1", "E2", "E14", "E15"]
"""The texts; per token; drawn at random; with draws from other texts; on a sample of all texts."""
QUIET = ("--trainer.enable_progress_bar=false", "--run.processes=1")


@pytest.fixture
def without_evidence(small_run, tmp_path) -> RunFolder:
    """A copy of a trained run that lacks these tables and a summary."""
    shutil.copytree(small_run.path.parents[2], tmp_path, dirs_exist_ok=True)
    copy = only_folder(tmp_path)
    for table in TABLES:
        copy.evidence(table).unlink()
    copy.summary.unlink()
    return copy


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("shards", [1, 2, 5])
def test_every_batch_is_in_one_shard_however_many_processes_it_has(shards, ranks):
    batches = [[row] for row in range(17)]
    places = [Shard(number, shards).place(rank, ranks) for number in range(shards) for rank in range(ranks)]
    dealt = [batch for place in places for batch in deal(batches, *place, equally=False) if batch]
    assert sorted(dealt) == batches
    alone = [batch for rank in range(ranks) for batch in deal(batches, *Shard(0, shards).place(rank, ranks), equally=False)]
    assert sorted(filter(None, alone)) == batches[::shards]


@pytest.mark.slow
@pytest.mark.parametrize(("shards", "processes"), [(3, 1), (2, 2)])
def test_shards_put_together_are_the_evidence_of_one_job(small_run, without_evidence, shards, processes):
    run = without_evidence
    jobs = workflow_configuration(run, shards, TABLES, [QUIET[0], f"--run.processes={processes}"])["jobs"]
    for command in jobs.values():
        assert main(command[3:]) == 0
    counts = [len(pd.read_parquet(shard_folder(run, Shard(number, shards)).evidence("E1"))) for number in range(shards)]
    assert 0 < min(counts) <= max(counts) < sum(counts) == 77

    evaluate(RunOnTrial([*configuration_of(run), *QUIET], run, run.best, TABLES, None), shards)
    require_same_evidence(run, small_run)


@pytest.mark.slow
def test_the_workflow_gathers_the_shards_that_are_missing(small_run, without_evidence, monkeypatch):
    pytest.importorskip("snakemake")
    monkeypatch.setattr(evidence, "ATTEST", attest_command())
    run = without_evidence
    asked = ["evidence", "--run", str(run.path), "E1", "instances", *QUIET]
    assert main([*asked, "--shard=1/2"]) == 0
    there = shard_folder(run, Shard(0, 2)).evidence("E1").stat().st_mtime_ns
    assert main([*asked, "--shards=2"]) == 0
    assert shard_folder(run, Shard(0, 2)).evidence("E1").stat().st_mtime_ns == there
    for table in ("E1", "instances"):
        assert run.evidence(table).read_bytes() == small_run.evidence(table).read_bytes()
    assert measured(run) == measured(small_run)


def measured(run: RunFolder) -> dict[str, float]:
    """The scores and the numbers of E1."""
    return {name: value for name, value in read_json(run.summary).items() if name.startswith(("E1/", "test/"))}


def test_rows_together_stand_by_id_and_an_empty_shard_changes_no_type(refusal):
    empty = pd.DataFrame({"id": [], "length": []}, dtype=int)
    parts = [pd.DataFrame({"id": [3, 1], "flips": [True, False]}), empty, pd.DataFrame({"id": [2], "flips": [True]})]
    together = rows_together(parts)
    assert together["id"].tolist() == [1, 2, 3]
    assert together["flips"].tolist() == [False, True, True]
    assert together["flips"].dtype == bool
    with refusal():
        rows_together([parts[2], parts[2].assign(length=4), parts[2].assign(length=5)])


@pytest.mark.parametrize("typed", ["0/8", "9/8", "3", "3/0", "a/b", "-1/2"])
def test_a_shard_that_there_is_not_is_named(typed):
    with pytest.raises(AttestError, match=f"--shard={typed} is not a shard"):
        read_shard(typed)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--ckpt", "a.ckpt", "--shards=2"],
        ["--run", "a", "--shard=1/2", "--reading=norm"],
        ["--run", "a", "--shard=1/2", "--shards=2"],
        ["--run", "a", "--shards=0"],
    ],
)
def test_shards_of_anything_but_a_run_are_refused(arguments, capsys, snapshot):
    assert main(["evidence", *arguments]) == 2
    assert without_places(capsys.readouterr().err) == snapshot


@pytest.mark.slow
def test_shards_of_another_checkpoint_are_not_put_together(without_evidence, refusal):
    run = without_evidence
    assert main(["evidence", "--run", str(run.path), "E2", "--shard=1/1", *QUIET]) == 0
    shutil.copy(run.last, run.best)
    run.best.write_bytes(run.best.read_bytes() + b"0")
    with refusal():
        evaluate(RunOnTrial([*configuration_of(run), *QUIET], run, run.best, ["E2"], None), 1)
