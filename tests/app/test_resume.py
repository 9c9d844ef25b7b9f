"""A run that is stopped in mid-epoch and taken up by the same command ends as if it had never stopped, bit for bit.

The two first tests are the shortest of those that kill a command and of those that train on two processes.
"""

import signal
import subprocess
import sys
from collections.abc import Callable
from functools import cache

import psutil
import pytest
import torch

from attest.app.cli.main import STOPPED_BY_SIGTERM
from attest.runs.folder import RunFolder, read_json
from tests.app.cli.test_kills import attest, files
from tests.app.test_parallel import side_by_side
from tests.conftest import fresh_shell, without_places
from tests.finished_runs import EXPENSIVE, LIGHT, SMALL_RUN, only_folder, without
from tests.forking import KILLED, attest_command
from tests.waiting import wait_until

pytestmark = pytest.mark.whole("two processes")

SMALL_CNN = (
    *(option for option in SMALL_RUN if "hidden_size" not in option),
    *("MODEL=cnn", "--model.init_args.network.init_args.encoder.init_args.dropout=0.3"),
)
LONGER = ("--run.checkpoint_every_n_batches=3", *without(*(name for name in EXPENSIVE if name != "E1")))


def command(root, processes: int) -> list[str]:
    """An epoch takes several processes long enough to be stopped in one of few."""
    options = [*side_by_side(processes), "--trainer.max_epochs=4"] if processes > 1 else ["--trainer.max_epochs=8"]
    return [*attest_command(), "fit", *SMALL_CNN, *LONGER, *options, f"--run.root={root}"]


def command_with_ranks(root, processes: int) -> list[str]:
    """The same, started so that the other ranks are found among its children."""
    ours = command(root, processes)
    return ours if processes == 1 else [sys.executable, "-m", "attest", *ours[len(attest_command()) :]]


def test_a_run_that_was_killed_between_two_files_ends_as_one_that_was_left_alone(library, tmp_path):
    """The shortest of such tests; those below and tests/app/cli/test_kills.py stop commands at many moments."""
    command = library.command("light", f"--run.root={tmp_path}")
    assert attest(command, kill=12)[0] == KILLED
    stopped = only_folder(tmp_path)
    assert stopped.last.is_file()
    assert not stopped.complete(["E2"])
    assert attest(command)[0] == 0
    ours, theirs = (without_places(str(files(root))) for root in (tmp_path, library.root("light")))
    assert ours == theirs


def test_two_processes_train_and_report(tmp_path):
    """The shortest of such tests; tests/app/test_parallel.py compares what they find with one process."""
    arguments = ["fit", *LIGHT, "--trainer.max_epochs=1", f"--run.root={tmp_path}", *side_by_side(2)]
    subprocess.run([*attest_command(), *arguments], check=True, env=fresh_shell(), timeout=300)
    assert only_folder(tmp_path).complete(["instances", "E2"])


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> Callable[[int], RunFolder]:
    """The run on so many processes, never stopped."""

    @cache
    def run(processes: int) -> RunFolder:
        root = tmp_path_factory.mktemp("undisturbed")
        subprocess.run(command(root, processes), check=True, env=fresh_shell())
        return only_folder(root)

    return run


def stop_in_mid_epoch(root, processes: int, how: signal.Signals) -> int:
    """Start the run, stop it once it has gone some way, and return its exit code."""
    process = subprocess.Popen(command_with_ranks(root, processes), env=fresh_shell())
    wait_until(lambda: list(root.glob("*/*/seed*/checkpoints/best.ckpt")), process)
    ranks = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(how)
    code = process.wait(timeout=60)
    _, alive = psutil.wait_procs(ranks, timeout=60)
    assert not alive, "a rank was left behind"
    return code


@pytest.mark.parametrize(
    ("processes", "how", "code"),
    [
        (1, signal.SIGTERM, STOPPED_BY_SIGTERM),
        (1, signal.SIGKILL, -signal.SIGKILL),
        (2, signal.SIGTERM, STOPPED_BY_SIGTERM),
        (2, signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_a_stopped_run_ends_as_if_undisturbed(undisturbed, tmp_path, processes, how, code):
    """Dropout included, on every rank."""
    assert stop_in_mid_epoch(tmp_path, processes, how) == code
    stopped = only_folder(tmp_path)
    assert not stopped.trained, "stopped in the middle of training"
    wandb_id = read_json(stopped.timing)["wandb_id"]

    subprocess.run(command(tmp_path, processes), check=True, env=fresh_shell())

    expected = undisturbed(processes)
    for checkpoint in ("best", "last"):
        ours, theirs = (torch.load(getattr(f, checkpoint), weights_only=True)["state_dict"] for f in (stopped, expected))
        assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    for file in ("summary", "curves"):
        assert getattr(stopped, file).read_bytes() == getattr(expected, file).read_bytes()
    for identity in ("instances", "E1", "E2", "E8"):
        assert stopped.evidence(identity).read_bytes() == expected.evidence(identity).read_bytes()
    assert read_json(stopped.timing)["wandb_id"] == wandb_id
    assert len(list((stopped.path / "wandb").glob(f"offline-run-*-{wandb_id}"))) == 2, "both sittings log to one W&B run"


def is_rank(child: psutil.Process) -> bool:
    """Whether it runs our command; a first process also has children that live for a moment (git asked for the commit)."""
    try:
        return not {"attest", "attest.__main__"}.isdisjoint(child.cmdline())
    except psutil.NoSuchProcess:  # gone, or a zombie
        return False


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_no_rank_outlives_the_first_one_stopped_during_set_up(tmp_path, how):
    process = subprocess.Popen(command_with_ranks(tmp_path, 2), env=fresh_shell())
    ranks = psutil.Process(process.pid)
    started = wait_until(lambda: [each for each in ranks.children() if is_rank(each)], process)
    process.send_signal(how)
    assert process.wait(timeout=60) != 0
    _, alive = psutil.wait_procs(started, timeout=60)
    assert not alive
