"""Names of runs that were resolved before, so that the second plan of a table is quick.

A name depends on what was typed, on this package's code and configs, and on the versions of the libraries that resolve it. It
is kept under all of these, and only where nothing else was typed: no file, no class from elsewhere.
"""

import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import attest
from attest.compute.storage import cache_folder

Name = tuple[str, str, str]
"""Corpus, name of the setting and seed: what a run's folder is called below the root of all runs."""
RESOLVING = ("jsonargparse", "pytorch-lightning", "torch", "torchmetrics", "entmax")
"""Packages whose signatures and defaults stand in a resolved configuration."""
OURS = re.compile(r"(--)?[\w.]+=(?:-?[\d.]+(?:e-?\d+)?|[\w-]+(?::-?[\d.]+(?:e-?\d+)?)?)", re.IGNORECASE)
"""A choice or an option whose value is a number or a plain word, a number after it (``sparsegen:-1``) included."""


class RememberedNames:
    """What was typed after ``attest fit`` to the name of the run, over all commands of one installation."""

    def __init__(self) -> None:
        self._file = cache_folder() / "names.json"
        self._made_by = _fingerprint()
        self._names = self._read()
        self._known = len(self._names)

    def __getitem__(self, arguments: Sequence[str]) -> Name | None:
        return self._names.get(" ".join(arguments))

    def __setitem__(self, arguments: Sequence[str], name: Name) -> None:
        if all(OURS.fullmatch(argument) for argument in arguments):
            self._names[" ".join(arguments)] = name

    def keep(self) -> None:
        """Write what is new, whole or not at all; a folder that cannot be written costs time and nothing else."""
        if len(self._names) == self._known:
            return
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._file.parent)
            with os.fdopen(handle, "w") as file:
                json.dump({self._made_by: self._read() | self._names}, file)
            os.replace(temporary, self._file)

    def _read(self) -> dict[str, Name]:
        """What the same code and libraries have resolved; nothing where the file is another's, broken or not there."""
        with suppress(OSError, ValueError, AttributeError):
            names = json.loads(self._file.read_text()).get(self._made_by, {})
            return {typed: (data, name, seed) for typed, (data, name, seed) in names.items()}
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
