"""Tests and commands leave nothing outside their folders."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.conftest import PLACE, fresh_shell
from tests.finished_runs import SMALL_RUN, without

ROOT = Path(__file__).parents[1]


@pytest.mark.whole("an interpreter of its own")
def test_temporary_files_of_a_session_lie_in_one_folder_that_goes_with_it():
    assert tempfile.gettempdir() == os.environ["TMPDIR"] == PLACE
    code = "import tempfile, tests.conftest; print(tempfile.mkdtemp())"
    made = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    assert Path(made).parent.name.startswith("attest-tests-")
    assert not Path(made).parent.exists()


@pytest.mark.whole("a command in a process of its own")
def test_a_training_with_wandb_leaves_its_run_folder_alone(tmp_path):
    """In a process of its own, as a user starts it."""
    places = {name: tmp_path / name.lower() for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME")}
    work = tmp_path / "work"
    for place in (*places.values(), work):
        place.mkdir()
    shell = {name: value for name, value in fresh_shell().items() if name != "WANDB_DATA_DIR"}
    shell |= {name: str(place) for name, place in places.items()} | {"PYTHONPATH": str(ROOT)}
    quick = [*SMALL_RUN, "EXPERIMENTS=pooled", *without("E1", "E3", "E8", "E10", "E11", "E12", "E13", "E14", "E15")]
    subprocess.run([sys.executable, "-m", "attest", "fit", *quick], cwd=work, env=shell, check=True, capture_output=True)
    assert [path.name for path in work.iterdir()] == ["runs"]
    assert list(work.glob("runs/*/*/seed0/wandb/offline-run-*"))
    assert {path.name for path in places["TMPDIR"].iterdir()} <= {f"torchinductor_{os.environ.get('USER', 'root')}"}
    assert {path.name for path in places["HOME"].iterdir()} <= {".cache", ".config"}, "matplotlib's, W&B's and Attest's own"
