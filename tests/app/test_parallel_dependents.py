"""Runs that depend on others, trained and put on trial by real processes side by side."""

import shutil
import subprocess
from pathlib import Path

import pytest

from attest.app.cli.main import main
from attest.runs.folder import RunFolder
from tests.app.test_parallel import side_by_side
from tests.conftest import fresh_shell
from tests.finished_runs import EXPENSIVE, SMALL_RUN, SMALL_TRANSFORMER, without
from tests.forking import attest_command

EPOCH = ("--", "--trainer.max_epochs=1")
CONTROLS = ("controls", *SMALL_RUN, *without(*EXPENSIVE), "SEEDS=1", "LAMBDA=5", "LOGGER=csv")
KEYS = ("keys", *SMALL_TRANSFORMER, "EXPERIMENTS=none", "ATTACK=adversarial,random")


def attest(command: tuple[str, ...], root: Path, processes: int) -> None:
    """In processes of its own."""
    arguments = [*command, f"--run.root={root}", *side_by_side(processes), *EPOCH]
    subprocess.run([*attest_command(), *arguments], check=True, env=fresh_shell(), timeout=600)


def dependents(root: Path) -> list[RunFolder]:
    """All that were trained inside another run's folder."""
    return [RunFolder(record.parent) for record in sorted(root.rglob("base.json"))]


@pytest.mark.whole("real processes side by side")
@pytest.mark.parametrize(("command", "runs"), [(CONTROLS, 3), (KEYS, 2)], ids=["controls", "keys"])
def test_three_processes_share_the_evidence_of_dependents_and_change_nothing(tmp_path, command, runs):
    alone = tmp_path / "alone"
    assert main([*command, f"--run.root={alone}", *EPOCH]) == 0
    shared = tmp_path / "shared"
    shutil.copytree(alone, shared)
    for run in dependents(shared):
        shutil.rmtree(run.path / "evidence")
        run.summary.unlink()
    of_three = [f"--run.root={shared}", "--run.processes=3"]
    assert main([*command, *of_three, *EPOCH]) == 0
    assert len(dependents(alone)) == runs
    for one, many in zip(dependents(alone), dependents(shared), strict=True):
        for table in one.path.glob("evidence/*.parquet"):
            assert many.evidence(table.stem).read_bytes() == table.read_bytes()
        assert many.summary.read_bytes() == one.summary.read_bytes()


@pytest.mark.whole("real processes side by side")
@pytest.mark.parametrize(("command", "runs"), [(CONTROLS, 3), (KEYS, 2)], ids=["controls", "keys"])
def test_two_processes_train_dependents(tmp_path, command, runs):
    """Also uniform attention and guides, which leave the parameters of their scores idle."""
    attest((*command, *without("E2", "E8")), tmp_path, 2)
    assert [run.summary.is_file() for run in dependents(tmp_path)] == [True] * runs
