"""``comparison.html``: runs side by side, over seeds, with paired tests.

What a page of several settings says: what they differ in, which numbers differ beyond their intervals, which decisions.

What settings differ in: their choices first, and where choices are the same, single settings.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, islice
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from attest.core.measures import OverSeeds, Paired, in_seed_spreads
from attest.core.measures.comparison import LEVEL
from attest.core.measures.numbers import p_value
from attest.report.collection import (
    Decided,
    Interval,
    Setting,
    other_orders,
    other_texts,
    over_seeds,
    over_texts,
    paired,
    settings_of,
    shared_keys,
    value_of,
)
from attest.report.described import QUESTIONS, described, label_of
from attest.report.figures import CLASS_COLOURS, to_svg
from attest.report.related import LONG, Conclusion, link_between
from attest.report.run_tables import cell
from attest.report.templating import render
from attest.report.verdict import scale_of
from attest.runs.asked import identity
from attest.runs.folder import RunFolder, write_text
from attest.runs.identity import identity_of


@dataclass(frozen=True)
class Decision:
    """Two settings with the same seed, text by text."""

    pair: tuple[str, str]
    seed: int
    same: bool | None
    """Whether both were tested on the same texts; None where their folders do not tell."""
    test: Paired | None
    """None where the texts are not the same, or were not kept."""
    instances: int
    tagging: bool


def decisions(settings: Sequence[Setting]) -> list[Decision]:
    """The paired test of every two settings, for every seed that both have."""
    compared, decided = [], cache(Decided.by)
    for first, second in combinations(settings, 2):
        for seed in sorted({*first.runs} & {*second.runs}):
            pair = paired(decided(first.runs[seed]), decided(second.runs[seed]))
            names = first.name, second.name
            compared.append(Decision(names, seed, pair.same, pair.test, pair.instances, pair.tagging))
    return compared


CHOICES = {"data": "corpus", "recipe": "recipe", "model": "model", "scoring": "scoring", "projection": "projection"}
"""As they are stored, and as a reader knows them."""
DEPENDS = "trained against the base"
NOT_SET = "not set"
MEASURED = "experiments."
"""Settings of experiments are told where all have run them: what one has not measured is a gap, no other setting."""
Differing = dict[str, list[str]]
"""Values in the order of first appearance, by name."""


def choices_apart(settings: Sequence[Setting]) -> Differing:
    """The choices that are not the same for all."""
    return _differing_names([_choices(setting) for setting in settings])


def settings_apart(settings: Sequence[Setting]) -> Differing:
    """The single settings, by dotted name, that tell apart those whose choices are the same."""
    alike: dict[tuple[str, ...], list[Setting]] = {}
    for setting in settings:
        alike.setdefault(tuple(_choices(setting).values()), []).append(setting)
    found: Differing = {}
    for several in alike.values():
        for name, values in _differing_names([_single(setting) for setting in several]).items():
            if not (name.startswith(MEASURED) and NOT_SET in values):
                found[name] = list(dict.fromkeys([*found.get(name, []), *values]))
    return found


def _choices(setting: Setting) -> dict[str, str]:
    run = _config(setting).get("run") or {}
    depends = identity_of(_any_run(setting)).dependent
    return {word: str(run.get(name, NOT_SET)) for name, word in CHOICES.items()} | {DEPENDS: depends or "no"}


def _single(setting: Setting) -> dict[str, str]:
    settings = _config(setting)
    rest = identity(settings) | {"experiments": settings.get("experiments")}
    rest.pop("run", None)  # which the choices say
    return dict(_flat(rest))


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", str(value)


def _differing_names(described: Sequence[Mapping[str, str]]) -> Differing:
    names = dict.fromkeys(name for each in described for name in each)
    values = {name: list(dict.fromkeys(each.get(name, NOT_SET) for each in described)) for name in names}
    inner = {name for name in names if any(other.startswith(f"{name}.") for other in names)}
    return {name: several for name, several in values.items() if len(several) > 1 and name not in inner}


def _config(setting: Setting) -> dict[str, Any]:
    return _any_run(setting).settings()


def _any_run(setting: Setting) -> Any:
    return next(iter(setting.runs.values()))


SHOWN = 3
"""So many of a kind are named in a sentence."""


@dataclass(frozen=True)
class Apart:
    """A number whose intervals part two settings, the two that lie farthest apart."""

    key: str
    lower: str
    """Name of the setting."""
    higher: str
    intervals: tuple[Interval, Interval]
    """Of the lower and of the higher."""

    @property
    def gap(self) -> float:
        """Between the intervals, as a share of the scale that the number is drawn on."""
        low, high = scale_of(self.key)
        return self.intervals[0].gap(self.intervals[1]) / (high - low)

    def __str__(self) -> str:
        """As a sentence lists it."""
        lower, higher = self.intervals
        return f"{label_of(self.key)}: {lower} with {self.lower}, {higher} with {self.higher}"


def interval_of(setting: Setting, key: str, compared: int) -> Interval | None:
    """Over seeds where there are several, else over the texts of the one run; None of a number that has neither.

    Args:
        setting: whose number.
        key: of the number.
        compared: as in ``over_texts``.
    """
    if len(setting.summaries) == 1:
        return over_texts(next(iter(setting.summaries.values())), key, compared)
    over = setting.over_seeds(key)
    return None if over is None else over_seeds(over, compared)


def apart(settings: Sequence[Setting], keys: Sequence[str]) -> list[Apart]:
    """The numbers that differ beyond their intervals, those with the widest gap first.

    Args:
        settings: of one alone none differs.
        keys: of the numbers.
    """
    found = [differing for key in keys if (differing := _apart(settings, key)) is not None]
    return sorted(found, key=lambda each: -each.gap)


def _apart(settings: Sequence[Setting], key: str) -> Apart | None:
    known = _intervals(settings, key)
    if len(known) < 2:
        return None
    lower, higher = min(known, key=lambda name: known[name].high), max(known, key=lambda name: known[name].low)
    return Apart(key, lower, higher, (known[lower], known[higher])) if known[higher].apart(known[lower]) > 0 else None


def _intervals(settings: Sequence[Setting], key: str) -> dict[str, Interval]:
    found = {setting.name: interval_of(setting, key, len(settings)) for setting in settings}
    return {name: interval for name, interval in found.items() if interval is not None}


def conclusions(
    settings: Sequence[Setting], keys: Sequence[str], decided: Sequence[Decision], same_texts: bool
) -> list[Conclusion]:
    """Settings, numbers, decisions.

    Args:
        settings: as ``settings_of`` finds them.
        keys: of the numbers.
        decided: what ``decisions`` found.
        same_texts: whether all were tested on the same, as far as is known; else no number is held against another.
    """
    if len(settings) == 1:
        return [Conclusion(f"This is one setting with {len(settings[0].runs)} seeds.", "Nothing but the seed differs.")]
    return [_settings(settings), *([_numbers(settings, keys)] if same_texts else []), *_decisions(decided)]


def _settings(settings: Sequence[Setting]) -> Conclusion:
    by_choice, by_setting = choices_apart(settings), settings_apart(settings)
    single = f"{len(by_setting)} single setting{'s' if len(by_setting) > 1 else ''}"
    named = [*by_choice, *([single] if by_setting else [])]
    said = f"differ in {_listed(named)}" if named else "differ in no setting that makes them what they are"
    figures = "; ".join(f"{name}: {', '.join(_some(values, 'values'))}" for name, values in _first(by_choice, by_setting))
    return Conclusion(f"The {len(settings)} settings {said}.", f"{figures[:1].upper()}{figures[1:]}." if figures else "")


def _first(by_choice: Differing, by_setting: Differing) -> Iterator[tuple[str, list[str]]]:
    yield from by_choice.items()
    yield from islice(by_setting.items(), SHOWN)


def _numbers(settings: Sequence[Setting], keys: Sequence[str]) -> Conclusion:
    known = sum(len(_intervals(settings, key)) > 1 for key in keys)
    if not known:
        why = "None has an interval, which takes a second seed, or evidence."
        return Conclusion("It is not known which numbers differ.", why)
    found = apart(settings, keys)
    how = f"Intervals are over {_over(settings)}. They are so wide that equal settings lie apart in about one of 20 numbers."
    if not found:
        which = f"None of {known} numbers" if known > 1 else "The number"
        return Conclusion(f"{which} {'differs' if known > 1 else 'does not differ'} by more than its intervals.", how)
    told = f"{_count(len(found), known)} by more than {'its' if len(found) == 1 else 'their'} intervals"
    return Conclusion(f"{told}.", f"{'; '.join(map(str, found[:SHOWN]))}. {how}")


def _count(found: int, known: int) -> str:
    return f"{found} of {known} numbers {'differs' if found == 1 else 'differ'}"


def _over(settings: Sequence[Setting]) -> str:
    """What an interval would be another with."""
    several = sum(len(setting.summaries) > 1 for setting in settings)
    if several == len(settings):
        return "seeds"
    texts = "the texts of one seed, and say nothing of another seed"
    return f"seeds, or where a setting has one, over {texts}" if several else texts


def _decisions(decided: Sequence[Decision]) -> Iterator[Conclusion]:
    """By p-values that are multiplied by the number of tests (Bonferroni)."""
    tested = {each: min(1.0, each.test.p_value * _tests(decided)) for each in decided if each.test is not None}
    if not tested:
        return
    differing = [each for each, p in tested.items() if p < LEVEL and each.test is not None and each.test.favours]
    surest = min(tested, key=lambda each: tested[each])
    assert surest.test is not None
    corrected = f"{p_value(tested[surest])}{f', corrected for {len(tested)} tests' if len(tested) > 1 else ''}"
    counted = f"of {surest.instances:,} {'sentences' if surest.tagging else 'texts'}"
    only = f"{surest.pair[0]} alone is better on {surest.test.only_first:,} {counted}, {surest.pair[1]} alone on"
    figures = f"With seed {surest.seed}, {only} {surest.test.only_second:,} ({corrected})."
    if len(tested) == 1:
        better = surest.pair[0] if surest.test.favours > 0 else surest.pair[1]
        said = f"{better} decides better by more than chance" if differing else "Neither is shown to decide better"
    else:
        said = f"{len(differing)} of {len(tested)} pairs of runs differ in their decisions by more than chance"
    yield Conclusion(f"{said}.", figures)


def _tests(decided: Sequence[Decision]) -> int:
    return sum(each.test is not None for each in decided)


def _some(names: list[str], what: str) -> list[str]:
    """The first, and how many more."""
    rest = len(names) - SHOWN
    return names if rest <= 0 else [*names[:SHOWN], f"{rest} more {what if rest > 1 else what.removesuffix('s')}"]


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


MARKS = "os^Dv*PX"


def write_comparison(path: Path, runs: Sequence[RunFolder]) -> None:
    """Write the page that sets runs side by side.

    Args:
        path: of the page.
        runs: two or more; those that differ in their seed alone are one setting.
    """
    settings = settings_of(runs)
    keys = shared_keys(settings)
    compared, note = decisions(settings), other_texts(settings)
    differing = [each.key for each in apart(settings, keys)] if note is None else []
    page = {
        "settings": settings,
        "conclusions": conclusions(settings, keys, compared, note is None),
        "other_texts": note,
        "other_orders": other_orders(settings, keys),
        "links": {each.name: _links(path, each) for each in settings},
        "differing": _groups(settings, [key for key in keys if key in differing]),
        "others": _groups(settings, [key for key in keys if key not in differing]),
        "meanings": [(described()[key].title, described()[key].means) for key in keys],
        "figure": to_svg(dots(settings, keys)),
        "decisions": [each for each in compared if each.test is not None],
        "unpaired": [each for each in compared if each.same is False],
        "pairs": list(combinations([each.name for each in settings], 2)),
        "differences": differences(settings, keys),
    }
    write_text(path, render("comparison.html", **page, long=LONG, p_value=p_value))


def _links(page: Path, setting: Setting) -> list[tuple[int, str | None]]:
    """Each seed with its report as seen from the page, where there is one."""
    return [(seed, link_between(page, run.report)) for seed, run in sorted(setting.runs.items())]


def _groups(settings: Sequence[Setting], keys: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a table by question: name and one cell a setting."""
    experiments = dict.fromkeys([*QUESTIONS, *(key.split("/")[0] for key in keys)])
    groups = [
        {
            "experiment": experiment,
            "question": QUESTIONS.get(experiment, ""),
            "rows": [
                {"name": described()[key].title, "cells": [_cell(each, key) for each in settings]}
                for key in keys if key.split("/")[0] == experiment
            ],
        }
        for experiment in experiments
    ]  # fmt: skip
    return [group for group in groups if group["rows"]]


def _cell(setting: Setting, key: str) -> str:
    """Mean and spread over seeds; of one seed the mean over its texts and its interval."""
    only = over_texts(next(iter(setting.summaries.values())), key) if len(setting.summaries) == 1 else None
    return cell(setting.over_seeds(key)) if only is None else str(only)


def dots(settings: Sequence[Setting], keys: Sequence[str]) -> Figure:
    """Every seed of every setting as a mark, one line a number, numbers of one scale in one panel.

    Args:
        settings: told apart by mark and colour.
        keys: of the numbers to draw.
    """
    panels: dict[tuple[float, float], list[str]] = {}
    for key in keys:
        panels.setdefault(scale_of(key), []).append(key)
    heights = [len(drawn) for drawn in panels.values()]
    figure = Figure(figsize=(9, 1.2 + 0.32 * sum(heights) + 0.5 * len(panels)), layout="constrained")
    grid = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axes, (scale, drawn) in zip(grid, panels.items(), strict=True):
        for place, setting in enumerate(settings):
            shift = 0.25 * (place - (len(settings) - 1) / 2) / max(1, len(settings) - 1)
            points = [
                (value, line + 2 * shift)
                for line, key in enumerate(drawn)
                for summary in setting.summaries.values()
                if (value := value_of(summary, key)) is not None
            ]
            x, y = zip(*points, strict=True) if points else ((), ())
            colour, mark = CLASS_COLOURS[place % len(CLASS_COLOURS)], MARKS[place % len(MARKS)]
            axes.plot(x, y, mark, markersize=5, alpha=0.8, label=setting.name, color=colour, mec="black", mew=0.4)
        axes.set_yticks(range(len(drawn)), [label_of(key) for key in drawn], fontsize=8)
        axes.set_ylim(len(drawn) - 0.5, -0.5)
        axes.set_xlim(*scale)
        axes.grid(axis="y", linewidth=0.3)
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside upper left", ncols=min(4, len(settings)), frameon=False)
    return figure


def differences(settings: Sequence[Setting], keys: Sequence[str]) -> list[tuple[str, list[str]]]:
    """For every number, how many seed spreads lie between every two settings; numbers without any left out."""
    rows = []
    for key in keys:
        known = [each.over_seeds(key) or OverSeeds.of([]) for each in settings]
        apart = [in_seed_spreads(first, second) for first, second in combinations(known, 2)]
        if not all(map(math.isnan, apart)):
            rows.append((label_of(key), ["–" if math.isnan(each) else f"{each:+.1f}".replace("-", "−") for each in apart]))
    return rows
