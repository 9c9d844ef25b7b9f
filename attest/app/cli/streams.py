"""The output of a command, which continues although the reader has gone, the disk is full or the terminal lacks a character.

``attest fit … | head -1`` reads one line of a run that takes hours. Processes of ``ddp`` end with the first one.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from attest.core.ending import end_with_parent


class Outlet(io.FileIO):
    """An open file that discards all text after the first write error.

    Attributes:
        failed: the first error of writing; None if there was none.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self.failed: OSError | None = None

    def write(self, data: Any, /) -> int:
        if self.failed is None:
            try:
                return super().write(data)
            except OSError as error:
                self.failed = error
        return len(data)


@contextmanager
def lasting_output() -> Iterator[Outlet | None]:
    """Send all text that is printed inside the block to standard output or standard error through an ``Outlet``.

    Characters that standard output cannot show become question marks. A stream stays as it is if it is closed or if somebody
    has replaced it.

    Yields:
        The outlet of standard output; None if that stream stays. When the block has ended, all is written.
    """
    out, err = sys.stdout, sys.stderr
    outlet = None
    if out is sys.__stdout__ and out is not None:
        outlet = Outlet(out.fileno())
        sys.stdout = _text(out, outlet, "replace")
    if err is sys.__stderr__ and err is not None:
        sys.stderr = _text(err, Outlet(err.fileno()), "backslashreplace")
    try:
        yield outlet
    finally:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        sys.stdout, sys.stderr = out, err


def _text(stream: TextIO, outlet: Outlet, errors: str) -> TextIO:
    stream.flush()
    return io.TextIOWrapper(io.BufferedWriter(outlet), stream.encoding, errors, line_buffering=True)


FIRST_RANK = "ATTEST_FIRST_RANK_PID"
"""The environment variable that holds the id of the process that started a rank."""
_ANOTHER_LAUNCHER = "TORCHELASTIC_RUN_ID"
"""An environment variable of torchrun, which starts all ranks, so that no rank is the parent of another."""


def end_with_first_rank() -> None:
    """Let this process end when the first rank ends, on Linux only; call it when the process starts."""
    if os.environ.get("LOCAL_RANK", "0") == "0":
        os.environ[FIRST_RANK] = str(os.getpid())
    elif sys.platform == "linux" and _ANOTHER_LAUNCHER not in os.environ:
        end_with_parent()
        if os.environ.get(FIRST_RANK, str(os.getppid())) != str(os.getppid()):
            sys.exit("attest: the process that started this one has ended")  # before it could be heard of
