"""Files that ``--out`` names: of the right kind, and nobody else's."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from attest.errors import AttestError

BEGINNING = 2000
"""By so many bytes a file of ours is known."""


def kind_of(path: Path, kinds: Mapping[str, str]) -> str:
    """The kind of a file by its suffix.

    Args:
        path: as typed.
        kinds: by suffix, ``.csv`` and the like.
    Raises:
        AttestError: the suffix names none of them.
    """
    if path.suffix.lower() not in kinds:
        raise AttestError(
            f"--out {path} ends in {path.suffix or 'no suffix'}; expected {' or '.join(kinds)}. "
            f"Type for example: --out {path.with_suffix(next(iter(kinds)))}"
        )
    return kinds[path.suffix.lower()]


def require_own(path: Path, ours: re.Pattern[str]) -> None:
    """Refuse to write over a file that attest has not written.

    Args:
        path: as typed; it need not exist.
        ours: matches the beginning of what attest writes there.
    Raises:
        AttestError: it is a folder, or a file that begins otherwise.
    """
    if path.is_dir():
        raise AttestError(f"--out {path} is a folder; expected a file. Type for example: --out {path / 'out'}")
    if path.is_file() and not ours.match(path.read_bytes()[:BEGINNING].decode("utf-8", errors="replace")):
        raise AttestError(
            f"--out {path} is there already and was not written by this command; expected a new file, or an older one of its "
            "own. Choose another name."
        )


def require_place(folder: Path) -> None:
    """Refuse a folder that cannot be made, before hours are spent on what goes there.

    Args:
        folder: as typed; it need not exist.
    Raises:
        AttestError: what there is of its path is a file, or may not be written.
    """
    nearest = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        reason = "may not be written" if nearest.is_dir() else "is no folder"
        raise AttestError(f"{folder} cannot be written: {nearest} {reason}; expected a folder that can be made. Name another.")
