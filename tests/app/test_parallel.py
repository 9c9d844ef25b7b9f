"""Real processes give the evidence and the scores of one, row for row and bit for bit."""

import json
import shutil
import subprocess
import sys

import pytest

from attest.app import training
from attest.app.cli.main import main
from attest.core.processes import together
from attest.runs.asked import AskedRun
from attest.runs.folder import RunFolder
from tests.conftest import fresh_shell
from tests.finished_runs import SMALL_RUN, TAGS, copy_of, only_folder
from tests.forking import attest_command


def side_by_side(processes: int) -> list[str]:
    """The options of a run on so many processes."""
    return [f"--trainer.devices={processes}", "--trainer.strategy=ddp", "--trainer.accelerator=cpu"]


def fit(*arguments: str) -> None:
    """In processes of its own."""
    subprocess.run([*attest_command(), "fit", *arguments], check=True, env=fresh_shell(), timeout=300)


def evaluated_again(run: RunFolder, root, *arguments: str) -> RunFolder:
    """A copy of a trained run whose evidence and scores are computed anew, by these arguments."""
    copy = copy_without_evidence(run, root)
    fit(*arguments, f"--run.root={root}")
    return copy


def copy_without_evidence(run: RunFolder, root) -> RunFolder:
    """A trained run that has not been tested yet."""
    copy = copy_of(run, root)
    shutil.rmtree(copy.path / "evidence", ignore_errors=True)
    copy.summary.unlink()
    return copy


@pytest.mark.whole("real processes side by side")
@pytest.mark.parametrize("processes", [2, 4])
def test_processes_share_the_evidence_and_change_nothing(small_run, tmp_path, processes):
    """The 77 test texts are three batches: uneven for two processes, and one of four has nothing to do."""
    copy = copy_without_evidence(small_run, tmp_path)
    assert main(["fit", *SMALL_RUN, f"--run.processes={processes}", f"--run.root={tmp_path}"]) == 0
    tables = sorted(small_run.path.glob("evidence/*.parquet"))
    shipped = AskedRun.of(["EXPERIMENTS=pooled"]).settings["experiments"]
    assert {table.stem for table in tables} == {*shipped}, "every experiment that ships"
    require_same_evidence(copy, small_run)


@pytest.mark.whole("real processes side by side")
def test_a_run_takes_all_cores_unless_told_otherwise(small_run, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "cores", lambda: 2)
    taken = []
    monkeypatch.setattr(training, "together", lambda processes, work: taken.append(processes) or together(processes, work))
    copy = copy_without_evidence(small_run, tmp_path)
    by_default = [argument for argument in SMALL_RUN if not argument.startswith("--run.processes")]
    assert main(["fit", *by_default, f"--run.root={tmp_path}"]) == 0
    assert taken == [2]
    require_same_evidence(copy, small_run)


@pytest.mark.whole("real processes side by side")
def test_processes_that_have_trained_go_on_with_the_evidence(small_run, tmp_path):
    shared = evaluated_again(small_run, tmp_path, *SMALL_RUN, *side_by_side(2))
    require_same_evidence(shared, small_run)


@pytest.mark.whole("real processes side by side")
def test_torchrun_starts_the_processes_as_well(small_run, tmp_path):
    root = tmp_path / "shared"
    copy = copy_without_evidence(small_run, root)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", "-m", "attest", "fit"]
    arguments = [*SMALL_RUN, *side_by_side(2), f"--run.root={root}"]
    subprocess.run([*launcher, *arguments], check=True, env=fresh_shell(), timeout=300)
    require_same_evidence(copy, small_run)


def require_same_evidence(run: RunFolder, expected: RunFolder) -> None:
    """Every table and the summary, bit for bit."""
    for table in sorted(expected.path.glob("evidence/*.parquet")):
        assert run.evidence(table.stem).read_bytes() == table.read_bytes()
    assert run.summary.read_bytes() == expected.summary.read_bytes()


@pytest.fixture(scope="module")
def tagging(tmp_path_factory) -> list[str]:
    """Arguments of a small tagger: 40 sentences to train, 3 to validate, 2 to test, one a batch."""
    folder = tmp_path_factory.mktemp("tagging")
    words = list(TAGS)
    sentences = [[words[(row * place + row + place) % 4] for place in range(1 + row % 6)] for row in range(45)]
    rows = [json.dumps({"tokens": sentence, "tags": [TAGS[word] for word in sentence]}) for sentence in sentences]
    splits = {"train": rows[:40], "validation": rows[40:43], "test": rows[43:]}
    for split, lines in splits.items():
        (folder / f"{split}.jsonl").write_text("\n".join(lines))
    return [
        *("MODEL=tagger", "DATA=files", "LOGGER=csv", "--run.processes=1", "--trainer.max_epochs=2"),
        *("--trainer.enable_progress_bar=false",),
        *(f"--data.init_args.{split}={folder / split}.jsonl" for split in splits),
        "--data.init_args.batch_size=1",
    ]


@pytest.mark.whole("real processes side by side")
def test_a_tagger_scores_the_same_with_more_processes_than_sentences(tagging, tmp_path):
    alone = tmp_path / "alone"
    assert main(["fit", *tagging, f"--run.root={alone}"]) == 0
    expected = only_folder(alone)
    for processes in (2, 3):
        root = tmp_path / str(processes)
        copy = copy_without_evidence(expected, root)
        assert main(["fit", *tagging, f"--run.processes={processes}", f"--run.root={root}"]) == 0
        assert copy.summary.read_bytes() == expected.summary.read_bytes()
