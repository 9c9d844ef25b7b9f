"""Two real processes give the evidence of one, row for row and bit for bit."""

import shutil
import subprocess
import sys

import pytest

from tests.conftest import SMALL_RUN, fresh_shell, only_folder


@pytest.mark.slow
@pytest.mark.parametrize("processes", [2, 4])
def test_processes_share_the_evidence_and_change_nothing(small_run, tmp_path, processes):
    """The 77 test texts are three batches: one process more than that has nothing to do."""
    shutil.copytree(small_run.path.parents[2], tmp_path, dirs_exist_ok=True)
    shared = only_folder(tmp_path)
    shutil.rmtree(shared.path / "evidence")
    shared.summary.unlink()
    command = [sys.executable, "-m", "attest.cli", "fit", *SMALL_RUN, f"--run.root={tmp_path}"]
    parallel = [f"--trainer.devices={processes}", "--trainer.strategy=ddp", "--trainer.accelerator=cpu"]
    subprocess.run([*command, *parallel], check=True, env=fresh_shell(), timeout=300)
    for identity in ("instances", "E1", "E2", "E8"):
        assert shared.evidence(identity).read_bytes() == small_run.evidence(identity).read_bytes()
    assert shared.summary.read_bytes() == small_run.summary.read_bytes()


@pytest.mark.slow
def test_two_processes_train_and_report(tmp_path):
    command = [sys.executable, "-m", "attest.cli", "fit", *SMALL_RUN, f"--run.root={tmp_path}", "--trainer.accelerator=cpu"]
    parallel = ["--trainer.devices=2", "--trainer.strategy=ddp"]
    subprocess.run([*command, *parallel], check=True, env=fresh_shell(), timeout=300)
    assert only_folder(tmp_path).complete(["instances", "E1", "E2", "E8"])
