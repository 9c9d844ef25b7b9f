"""Group several runs by setting, average them over seeds, and compare their decisions text by text."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from attest.core.errors import AttestError, nearest
from attest.core.kinds import TAGS, Kind
from attest.core.measures import OverSeeds, Paired, mcnemar, signed_rank, standard_errors
from attest.core.measures.comparison import LEVEL, mean_of_each
from attest.core.measures.numbers import interval, p_value
from attest.core.measures.summary import share_interval
from attest.report.summary import LABELS, range_of
from attest.runs.contents import RunContents
from attest.runs.folder import RunFolder
from attest.runs.identity import TextsOfRun, identity_of
from attest.runs.kinds import kind_in

NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
"""Matches a number within the name of a run, such as the λ of an adversary in ``unfrozen-kl-0.001``; runs are sorted by these
numbers."""
VARIANT = re.compile(r"-[0-9a-f]{8}(?=/|$)")
"""Matches the end of a run's name that distinguishes runs of the same name: a hyphen and eight hexadecimal digits. It is
removed before runs are sorted by the numbers in their names."""
ONE_ORDER = re.compile(r"E12/(fraction|excess)_(?!common_)")
"""Matches the keys of experiment E12 (weights are erased until the decision flips) that are means over those texts that flip
in one order of erasing. In another order other texts flip, so these means cannot be compared with one another."""
Named = TypeVar("Named")


def in_order(items: Sequence[Named], name: Callable[[Named], str]) -> list[Named]:
    """Sort items whose names differ only in numbers by these numbers; all other items keep their positions.

    Items whose names differ only in numbers are a sweep.
    """
    names = [VARIANT.sub("", name(item)) for item in items]
    sweeps: dict[str, list[int]] = {}
    for place, each in enumerate(names):
        sweeps.setdefault(NUMBER.sub("#", each), []).append(place)
    ordered = list(items)
    for places in sweeps.values():
        chosen = sorted(places, key=lambda place: [float(number) for number in NUMBER.findall(names[place])])
        for place, other in zip(places, chosen, strict=True):
            ordered[place] = items[other]
    return ordered


def value_of(summary: Mapping[str, Any], key: str) -> float | None:
    """Return the number under a key of a run's summary; None if there is none."""
    value = summary.get(key, summary.get(f"{key}/mean"))
    return None if value is None or math.isnan(value) else float(value)


@dataclass(frozen=True)
class Setting:
    """A group of runs that have the same settings and differ only in their seed."""

    name: str
    runs: dict[int, RunContents]
    """The runs with these settings. The keys are their seeds."""
    summaries: dict[int, dict[str, Any]]

    @property
    def any_run(self) -> RunContents:
        """Return one run of this setting."""
        return next(iter(self.runs.values()))

    def over_seeds(self, key: str) -> OverSeeds | None:
        """Return mean and standard deviation over seeds of a number in the summary; None if no seed has the number."""
        values = [value for summary in self.summaries.values() if (value := value_of(summary, key)) is not None]
        return OverSeeds.of(values) if values else None


def settings_of(runs: Sequence[RunFolder]) -> list[Setting]:
    """Group runs into settings; the runs of one setting differ only in their seed."""
    groups: dict[tuple[str, int], dict[int, RunContents]] = {}
    for run in map(RunContents, runs):
        identity = identity_of(run)
        copies = sum(name == identity.setting and identity.seed in seeds for (name, _), seeds in groups.items())
        groups.setdefault((identity.setting, copies), {})[identity.seed] = run
    names = [f"{name} ({copy + 1})" if copy else name for name, copy in groups]
    if len({name.split("/")[0] for name in names}) == 1:
        names = [name.partition("/")[2] for name in names]
    settings = [
        Setting(name, seeds, {seed: run.summary for seed, run in sorted(seeds.items())})
        for name, seeds in zip(names, groups.values(), strict=True)
    ]
    return in_order(settings, lambda setting: setting.name)


def shared_keys(settings: Sequence[Setting], patterns: Sequence[str] = ()) -> list[str]:
    """Return the keys of the numbers to show: the main numbers, or all that match a pattern such as ``E1/tau_*``.

    Each part between slashes must match, and a key and its pattern have equally many parts. Keys of means have no last part
    ``/mean``, so ``E1/*`` selects means, and ``E1/*/median`` selects medians.
    """
    if not patterns:
        return [key for key in LABELS if any(each.over_seeds(key) for each in settings)]
    names = {name.removesuffix("/mean") for each in settings for summary in each.summaries.values() for name in summary}
    chosen: dict[str, None] = {}
    for pattern in patterns:
        parts = pattern.split("/")
        as_long = [name for name in sorted(names) if name.count("/") == pattern.count("/")]
        found = [name for name in as_long if all(map(fnmatchcase, name.split("/"), parts))]
        chosen |= dict.fromkeys(found)
        if not found:
            whole = {name for name in names if name.rpartition("/")[0] not in names}
            near = nearest(pattern.replace("*", ""), whole)
            raise AttestError(
                f"no number in summary.json is called {pattern!r}; expected a name such as test/accuracy, or a pattern such "
                f"as E1/tau_*, in which * stands for any part. The nearest names: {', '.join(near)}."
            )
    return list(chosen)


def leading(keys: Sequence[str], of_each: int = 3) -> list[str]:
    """Return only the first ``of_each`` keys of each experiment and of the test scores."""
    groups: dict[str, list[str]] = {}
    for key in keys:
        groups.setdefault(key.partition("/")[0], []).append(key)
    return [key for key in keys if key in groups[key.partition("/")[0]][:of_each]]


PARTS = ("mean", "ci_low", "ci_high")
"""The ends of three summary keys: of a mean, and of the lower and the upper end of its 95 % interval."""


class Interval(NamedTuple):
    """A mean and its 95 % interval."""

    mean: float
    low: float
    high: float

    def apart(self, other: "Interval") -> int:
        """Return 1 if this interval lies wholly above ``other``, -1 if wholly below it, 0 if the two overlap or touch."""
        return int(self.low > other.high) - int(self.high < other.low)

    def __str__(self) -> str:
        return interval(self.mean, self.low, self.high)


def over_texts(summary: Mapping[str, Any], key: str, compared: int = 2) -> Interval | None:
    """Return the confidence interval of a mean over texts, widened to compare several settings; None if unknown."""
    mean, low, high = (value_of(summary, f"{key}/{part}") for part in PARTS)
    if mean is None or low is None or high is None:
        return None
    wider = standard_errors(math.inf, compared=compared) / standard_errors(math.inf)
    return Interval(mean, *within(key, mean - wider * (mean - low), mean + wider * (high - mean)))


def within(key: str, low: float, high: float) -> tuple[float, float]:
    """Return an interval's bounds, cut at the smallest and the largest value that the number can have."""
    least, most = range_of(key)
    return max(low, least), min(high, most)


def whiskers(shares: pd.Series) -> tuple[float, float]:
    """Return the lengths of the lower and upper error bar of the mean of ``shares``; zeros if all shares are NaN."""
    known = shares.dropna().to_numpy(dtype=float)
    if not len(known):
        return 0.0, 0.0
    low, high = share_interval(known)
    return known.mean() - low, high - known.mean()


def over_seeds(over: OverSeeds, key: str, compared: int = 2) -> Interval | None:
    """Return the t-interval of a mean over seeds, widened to compare several settings; None below two seeds."""
    if over.seeds < 2:
        return None
    return Interval(over.mean, *within(key, *over.interval(standard_errors(over.seeds - 1, compared=compared))))


def notes(settings: Sequence[Setting], keys: Sequence[str]) -> list[str]:
    """Return warnings about numbers that must not be compared; empty if all can be compared."""
    flips = [key for key in keys if ONE_ORDER.match(key)]
    orders = f"Do not compare {' and '.join(flips)}: each is a mean over the texts that flip in its own order of erasing."
    return [note for note in (other_texts(settings), orders if len(flips) > 1 else None) if note]


def other_texts(settings: Sequence[Setting]) -> str | None:
    """Return a warning that names the settings that were tested on different texts; None if no difference is known."""
    groups: list[tuple[dict[int, TextsOfRun], list[str]]] = []
    for setting in settings:
        tested = {seed: TextsOfRun(run) for seed, run in setting.runs.items()}
        names = next((names for first, names in groups if not _differ(first, tested)), None)
        if names is None:
            groups.append((tested, names := []))
        names.append(setting.name)
    if len(groups) < 2:
        return None
    told = "; ".join(f"({number}) {', '.join(names)}" for number, (_, names) in enumerate(groups, start=1))
    return f"Not all settings were tested on the same texts. Compare numbers only inside a group: {told}."


def _differ(first: dict[int, TextsOfRun], second: dict[int, TextsOfRun]) -> bool:
    """Return whether two settings were tested on different texts; if possible, runs of the same seed are compared."""
    shared = first.keys() & second.keys()
    pairs = [(first[seed], second[seed]) for seed in shared] or list(product(first.values(), second.values()))
    differing = [one.same_as(other) is False for one, other in pairs]
    return any(differing) if shared else all(differing)


def tested(test: Paired, tagging: bool) -> str:
    """Return a phrase with the name and the p-value of a paired test on texts, or on the sentences of a tagger."""
    name = "Wilcoxon's signed-rank test over sentences" if tagging else "McNemar's exact test"
    return f"{name}: {p_value(test.p_value)}"


@dataclass(frozen=True)
class Pairing:
    """A comparison of two runs on the texts of the test split."""

    same: bool | None
    """Whether both runs were tested on the same texts; None if that is not known."""
    instances: int = 0
    tagging: bool = False
    """Whether the models are taggers, so that the compared instances are sentences and not texts."""
    test: Paired | None = None
    """The paired test that compares the runs' decisions on the same texts. None if the runs have different texts, or if one
    has not stored the table of its texts."""

    @property
    def better(self) -> int:
        """Return 1 if the first run is better by more than chance, -1 if the second is, 0 if neither is."""
        return 0 if self.test is None or self.test.p_value >= LEVEL else self.test.favours

    @property
    def tested(self) -> str:
        """Return the name of the test and its p-value; empty if no test was made."""
        return "" if self.test is None else tested(self.test, self.tagging)


@dataclass(frozen=True)
class Decided:
    """The test texts of one run, and whether the run decided each of them correctly."""

    texts: TextsOfRun
    rightly: np.ndarray | None
    """``(N,)``: whether the run decided each of N texts correctly, bool; for a tagger, the share of correct tags in each
    sentence, float. None if the run has not stored the table of its texts, or predicts a number."""
    tagging: bool

    @classmethod
    def by(cls, run: RunContents) -> "Decided":
        """Return the decisions and the texts of one run, read from its folder."""
        rows, texts, kind = run.decided, TextsOfRun(run), kind_in(run)
        if rows is None or not kind.chooses:
            return cls(texts, None, tagging=False)
        gold, predicted, lengths = decisions_in(rows, kind)
        right = gold == predicted
        return cls(texts, right if lengths is None else mean_of_each(right, lengths), tagging=lengths is not None)


def paired(first: Decided, second: Decided) -> Pairing:
    """Compare two runs' decisions: by McNemar's exact test on texts, or by Wilcoxon's test on taggers' sentences."""
    same = first.texts.same_as(second.texts)
    if not same or first.rightly is None or second.rightly is None:
        return Pairing(same)
    tagging = first.tagging or second.tagging
    test = signed_rank if tagging else mcnemar
    return Pairing(same, len(first.rightly), tagging, test(first.rightly, second.rightly))


def decisions_in(rows: pd.DataFrame, kind: Kind) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return gold and predicted classes ``(N,)``, and None; for a tagger return tags, and a count for each sentence.

    For a tagger, N is the number of tagged tokens, and the third array has the number of tagged tokens in each sentence. A
    word that is split into subwords has a tag only on its first subword.
    """
    if kind != TAGS:
        return rows[kind.label].to_numpy(), rows[kind.predicted].to_numpy(), None
    gold, predicted = (np.concatenate(rows[column].to_numpy()) for column in (kind.label, kind.predicted))
    tagged = rows[kind.label].map(lambda tags: int((tags >= 0).sum())).to_numpy()
    return gold[gold >= 0], predicted[gold >= 0], tagged
