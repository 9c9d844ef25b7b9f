"""A disk that is full or may not be written, and memory that does not suffice: a sentence, and nothing lost."""

import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from attest.app.cli.main import main
from tests.conftest import fresh_shell, without_places
from tests.finished_runs import SMALL_RUN, only_folder
from tests.forking import attest_command

pytestmark = pytest.mark.whole("a process beside another")

RUN = [*SMALL_RUN, "LOGGER=csv"]


def fit(root: Path, most: int = resource.RLIM_INFINITY) -> subprocess.CompletedProcess:
    """In a process of its own, which may write files of at most so many bytes."""
    command = [*attest_command(), "fit", *RUN, f"--run.root={root}"]
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (most, most))
    return subprocess.run(command, env=fresh_shell(), capture_output=True, text=True, timeout=600, preexec_fn=limit)


@pytest.fixture
def mounted(tmp_path) -> Iterator[Path]:
    """A disk of 200 KiB: room for a configuration and a checkpoint, not for two and the evidence."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if (
        os.name != "posix"
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", disk], capture_output=True).returncode
    ):
        pytest.skip("a disk of its own takes the right to mount one")
    yield disk
    subprocess.run(["umount", disk], check=True)


def refused(result: subprocess.CompletedProcess, *reasons: str) -> bool:
    """One sentence, of these words, and no traceback."""
    sentence = result.stderr.strip().splitlines()[-1]
    return result.returncode == 2 and "Traceback" not in result.stderr and all(reason in sentence for reason in reasons)


def test_a_checkpoint_that_does_not_fit_is_named_and_the_run_goes_on_later(small_run, tmp_path):
    result = fit(tmp_path, most=30_000)
    assert refused(result, "last.ckpt cannot be written: File too large; expected a writable folder with free space."), (
        result.stderr
    )
    stopped = only_folder(tmp_path)
    assert list(stopped.last.parent.iterdir()) == [], "neither a checkpoint nor half of one"
    assert fit(tmp_path).returncode == 0
    assert stopped.summary.read_bytes() == small_run.summary.read_bytes()


def test_a_full_disk_is_named_and_what_was_saved_stands(mounted):
    result = fit(mounted)
    assert refused(result, "cannot be written: No space left on device", "--run.root=<folder>"), result.stderr
    assert not list(mounted.rglob("*.unfinished"))
    subprocess.run(["mount", "-o", "remount,size=64m", mounted], check=True)
    assert fit(mounted).returncode == 0, "taken up once there is room"


def test_a_read_only_folder_is_named(mounted):
    subprocess.run(["mount", "-o", "remount,ro", mounted], check=True)
    result = fit(mounted / "runs")
    assert refused(result, "seed0 cannot be written: Read-only file system"), result.stderr


def test_a_run_that_another_process_is_at_is_left_alone(small_run, tmp_path, capsys, snapshot):
    shutil.copytree(small_run.path.parents[2], tmp_path, dirs_exist_ok=True)
    run = only_folder(tmp_path)
    run.report.unlink()
    before = {file: file.stat().st_mtime_ns for file in run.path.rglob("*")}
    for again in ([], ["FORCE=1"]):
        with run.claimed():
            assert main(["fit", *SMALL_RUN, f"--run.root={tmp_path}", *again]) == 2
        assert without_places(capsys.readouterr().err) == snapshot
        assert {file: file.stat().st_mtime_ns for file in run.path.rglob("*")} == before
    assert main(["fit", *SMALL_RUN, f"--run.root={tmp_path}"]) == 0
    assert run.report.is_file()
