"""Work that several processes of one machine share by ``torch.distributed``."""

import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing import current_process, get_context
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import distributed

from attest.core.ending import end_with_parent
from attest.core.errors import AttestError
from attest.core.memory import budget_shared

Result = TypeVar("Result")
_PATIENCE = timedelta(days=30)
"""The time after which a process that waits for the other processes gives up. It is long, because a process on a busy core is
slow, not lost."""
_OURS = "attest: "
_SECONDS_TO_END = 60
_SECONDS_UNTIL_HEARD = 10


def can_fork() -> bool:
    """Return whether this process can safely fork: on Linux, before a GPU is used, and with one torch thread.

    The result is False in an interactive process, such as a notebook, because Lightning refuses several processes there; and
    in a process that already belongs to a ``torch.distributed`` group.
    """
    alone = hasattr(sys, "ps1") or torch.cuda.is_initialized() or distributed.is_initialized()
    return sys.platform == "linux" and not alone and torch.get_num_threads() == 1


def together(processes: int, work: Callable[[int], Result]) -> Result:
    """Run a function in several processes, a ``torch.distributed`` group; return its result from this process.

    The function gets the rank of its process. The other processes are forks of this process, and end when it ends, for any
    reason. All share one memory budget: only one process at a time uses more than ``PIECE`` bytes.

    Raises:
        AttestError: this process is daemonic, and may have no children.
        Exception: the error of ``work`` in this process; for an error in another process, a RuntimeError or AttestError with
            its text.
    """
    if current_process().daemon:
        raise AttestError(
            "this process is daemonic, as workers of a pool are, and may not start others; expected processes=1 in it. Type "
            "processes=1 (--processes 1), or start this process with daemon=False."
        )
    context = get_context("fork")
    turn = context.RLock()
    with tempfile.TemporaryDirectory() as folder:

        def one(rank: int) -> Result:
            with budget_shared(turn), _group(rank, processes, Path(folder)):
                return work(rank)

        others = [context.Process(target=_other, args=(one, rank, Path(folder))) for rank in range(1, processes)]
        with _running(others), _telling_whose_fault(others, Path(folder)):
            result = one(0)
            for each in others:
                each.join(_SECONDS_TO_END)
            return result


@contextmanager
def group_of_torchrun() -> Iterator[int]:
    """Inside the ``with`` block, this process belongs to the group that torchrun has started, perhaps on several machines.

    Yields:
        Its rank among all processes.
    """
    distributed.init_process_group("gloo", timeout=_PATIENCE)  # what is shared are rows of tables, from GPUs, too
    try:
        yield distributed.get_rank()
    finally:
        distributed.destroy_process_group()


def require_alike(**known: str) -> None:
    """Refuse processes of a group that know different things, each on its machine; every process raises the same error.

    Args:
        known: what all must know alike, in words; underscores in its name stand for spaces.
    Raises:
        AttestError: it names what differs, and the first rank that differs from the first process.
    """
    everybody: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(everybody, known)
    for rank, theirs in enumerate(everybody):
        different = [name.replace("_", " ") for name in known if theirs[name] != everybody[0][name]]
        if different:
            raise AttestError(
                f"process {rank} has other {' and '.join(different)} than process 0; expected the same on every machine. Copy "
                "them from one machine to all others, and type the same options everywhere."
            )


def _other(work: Callable[[int], Any], rank: int, folder: Path) -> None:
    """Run ``work`` in another process, and write any error into a file that the first process reads."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process hears it as well, and ends this one
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        work(rank)
    except BaseException as error:
        own = folder / f"error of {rank}"
        stack = "".join(traceback.format_exception(error))
        said = f"{_OURS}{error}" if isinstance(error, AttestError) else f"{type(error).__name__}: {error}\n{stack}"
        own.write_text(said, encoding="utf-8")
        own.replace(folder / "error")
        os._exit(1)


@contextmanager
def _group(rank: int, processes: int, folder: Path) -> Iterator[None]:
    """Make this process a member of the process group inside the ``with`` block."""
    store = distributed.FileStore(str(folder / "store"), processes)
    distributed.init_process_group("gloo", store=store, rank=rank, world_size=processes, timeout=_PATIENCE)
    try:
        yield
    finally:
        distributed.destroy_process_group()


@contextmanager
def _running(others: Sequence[BaseProcess]) -> Iterator[None]:
    try:
        for each in others:
            each.start()
        yield
    finally:
        for each in others:
            if each.pid is not None:
                each.kill()
                each.join()


class _LostError(Exception):
    """An error that says that another process ended unexpectedly."""


@contextmanager
def _telling_whose_fault(others: Sequence[BaseProcess], folder: Path) -> Iterator[None]:
    """Raise an error in this process if another process ends with an error inside the ``with`` block."""
    try:
        with _hearing_of_ends(others):
            yield
    except Exception as error:
        if isinstance(error, RuntimeError):  # perhaps that nobody answers, which is noticed before the end of a process
            wait([each.sentinel for each in others], _SECONDS_UNTIL_HEARD)
        if (folder / "error").is_file():
            said = (folder / "error").read_text(encoding="utf-8")
            ours = said.startswith(_OURS)
            raise (AttestError(said.removeprefix(_OURS)) if ours else RuntimeError(said)) from error
        if killed := [each.exitcode for each in others if each.exitcode]:
            how = f"signal {-killed[0]}" if killed[0] < 0 else f"exit code {killed[0]}"
            raise AttestError(
                f"one of {len(others) + 1} processes was stopped by {how}; expected all processes to finish. Perhaps the "
                "memory was too small: type the same command with --run.processes=1. Finished work is kept."
            ) from error
        raise


@contextmanager
def _hearing_of_ends(others: Sequence[BaseProcess]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # which alone is told of signals
        yield
        return

    def hear(signum: int, frame: Any) -> None:
        if any(each.exitcode for each in others):
            raise _LostError

    before = signal.signal(signal.SIGCHLD, hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGCHLD, before)
