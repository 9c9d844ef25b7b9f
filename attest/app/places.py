"""Where a trial keeps its files until they are saved."""

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from attest.runs.folder import TEMPORARY

_BESIDE: ContextVar[Path | None] = ContextVar("the folder in which a trial is kept", default=None)


@contextmanager
def beside(folder: Path) -> Iterator[None]:
    """Let a trial in the ``with`` block keep its files inside a folder of the user, as unfinished ones.

    A process that is killed leaves them there, and the next one that claims the folder deletes them.
    """
    token = _BESIDE.set(folder)
    try:
        yield
    finally:
        _BESIDE.reset(token)
        for left in folder.glob(f".*{TEMPORARY}"):
            shutil.rmtree(left, ignore_errors=True)


def temporary_folder() -> Path:
    """Return a new folder for the files of a trial that nobody has saved."""
    folder = _BESIDE.get()
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="attest-"))
    place = folder / f".trial.{secrets.token_hex(4)}{TEMPORARY}"
    place.mkdir(parents=True)
    return place
