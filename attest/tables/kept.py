"""What a table has read from evidence, kept beside it: ``evidence.json``.

Evidence is too large to keep for long, and numbers by text and tests over texts need it. So whatever is computed from it is
written down with the names of its runs, and read again when the same runs are there without their evidence.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attest.runs.folder import read_json, write_json
from attest.tables.comparison import Ours
from attest.tables.rules import RULES

FILE = "evidence.json"
RUN = re.compile(r"[^/]+/[^/]+/seed\d+(?:/.+)?$")

Entry = dict[str, Any]
Key = tuple[str, ...]


@dataclass(frozen=True)
class Kept:
    """Entries of numbers and claims, by what they are about.

    An entry has ``runs``, their names; ``mean``, ``std`` (None for one seed) and ``seeds``; of a number also ``values``, that
    of each run by its name (entries older than 2026-11-24 have none); of a claim also ``tests``, a ``PairedTest`` a seed with
    ``rules``, the date of the rules by which it was made; and of claims older than these ``two_sided``, the p of each seed
    as it was printed, whose direction nobody knows any more.
    """

    entries: Mapping[Key, Entry] = field(default_factory=dict)

    def of(self, key: Key, folders: Iterable[Path]) -> Entry | None:
        """The entry, where these folders are of the runs that it is about."""
        entry = self.entries.get(key)
        return entry if entry is not None and sorted(entry["runs"]) == sorted(map(run_name, folders)) else None

    def values(self, key: Key) -> Mapping[str, float]:
        """The number of each run by its name, as far as that is known."""
        entry = self.entries.get(key, {"runs": []})
        alone = {entry["runs"][0]: entry["mean"]} if len(entry["runs"]) == entry.get("seeds") == 1 else {}
        return entry.get("values", alone)


def run_name(folder: Path) -> str:
    """``<data>/<readable name>/seed<n>[/…]``: a run's folder, wherever all runs lie."""
    match = RUN.search(folder.as_posix())
    return match[0] if match else folder.as_posix()


def entry_of(ours: Ours, folders: Iterable[Path]) -> Entry:
    """What is kept of a number or a difference."""
    std = ours.std if ours.seeds > 1 else None
    return {"runs": [run_name(folder) for folder in folders], "mean": ours.mean, "std": std, "seeds": ours.seeds}


def values_by_run(runs: Mapping[int, Path], values: Mapping[int, float]) -> dict[str, float]:
    """Numbers by the names of their runs, both given by seed."""
    return {run_name(runs[seed]): value for seed, value in values.items()}


def ours_of(entry: Entry) -> Ours:
    """The number that was kept."""
    return Ours(entry["mean"], float("nan") if entry["std"] is None else entry["std"], entry["seeds"])


def read_kept(folder: Path) -> Kept:
    """What is kept beside a table; nothing where there is no such file."""
    file = folder / FILE
    return Kept({tuple(each["of"]): each for each in read_json(file)["entries"]} if file.is_file() else {})


def write_kept(folder: Path, entries: Mapping[Key, Entry]) -> None:
    """Keep these beside a table, where there are any."""
    if entries:
        write_json(
            folder / FILE, {"rules": RULES.fixed, "entries": [{"of": list(key)} | each for key, each in entries.items()]}
        )
