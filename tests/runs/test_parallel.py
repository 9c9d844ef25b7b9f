"""Real processes give the evidence and the scores of one, row for row and bit for bit."""

import json
import shutil
import subprocess
import sys

import pytest
import yaml

from attest.cli.main import main
from attest.runs.choices import config_file
from attest.runs.folder import RunFolder
from tests.conftest import SMALL_RUN, fresh_shell, only_folder

TAGS = {"the": "O", "cat": "B-NP", "black": "I-NP", "sees": "B-VP"}


def side_by_side(processes: int) -> list[str]:
    """The options of a run on so many processes."""
    return [f"--trainer.devices={processes}", "--trainer.strategy=ddp", "--trainer.accelerator=cpu"]


def fit(*arguments: str) -> None:
    """In processes of its own."""
    subprocess.run([sys.executable, "-m", "attest", "fit", *arguments], check=True, env=fresh_shell(), timeout=300)


def evaluated_again(run: RunFolder, root, *arguments: str) -> RunFolder:
    """A copy of a trained run whose evidence and scores are computed anew, by these arguments."""
    copy = copy_without_evidence(run, root)
    fit(*arguments, f"--run.root={root}")
    return copy


def copy_without_evidence(run: RunFolder, root) -> RunFolder:
    """A trained run that has not been tested yet."""
    shutil.copytree(run.path.parents[2], root, dirs_exist_ok=True)
    copy = only_folder(root)
    shutil.rmtree(copy.path / "evidence", ignore_errors=True)
    copy.summary.unlink()
    return copy


@pytest.mark.slow
@pytest.mark.parametrize("processes", [2, 3, 4])
def test_processes_share_the_evidence_and_change_nothing(small_run, tmp_path, processes):
    """The 77 test texts are three batches: uneven for two processes, and one of four has nothing to do."""
    shared = evaluated_again(small_run, tmp_path, *SMALL_RUN, *side_by_side(processes))
    tables = sorted(small_run.path.glob("evidence/*.parquet"))
    shipped = yaml.safe_load(config_file("EXPERIMENTS", "pooled").read_text())["experiments"]
    assert {table.stem for table in tables} == {*shipped}, "every experiment that ships"
    for table in tables:
        assert shared.evidence(table.stem).read_bytes() == table.read_bytes()
    assert shared.summary.read_bytes() == small_run.summary.read_bytes()


@pytest.mark.slow
def test_torchrun_starts_the_processes_as_well(small_run, tmp_path):
    root = tmp_path / "shared"
    copy = copy_without_evidence(small_run, root)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", "-m", "attest", "fit"]
    arguments = [*SMALL_RUN, *side_by_side(2), f"--run.root={root}"]
    subprocess.run([*launcher, *arguments], check=True, env=fresh_shell(), timeout=300)
    for table in sorted(small_run.path.glob("evidence/*.parquet")):
        assert copy.evidence(table.stem).read_bytes() == table.read_bytes()
    assert copy.summary.read_bytes() == small_run.summary.read_bytes()


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
        *("MODEL=tagger", "DATA=files", "LOGGER=csv", "--trainer.max_epochs=2", "--trainer.enable_progress_bar=false"),
        *(f"--data.init_args.{split}={folder / split}.jsonl" for split in splits),
        "--data.init_args.batch_size=1",
    ]


@pytest.mark.slow
def test_a_tagger_scores_the_same_with_more_processes_than_sentences(tagging, tmp_path):
    alone = tmp_path / "alone"
    assert main(["fit", *tagging, f"--run.root={alone}"]) == 0
    expected = only_folder(alone)
    for processes in (2, 3):
        shared = evaluated_again(expected, tmp_path / str(processes), *tagging, *side_by_side(processes))
        assert shared.summary.read_bytes() == expected.summary.read_bytes()


@pytest.mark.slow
def test_two_processes_train_and_report(tmp_path):
    fit(*SMALL_RUN, f"--run.root={tmp_path}", *side_by_side(2))
    assert only_folder(tmp_path).complete(["instances", "E1", "E2", "E8"])
