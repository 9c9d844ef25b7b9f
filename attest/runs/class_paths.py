"""Which classes settings name: ours and those of two libraries, or somebody else's too."""

from collections.abc import Iterator
from typing import Any

KNOWN = ("attest.", "torch.", "pytorch_lightning.")
"""How class paths begin whose code changes with a version alone, and needs nothing that ours does not."""


def names_known_classes(settings: Any) -> bool:
    """Whether no class that settings name is somebody else's.

    Args:
        settings: or a part of them.
    """
    return all(path.startswith(KNOWN) for path in _class_paths(settings))


def _class_paths(settings: Any) -> Iterator[str]:
    """At any depth."""
    if isinstance(settings, list):
        for each in settings:
            yield from _class_paths(each)
    elif isinstance(settings, dict):
        if "class_path" in settings:
            yield settings["class_path"]
        yield from _class_paths([*settings.values()])
