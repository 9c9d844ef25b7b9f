"""What was resolved before, kept on disk, so that it is not resolved again: resolving imports Lightning.

It depends on this package's code and configs and on the versions of the libraries that resolve; it is kept under all of
these.
"""

import hashlib
import json
import os
import sys
import tempfile
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import attest
from attest.compute.storage import cache_folder

RESOLVING = ("jsonargparse", "pytorch-lightning", "torch", "torchmetrics", "entmax")
"""Packages whose signatures and defaults stand in a resolved configuration."""


class Remembered:
    """Values that JSON can hold by a text that says what was resolved, over all commands of one installation.

    Args:
        file: its name in the cache.
    """

    def __init__(self, file: str) -> None:
        self._file = cache_folder() / file
        self._made_by = _fingerprint()
        self._values = self._read()
        self._known = len(self._values)

    def __contains__(self, asked: str) -> bool:
        return asked in self._values

    def __getitem__(self, asked: str) -> Any:
        return self._values[asked]

    def __setitem__(self, asked: str, value: Any) -> None:
        self._values[asked] = value

    def keep(self) -> None:
        """Write what is new, whole or not at all; a folder that cannot be written costs time and nothing else."""
        if len(self._values) == self._known:
            return
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._file.parent)
            with os.fdopen(handle, "w") as file:
                json.dump({self._made_by: self._read() | self._values}, file)
            os.replace(temporary, self._file)

    def _read(self) -> dict[str, Any]:
        """What the same code and libraries have resolved; nothing where the file is another's, broken or not there."""
        with suppress(OSError, ValueError, AttributeError, TypeError):
            return dict(json.loads(self._file.read_text()).get(self._made_by, {}))
        return {}


def _fingerprint() -> str:
    """16 hex digits of this package's code and configs and of the versions of Python and the libraries."""
    digest = hashlib.sha256(sys.version.encode())
    for package in RESOLVING:
        digest.update(version(package).encode())
    for file in _sources(Path(attest.__file__).parent):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _sources(package: Path) -> list[Path]:
    """Code and configs, those in linked folders included, in an order that does not depend on the disk."""
    walked = os.walk(package, followlinks=True)
    return sorted(Path(folder, file) for folder, _, files in walked for file in files if file.endswith((".py", ".yaml")))
