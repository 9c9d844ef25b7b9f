"""Packages that do not come with Attest itself but with one of its extras, and the command that adds an extra here."""

import re
import shlex
import sys
from importlib.metadata import PackageNotFoundError, metadata, requires

from packaging.requirements import Requirement

DISTRIBUTION = "attest-attention"
"""What the package index calls Attest; the import and the command are `attest`."""
FOR_DEVELOPERS = "dev"
"""The extra that takes in most others, and so says nothing of which one a package belongs to."""


def install_command(extra: str) -> str:
    """What to type so that this environment, and no other one, gets an extra."""
    return f"{shlex.quote(sys.executable)} -m pip install '{DISTRIBUTION}[{extra}]'"


def extra_named_in(sentence: str) -> str | None:
    """The extra with a package that a sentence names, by its own name or as it is imported; None where there is none."""
    words = {word.lower().replace("_", "-") for word in re.findall(r"[\w-]+", sentence)}
    return next((extra for package, extra in _extras().items() if package in words), None)


def _extras() -> dict[str, str]:
    """The extra of each package that comes with one; nothing where Attest runs without being installed."""
    try:
        names = metadata(DISTRIBUTION).get_all("Provides-Extra") or ()
        asked = [Requirement(line) for line in requires(DISTRIBUTION) or ()]
    except PackageNotFoundError:
        return {}
    conditional = [each for each in asked if each.marker is not None and not each.marker.evaluate({"extra": ""})]
    return {
        each.name: name
        for name in names
        if name != FOR_DEVELOPERS
        for each in conditional
        if each.marker is not None and each.marker.evaluate({"extra": name}) and each.name != DISTRIBUTION
    }
