"""GPUs are shared out one a process, and what is stopped is stopped as a whole."""

import os
import subprocess
import sys
import time

import pytest

from attest.replication.workflow import on_one_gpu, run_as_group, take_one, visible_gpus
from tests.conftest import fresh_shell
from tests.waiting import has_ended, wait_until

SAY_AND_WAIT = "import os; print(os.environ['CUDA_VISIBLE_DEVICES'], flush=True); input()"


@pytest.mark.whole("interpreters of their own")
def test_processes_get_different_gpus_and_the_next_gets_what_was_given_back(tmp_path):
    shell = fresh_shell() | {"TMPDIR": str(tmp_path), "CUDA_VISIBLE_DEVICES": "5,7,9"}
    start = [*on_one_gpu(2), sys.executable, "-c", SAY_AND_WAIT]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": shell}
    holders = [subprocess.Popen(start, **pipes) for _ in range(2)]
    taken = [holder.stdout.readline().strip() for holder in holders]
    assert sorted(taken) == ["5", "7"], "the first two of those visible"
    third = subprocess.Popen(start, **pipes)
    holders[1].communicate("\n", timeout=60)
    assert third.stdout.readline().strip() == taken[1]
    for process in (holders[0], third):
        process.communicate("\n", timeout=60)


def test_locks_lie_in_a_folder_of_the_users_own(tmp_path, refusal):
    """What another user has put in its place is not opened: neither a link, nor a folder that others may write to."""
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    taken = tmp_path / "locks"
    assert take_one(["0"], taken) == "0"
    assert taken.stat().st_mode & 0o777 == 0o700
    (taken / "1.lock").symlink_to(mine)
    with pytest.raises(OSError, match="symbolic"):
        take_one(["1"], taken)
    (tmp_path / "link").symlink_to(taken)
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    for folder in ("link", "open"):
        with refusal():
            take_one(["2"], tmp_path / folder)
    assert mine.read_text() == "mine"


def test_without_a_restriction_gpus_are_counted_from_zero(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert visible_gpus(2) == ["0", "1"]


def test_stopping_stops_all_that_was_started(tmp_path):
    child = tmp_path / "child"
    script = f"sleep 600 & echo $! > {child}; kill -INT {os.getpid()}; wait"
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_as_group(["bash", "-c", f"trap 'kill $!; exit 3' INT; {script}"], tmp_path / "log", lambda: None)
    assert time.monotonic() - started < 60
    assert has_ended(int(child.read_text())), "a signal is on its way before its receiver is gone"


@pytest.mark.whole("an interpreter of its own")
def test_what_was_started_ends_with_a_process_that_is_killed(tmp_path):
    """Also what the command has started in its turn, as Snakemake starts trainings."""
    child = tmp_path / "child"
    command = ["bash", "-c", f"bash -c 'sleep 600 & echo $! > {child}.new; mv {child}.new {child}; wait'; echo goes on"]
    script = f"from attest.replication.workflow import *; run_as_group({command}, Path({str(tmp_path / 'log')!r}), int)"
    process = subprocess.Popen([sys.executable, "-c", script], env=fresh_shell())
    wait_until(child.is_file, process)
    process.kill()
    process.wait()
    assert has_ended(int(child.read_text()))


def test_the_exit_code_is_the_command_s_own_and_its_words_are_in_its_log(tmp_path):
    """The command ends once it was looked at, however fast it is."""
    looked = tmp_path / "looked"
    script = "import os, sys, time; print('out', flush=True)\n"
    script += "while not os.path.exists(sys.argv[1]): time.sleep(0.01)\nsys.exit('err')"
    command = [sys.executable, "-c", script, str(looked)]
    assert run_as_group(command, tmp_path / "log", looked.touch) == 1
    assert (tmp_path / "log").read_text() == "out\nerr\n"
