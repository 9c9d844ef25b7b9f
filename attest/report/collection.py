"""Many runs side by side: found below folders, grouped by setting, averaged over seeds."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from statistics import fmean, stdev
from typing import Any

from attest.errors import AttestError, nearest_few
from attest.report.described import labels, newer
from attest.report.numerical import in_order
from attest.report.value import value_of
from attest.runs.folder import RunFolder, read_json
from attest.runs.identity import identity_of


@dataclass(frozen=True)
class Over:
    """One number of a setting over its seeds."""

    mean: float
    std: float
    """Over seeds; NaN of one seed alone."""
    seeds: int


@dataclass(frozen=True)
class Setting:
    """Runs that differ in their seed alone."""

    name: str
    runs: dict[int, RunFolder]
    """By seed."""
    summaries: dict[int, dict[str, Any]]

    def over_seeds(self, key: str) -> Over | None:
        """A number (a score, or the mean of evidence over instances) over seeds; None where no seed has it."""
        values = [value for summary in self.summaries.values() if (value := value_of(summary, key)) is not None]
        if not values:
            return None
        return Over(fmean(values), stdev(values) if len(values) > 1 else math.nan, len(values))


def settings_of(runs: Sequence[RunFolder]) -> list[Setting]:
    """Runs grouped by setting, in order of first appearance and sweeps by their numbers; names begin where they differ."""
    groups: dict[tuple[str, int], dict[int, RunFolder]] = {}
    for run in runs:
        identity = identity_of(run)
        copies = sum(name == identity.setting and identity.seed in seeds for (name, _), seeds in groups.items())
        groups.setdefault((identity.setting, copies), {})[identity.seed] = run
    names = _short_names([f"{name} ({copy + 1})" if copy else name for name, copy in groups])
    settings = [
        Setting(name, seeds, {seed: read_json(run.summary) for seed, run in sorted(seeds.items())})
        for name, seeds in zip(names, groups.values(), strict=True)
    ]
    return in_order(settings, lambda setting: setting.name)


def shared_keys(settings: Sequence[Setting], patterns: Sequence[str] = ()) -> list[str]:
    """The numbers to show: those of the verdict that any setting has, or all that match a pattern such as ``E1/tau_*``."""
    if not patterns:
        known = [key for key in labels() if any(each.over_seeds(key) for each in settings)]
        return [key for key in known if not _all_have_newer(key, settings)]
    names = {name.removesuffix("/mean") for each in settings for summary in each.summaries.values() for name in summary}
    chosen = {pattern: [name for name in sorted(names) if _matches(name, pattern)] for pattern in patterns}
    for pattern, found in chosen.items():
        if not found:
            raise _no_such_number(pattern, names)
    return list(dict.fromkeys(name for found in chosen.values() for name in found))


def _no_such_number(pattern: str, names: Collection[str]) -> AttestError:
    whole = {name for name in names if name.rpartition("/")[0] not in names}
    near = nearest_few(pattern.replace("*", ""), whole)
    return AttestError(
        f"no number is called {pattern}; expected names as in summary.json, with * for any part, such as E1/tau_*. "
        f"The nearest are {', '.join(near)}."
    )


def _all_have_newer(key: str, settings: Sequence[Setting]) -> bool:
    """Whether every setting that has a number has also what is shown in its place."""
    others = newer()
    return key in others and all(each.over_seeds(others[key]) for each in settings if each.over_seeds(key))


def _matches(name: str, pattern: str) -> bool:
    """Part by part between slashes, so that ``E1/*`` asks for means and ``E1/*/median`` for medians."""
    parts, wanted = name.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


def _short_names(names: Sequence[str]) -> list[str]:
    """Without the corpus where it is the same for all."""
    corpora = {name.split("/")[0] for name in names}
    return [name.partition("/")[2] for name in names] if len(corpora) == 1 else list(names)
