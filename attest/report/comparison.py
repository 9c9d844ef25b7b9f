"""Write ``comparison.html``, which shows runs side by side: how their settings differ, which numbers differ by more than their
intervals, and which decisions differ in a paired test.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, groupby, islice
from pathlib import Path
from textwrap import shorten
from typing import Any

from matplotlib.figure import Figure

from attest.core.measures import OverSeeds, in_seed_spreads
from attest.core.measures.comparison import LEVEL
from attest.core.measures.numbers import interval, p_value, rounded
from attest.report.collection import (
    Decided,
    Interval,
    Pairing,
    Setting,
    other_texts,
    over_seeds,
    over_texts,
    paired,
    settings_of,
    shared_keys,
    value_of,
)
from attest.report.controls import baseline, scored
from attest.report.figures import CLASS_COLOURS, to_svg
from attest.report.measured import scale_of
from attest.report.related import LONG, Conclusion, link_between, spelled_out
from attest.report.settings_strip import lines_of, unit_of
from attest.report.summary import DESCRIBED, QUESTIONS, SCORES, label_of
from attest.report.templating import render
from attest.runs.asked import identity
from attest.runs.contents import RunContents
from attest.runs.folder import RunFolder, read_table, write_text
from attest.runs.identity import identity_of
from attest.runs.kinds import kind_in


@dataclass(frozen=True)
class Decision:
    """A comparison of two runs with the same seed and different settings: their decisions on each text."""

    names: tuple[str, str]
    seed: int
    found: Pairing


def decisions(settings: Sequence[Setting]) -> list[Decision]:
    """Compare the decisions of each pair of settings on the test texts, for each seed that both settings have."""
    decided = cache(Decided.by)
    return [
        Decision((first.name, second.name), seed, paired(decided(first.runs[seed]), decided(second.runs[seed])))
        for first, second in combinations(settings, 2)
        for seed in sorted({*first.runs} & {*second.runs})
    ]


CHOICES = {"data": "corpus", "recipe": "recipe", "model": "model", "scoring": "scoring", "projection": "projection"}
"""What the page calls each choice that it compares; the keys are the names of these choices in a configuration."""
DEPENDS = "dependence on a base run"
NOT_SET = "not set"
MEASURED = "experiments."
"""The prefix of the options of experiments. Such an option is only compared between settings (groups of runs) that have all
run the experiment."""
Differing = dict[str, list[str]]
"""The options in which the compared runs differ. The key is the name of an option, the value lists what it is set to, each
value once."""


def choices_apart(settings: Sequence[Setting]) -> Differing:
    """Return the choices, such as corpus and model, that differ between settings, with their values."""
    return _differing([_choices(setting) for setting in settings])


def named_by_choices(settings: Sequence[Setting]) -> list[Setting]:
    """Return settings with names made of the choices that differ, such as ``bilstm · sparsemax``."""
    apart = choices_apart(settings)
    chosen = [[value for name, value in _choices(each).items() if name in apart] for each in settings]
    names = [" · ".join(value for value in values if value not in ("no", NOT_SET)) or "base" for values in chosen]
    return [replace(each, name=name) if names.count(name) == 1 else each for each, name in zip(settings, names, strict=True)]


def settings_apart(settings: Sequence[Setting]) -> Differing:
    """Return the options that differ between settings with equal choices (corpus, model, …), with their values."""
    alike: dict[tuple[str, ...], list[Setting]] = {}
    for setting in settings:
        alike.setdefault(tuple(_choices(setting).values()), []).append(setting)
    found: Differing = {}
    for several in alike.values():
        configured = [setting.any_run.settings for setting in several]
        options = [identity(each) | {"experiments": each.get("experiments"), "run": {}} for each in configured]
        for name, values in _differing([dict(_flat(each)) for each in options]).items():
            if not (name.startswith(MEASURED) and NOT_SET in values):
                found[name] = list(dict.fromkeys([*found.get(name, []), *values]))
    return found


def _choices(setting: Setting) -> dict[str, str]:
    run = setting.any_run.settings.get("run") or {}
    depends = identity_of(setting.any_run).dependent
    return {word: str(run.get(name, NOT_SET)) for name, word in CHOICES.items()} | {DEPENDS: depends or "none"}


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", str(value)


def _differing(described: Sequence[Mapping[str, str]]) -> Differing:
    names = dict.fromkeys(name for each in described for name in each)
    values = {name: list(dict.fromkeys(each.get(name, NOT_SET) for each in described)) for name in names}
    inner = {name for name in names if any(other.startswith(f"{name}.") for other in names)}
    return {name: several for name, several in values.items() if len(several) > 1 and name not in inner}


SHOWN = 3
"""The largest number of items that a sentence of the page lists; it counts the others, or leaves them out."""


def apart(settings: Sequence[Setting], keys: Sequence[str]) -> dict[str, str]:
    """Return a phrase for each number whose intervals do not overlap in two settings; the widest gap comes first.

    A phrase names the two settings whose intervals are farthest apart. A gap is measured on the scale of its number.
    """
    gaps, phrases = {}, {}
    for key in keys:
        known = _intervals(settings, key)
        if len(known) > 1:
            lower, higher = min(known, key=lambda name: known[name].high), max(known, key=lambda name: known[name].low)
            if known[higher].apart(known[lower]) > 0:
                start, end = scale_of(key)
                gaps[key] = (known[higher].low - known[lower].high) / (end - start)
                phrases[key] = f"{label_of(key)}: {known[lower]} with {lower}, {known[higher]} with {higher}"
    return {key: phrases[key] for key in sorted(gaps, key=lambda key: -gaps[key])}


def _intervals(settings: Sequence[Setting], key: str) -> dict[str, Interval]:
    """Return a number's confidence interval for each setting: over seeds, or over texts if there is one seed."""
    found = {}
    for setting in settings:
        if len(setting.summaries) == 1:
            (summary,) = setting.summaries.values()
            found[setting.name] = over_texts(summary, key, len(settings))
        elif (over := setting.over_seeds(key)) is not None:
            found[setting.name] = over_seeds(over, key, len(settings))
    return {name: interval for name, interval in found.items() if interval is not None}


def conclusions(
    settings: Sequence[Setting], keys: Sequence[str], decided: Sequence[Decision], same_texts: bool
) -> list[Conclusion]:
    """Return conclusions from comparing settings: on their options, their numbers and their decisions."""
    if len(settings) == 1:
        said = f"The {len(settings[0].runs)} runs have the same setting and different seeds."
        return [Conclusion(said, "Nothing but the seed differs.")]
    return [
        _on_settings(settings),
        *_on_verdicts(settings),
        *([_on_numbers(settings, keys)] if same_texts else []),
        *_on_decisions(decided),
    ]


def _on_settings(settings: Sequence[Setting]) -> Conclusion:
    by_choice, by_setting = choices_apart(settings), settings_apart(settings)
    count = f"{len(by_setting)} single setting{'s' if len(by_setting) > 1 else ''}"
    named = [*by_choice, *([count] if by_setting else [])]
    listed = " and ".join(filter(None, [", ".join(named[:-1]), *named[-1:]]))
    said = f"differ in {listed}" if named else "differ only in options that do not change a result"
    shown = []
    for name, values in [*by_choice.items(), *islice(by_setting.items(), SHOWN)]:
        rest = len(values) - SHOWN
        more = [f"{rest} more value{'s' if rest > 1 else ''}"] if rest > 0 else []
        shown.append(f"{name}: {', '.join([*(shorten(value, 40) for value in values[:SHOWN]), *more])}")
    figures = "; ".join(shown)
    return Conclusion(f"The {len(settings)} settings {said}.", f"{figures[:1].upper()}{figures[1:]}." if figures else "")


def _on_verdicts(settings: Sequence[Setting]) -> Iterator[Conclusion]:
    found: dict[str, list[str]] = {}
    for setting in settings:
        by_answer: dict[str, list[str]] = {}
        for seed, summary in setting.summaries.items():
            answer = summary.get("verdict", {}).get("tokens", {}).get("answer")
            if answer is None:
                return
            by_answer.setdefault(answer, []).append(str(seed))
        for answer, seeds in by_answer.items():
            which = f" ({'seeds' if len(seeds) > 1 else 'seed'} {', '.join(seeds)})" if len(by_answer) > 1 else ""
            found.setdefault(answer, []).append(f"{setting.name}{which}")
    said = "Verdicts differ" if len(found) > 1 else f"All settings have the same verdict: “{next(iter(found))}”"
    told = "; ".join(f"{answer}: {', '.join(names)}" for answer, names in found.items())
    yield Conclusion(f"{said}.", f"{told[:1].upper()}{told[1:]}.")


def _on_numbers(settings: Sequence[Setting], keys: Sequence[str]) -> Conclusion:
    known = sum(len(_intervals(settings, key)) > 1 for key in keys)
    if not known:
        why = "No number has a confidence interval, which needs a second seed or evidence."
        return Conclusion("It is not known which numbers differ by more than chance.", why)
    several = sum(len(setting.summaries) > 1 for setting in settings)
    over = "the texts of one seed, and say nothing about another seed"
    if several:
        over = "seeds" if several == len(settings) else f"seeds, or where a setting has one, over {over}"
    how = f"Intervals are over {over}. Even if all settings were equal, about one number in 20 would lie apart by chance."
    found = apart(settings, keys)
    if not found:
        which = f"all {known} numbers" if known > 1 else "the settings"
        return Conclusion(f"The confidence intervals of {which} overlap.", how)
    said = f"For {len(found)} of {known} numbers, the confidence intervals of some settings do not overlap."
    return Conclusion(said, f"{'; '.join(islice(found.values(), SHOWN))}. {how}")


def _on_decisions(decided: Sequence[Decision]) -> Iterator[Conclusion]:
    """Yield one conclusion about differences in decisions; p-values are multiplied by the number of tests (Bonferroni)."""
    tested = [(each, each.found.test) for each in decided if each.found.test is not None]
    if not tested:
        return
    p_values = [min(1.0, test.p_value * len(tested)) for _, test in tested]
    differing = sum(p < LEVEL and test.favours != 0 for p, (_, test) in zip(p_values, tested, strict=True))
    smallest = min(p_values)
    surest, test = tested[p_values.index(smallest)]
    corrected = f"{p_value(smallest)}{f', corrected for {len(tested)} tests' if len(tested) > 1 else ''}"
    counted = f"of {surest.found.instances:,} {'sentences' if surest.found.tagging else 'texts'}"
    only = f"{surest.names[0]} alone is better on {test.only_first:,} {counted}, {surest.names[1]} alone on"
    figures = f"With seed {surest.seed}, {only} {test.only_second:,} ({corrected})."
    if len(tested) > 1:
        said = f"{differing} of {len(tested)} pairs of runs differ in their decisions by more than chance"
    elif differing:
        said = f"The run {surest.names[0 if test.favours > 0 else 1]!r} is right significantly more often than the other run"
    else:
        said = "Neither run is shown to decide better"
    yield Conclusion(f"{said}.", figures)


MARKS = "os^Dv*PX"


def write_comparison(path: Path, runs: Sequence[RunFolder]) -> None:
    """Write the page that compares two or more runs; runs that differ only in their seed are one setting."""
    folders = settings_of(runs)
    settings = named_by_choices(folders)
    keys = shared_keys(settings)
    compared, note = decisions(settings), other_texts(settings)
    differing = apart(settings, keys) if note is None else {}
    page = {
        "settings": settings,
        "folders": [each.name for each in folders],
        "conclusions": spelled_out(conclusions(settings, keys, compared, note is None)),
        "lines": lines_of(settings),
        "unit": unit_of(settings[0]),
        "other_texts": note,
        "links": {
            each.name: [(seed, link_between(path, run.folder.report)) for seed, run in sorted(each.runs.items())]
            for each in settings
        },
        "differing": _groups(settings, [key for key in keys if key in differing]),
        "others": _groups(settings, [key for key in keys if key not in differing]),
        "meanings": [(DESCRIBED[key].title, DESCRIBED[key].means) for key in keys],
        "figure": to_svg(dots(settings, keys)),
        "decisions": [each for each in compared if each.found.test is not None],
        "unpaired": [each for each in compared if each.found.same is False],
        "pairs": list(combinations([each.name for each in settings], 2)),
        "differences": differences(settings, keys),
    }
    write_text(path, render("comparison.html", **page, long=LONG, p_value=p_value))


def _groups(settings: Sequence[Setting], keys: Sequence[str]) -> list[dict[str, Any]]:
    groups = []
    for experiment, several in groupby(keys, lambda key: key.split("/")[0]):
        rows = [{"name": DESCRIBED[key].title, "cells": [_mean(each, key) for each in settings]} for key in several]
        groups.append({"experiment": experiment, "question": QUESTIONS[experiment], "rows": rows})
    return groups


def _mean(setting: Setting, key: str) -> tuple[str, str]:
    """Return a mean with its 95 % interval, and over how many texts or seeds it is; a dash and nothing if it is not known."""
    over = setting.over_seeds(key)
    if over is None:
        return "–", ""
    if len(setting.summaries) > 1:
        found = over_seeds(over, key)
        return rounded(over.mean) if found is None else str(found), f"{over.seeds} seed{'s' if over.seeds > 1 else ''}"
    (summary,), run = setting.summaries.values(), setting.any_run
    test = scored(run, baseline(run)) if key in SCORES else None
    if test is not None and key in test.bounds:
        return interval(over.mean, *test.bounds[key]), f"{test.texts:,} {unit_of(setting)}"
    only = over_texts(summary, key)
    return rounded(over.mean) if only is None else str(only), _counted(run, key, unit_of(setting))


def _counted(run: RunContents, key: str, unit: str) -> str:
    """Return on how many texts of a run's table a number is defined: ``160 texts``; empty if the table is not kept."""
    experiment, _, column = key.partition("/")
    if column not in run.columns(experiment):
        return ""
    several = kind_in(run).asks
    table = run.folder.evidence(experiment)
    rows = read_table(table, [column, "text"] if several else [column]).dropna(subset=[column])
    count = rows["text"].nunique() if several else len(rows)
    return f"{count:,} {unit}"


def dots(settings: Sequence[Setting], keys: Sequence[str]) -> Figure:
    """Draw a dot plot of all measures: one row for each measure, one mark for each setting and seed."""
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
        axes.set_yticks(range(len(drawn)), [label_of(key) for key in drawn], fontsize=9)
        axes.set(xlim=scale, ylim=(len(drawn) - 0.5, -0.5))
        axes.grid(axis="y", linewidth=0.3)
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside upper left", ncols=min(4, len(settings)), frameon=False)
    return figure


def differences(settings: Sequence[Setting], keys: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return the difference of each number between each two settings, in units of its standard deviation over seeds."""
    rows = []
    for key in keys:
        known = [each.over_seeds(key) or OverSeeds.of([]) for each in settings]
        apart = [in_seed_spreads(first, second) for first, second in combinations(known, 2)]
        if not all(map(math.isnan, apart)):
            rows.append((label_of(key), ["–" if math.isnan(each) else f"{each:+.1f}".replace("-", "−") for each in apart]))
    return rows
