"""Whose imports a command waits for: ``python -m benchmarks.imports fit DATA=planted CUT=smoke LOGGER=csv``.

Python's own ``-X importtime``, added up: the milliseconds that each package's files took, without what they imported in turn.
They are of the clock, so run it on an idle core.
"""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence

LINE = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)$")
SHOWN = 10


def by_package(report: Iterable[str]) -> Counter[str]:
    """Milliseconds of each top-level package.

    Args:
        report: lines of ``-X importtime``; others are passed over.
    """
    found: Counter[str] = Counter()
    for line in report:
        if match := LINE.match(line):
            found[match[2].partition(".")[0]] += int(match[1])
    return Counter({package: round(microseconds / 1000) for package, microseconds in found.items()})


def table(found: Counter[str]) -> str:
    """In Markdown: the packages that took longest, all others together, and the sum."""
    shown = found.most_common(SHOWN)
    rows = [*shown, ("others", found.total() - sum(took for _, took in shown)), ("together", found.total())]
    return "\n".join(["| package | ms |", "| --- | --- |", *(f"| {package} | {took} |" for package, took in rows)])


def main(command: Sequence[str]) -> None:
    """Run a command of ``attest`` and print the table."""
    words = [sys.executable, "-X", "importtime", "-m", "attest", *command]
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
    print(table(by_package(done.stderr.splitlines())))


if __name__ == "__main__":
    main(sys.argv[1:])
