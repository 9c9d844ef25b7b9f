"""Output that ends no command: a reader that has gone, a full disk and a terminal without some signs lose no result.

``attest fit … | head -1`` reads one line of a run of hours.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from attest.core.ending import end_with_parent


class Outlet(io.FileIO):
    """A descriptor that is written to while it can be.

    Attributes:
        failed: the first error of writing; None if there was none. What is written after it is dropped.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self.failed: OSError | None = None

    def write(self, data) -> int | None:  # type: ignore[override]  # any buffer
        if self.failed is None:
            try:
                return super().write(data)
            except OSError as error:
                self.failed = error
        return len(data)


@contextmanager
def lasting_output() -> Iterator[Outlet | None]:
    """Print to standard output and standard error through an ``Outlet`` while the block lasts.

    Signs that standard output cannot show become question marks. A stream that is not the process's own, or is closed, stays.

    Yields:
        The outlet of standard output; None where that stays. All that was printed has been written when the block has ended.
    """
    out, err = sys.stdout, sys.stderr
    outlet = None
    if _is_own(out, sys.__stdout__):
        outlet = Outlet(out.fileno())
        sys.stdout = _text(out, outlet, "replace")
    if _is_own(err, sys.__stderr__):
        sys.stderr = _text(err, Outlet(err.fileno()), "backslashreplace")
    try:
        yield outlet
    finally:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        sys.stdout, sys.stderr = out, err


def _is_own(stream: TextIO | None, of_process: TextIO | None) -> bool:
    return stream is not None and stream is of_process


def _text(stream: TextIO, outlet: Outlet, errors: str) -> TextIO:
    stream.flush()
    return io.TextIOWrapper(io.BufferedWriter(outlet), stream.encoding, errors, line_buffering=True)


FIRST_RANK = "ATTEST_FIRST_RANK_PID"
"""Names the process that started a rank, in that rank's environment."""
_ANOTHER_LAUNCHER = "TORCHELASTIC_RUN_ID"
"""Set where torchrun has started all ranks; their parent is none of them."""


def end_with_first_rank() -> None:
    """To be called when a process begins; only Linux offers this, and elsewhere nothing happens."""
    if os.environ.get("LOCAL_RANK", "0") == "0":
        os.environ[FIRST_RANK] = str(os.getpid())
    elif sys.platform == "linux" and _ANOTHER_LAUNCHER not in os.environ:
        end_with_parent()
        if os.environ.get(FIRST_RANK, str(os.getppid())) != str(os.getppid()):
            sys.exit("attest: the process that started this one has ended")  # before it could be heard of
