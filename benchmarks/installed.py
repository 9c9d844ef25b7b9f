"""How much disk space an installation of Attest takes, summed over the packages that it needs.

    python -m benchmarks.installed                        # attest-attention alone
    python -m benchmarks.installed transformers           # … with an extra

Counted are the files that each package lists, as they lie in this environment, without compiled bytecode.
"""

import sys
from collections.abc import Sequence
from importlib.metadata import distribution

from packaging.requirements import Requirement

MB = 1e6


def needed(name: str, extras: Sequence[str] = ("",)) -> dict[str, set[str]]:
    """Return the packages that an installation of ``name`` needs, itself among them, each with its extras."""
    found: dict[str, set[str]] = {}
    waiting = [(name, {*extras, ""})]
    while waiting:
        package, wanted = waiting.pop()
        if wanted <= found.get(package, set()):
            continue
        found[package] = found.get(package, set()) | wanted
        for each in map(Requirement, distribution(package).requires or []):
            if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in wanted):
                waiting.append((each.name.lower(), {*each.extras, ""}))
    return found


def size_of(name: str) -> float:
    """Return the MB of a package's files."""
    files = [each.locate() for each in distribution(name).files or [] if each.suffix != ".pyc"]
    return sum(file.stat().st_size for file in files if file.is_file()) / MB


def main(extras: Sequence[str]) -> None:
    """Print the sum and the six largest packages."""
    sizes = {name: size_of(name) for name in needed("attest-attention", ["", *extras])}
    print(f"{len(sizes)} packages, {sum(sizes.values()):,.0f} MB")
    for name in sorted(sizes, key=lambda name: -sizes[name])[:6]:
        print(f"{name} {sizes[name]:,.0f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
