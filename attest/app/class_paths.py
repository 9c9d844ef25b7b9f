"""Which classes settings name: ours and those of two libraries, or somebody else's too."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from attest.core.errors import AttestError

KNOWN = ("attest.", "torch.", "pytorch_lightning.")
"""How class paths begin whose code changes with a version alone, and needs nothing that ours does not."""
SECTIONS = ("model", "data", "experiments", "trainer")
"""Of settings: what is built."""
DATA = "attest.datamodules."
"""How class paths begin of data whose own options are words, paths and numbers, and no classes."""
IMPORTABLE = re.compile(r"(?<![\w./-])[^\W\d]\w*(?:\.[^\W\d]\w*)+(?![\w/-])")
"""In any text: a class may stand behind ``class_path``, alone, or in YAML within a text."""
IDENTITY = re.compile(r"[\w-]+")
"""What an experiment may be called, since its file is called so."""


def strange_class(settings: Any, trusted: Iterable[str] = ()) -> str | None:
    """What settings name that could be imported, and so run, and is not known; None where nothing is.

    Args:
        settings: of a run, as they lie in its folder.
        trusted: modules that are known too; the empty one stands for all.
    """
    known = (*KNOWN, *(f"{module}." if module else "" for module in trusted))
    return next((path for path in _importable(settings) if not path.startswith(known)), None)


def require_trusted(settings: dict[str, Any], trusted: Iterable[str], where: str) -> None:
    """Refuse settings that name a class of somebody else's, or a file outside the run's folder.

    Args:
        settings, trusted: as in ``strange_class``.
        where: the settings lie.
    Raises:
        AttestError: they do.
    """
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
        built["data"] = [value for value in data["init_args"].values() if not isinstance(value, str)]  # train.csv is no class
    for text in _texts(built):
        yield from IMPORTABLE.findall(text)


def _texts(settings: Any) -> Iterator[str]:
    if isinstance(settings, dict):
        yield from _texts([*settings, *settings.values()])
    elif isinstance(settings, list):
        for each in settings:
            yield from _texts(each)
    elif isinstance(settings, str):
        yield settings
