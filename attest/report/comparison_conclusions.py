"""What a page of several settings says: what they differ in, which numbers differ beyond their intervals, which decisions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from attest.measures.numbers import p_value
from attest.report.collection import Setting
from attest.report.conclusion import Conclusion
from attest.report.decisions import Decision
from attest.report.described import label_of
from attest.report.intervals import Interval, over_seeds, over_texts
from attest.report.pairing import LEVEL
from attest.report.settings_apart import Differing, choices_apart, settings_apart
from attest.report.value import value_of
from attest.report.verdict import scale_of

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
    values = [value for summary in setting.summaries.values() if (value := value_of(summary, key)) is not None]
    if len(setting.summaries) > 1:
        return over_seeds(values, compared)
    return next((over_texts(summary, key, compared) for summary in setting.summaries.values()), None)


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
