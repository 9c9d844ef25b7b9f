"""A command and all that it starts, stopped together."""

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

STOPS = (signal.SIGINT, signal.SIGTERM)


def run_as_group(command: Sequence[str]) -> int:
    """Run a command to its end; returns its exit code.

    Whoever stops this process stops everything that the command has started, as Ctrl-C in a terminal would: nothing runs on
    unseen, and runs end where they can be taken up.

    Raises:
        KeyboardInterrupt, Lightning's SIGTERMException: this process was told to stop, and all of the group has ended.
    """
    started: list[int] = []
    received: list[int] = []

    def stop(number: int, frame: Any) -> None:
        received.append(number)
        for group in started:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGINT)

    # before the command starts: it would inherit that a shell's background ignores SIGINT, but no handler
    before = {number: signal.signal(number, stop) for number in STOPS}
    try:
        process = subprocess.Popen(command, start_new_session=True)
        started.append(process.pid)
        if received:
            stop(received[0], None)
        code = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        raise _as_raised(received[0])
    return code


def _as_raised(number: int) -> BaseException:
    """What stops a command of ours at this signal; Lightning takes seconds to import, for which only a stop waits."""
    if number != signal.SIGTERM:
        return KeyboardInterrupt()
    from pytorch_lightning.utilities.exceptions import SIGTERMException

    return SIGTERMException()
