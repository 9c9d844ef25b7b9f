"""The check of all classes that settings name: a class must be part of Attest, torch or Lightning, or be trusted by the
user.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from attest.core.errors import AttestError

KNOWN = ("attest.", "torch.", "pytorch_lightning.")
"""The beginnings of class paths whose classes may be imported."""
SECTIONS = ("model", "data", "experiments", "trainer")
"""The sections of settings that are built as objects."""
DATA = "attest.datamodules."
"""The beginning of the class paths of our data, whose options are words, paths and numbers, and no classes."""
IMPORTABLE = re.compile(r"(?<![\w./-])[^\W\d]\w*(?:\.[^\W\d]\w*)+(?![\w/-])")
"""A dotted name in any text: a class may stand behind ``class_path``, alone, or in YAML within a text."""
IDENTITY = re.compile(r"[\w-]+")
"""The names that an experiment may have, because its file has this name."""


def strange_class(settings: Any, trusted: Iterable[str] = ()) -> str | None:
    """Return the first unknown class that the settings name, whose import could run foreign code; None if there is none.

    Args:
        trusted: modules that are known, too; an empty name stands for all modules.
    """
    known = (*KNOWN, *(f"{module}." if module else "" for module in trusted))
    return next((path for path in _importable(settings) if not path.startswith(known)), None)


def require_trusted(settings: dict[str, Any], trusted: Iterable[str], where: str) -> None:
    """Refuse settings that name an unknown class, or an experiment whose file would lie outside the folder of the run."""
    if strange := strange_class(settings, trusted):
        raise AttestError(
            f"{where} names {strange}, which is neither Attest's nor torch's, and would run; expected a run without code of "
            f"its own. If you know this code, add --trust {strange.rpartition('.')[0]}"
        )
    if unsafe := [name for name in settings["experiments"] if not IDENTITY.fullmatch(str(name))]:
        raise AttestError(f"{where} has an experiment {unsafe[0]!r}; expected letters, digits, - and _ alone, such as E2.")


def _importable(settings: Any) -> Iterator[str]:
    if not isinstance(settings, dict):
        return
    built, data = {name: settings.get(name) for name in SECTIONS}, settings.get("data")
    if isinstance(data, dict) and str(data.get("class_path")).startswith(DATA) and isinstance(data.get("init_args"), dict):
        values = data["init_args"].values()  # of which words are no classes: train.csv, or a group rec.sport.hockey
        built["data"] = [value for value in values if not _are_words(value)]
    for text in _texts(built):
        yield from IMPORTABLE.findall(text)


def _are_words(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value))


def _texts(settings: Any) -> Iterator[str]:
    if isinstance(settings, dict):
        yield from _texts([*settings, *settings.values()])
    elif isinstance(settings, list):
        for each in settings:
            yield from _texts(each)
    elif isinstance(settings, str):
        yield settings
