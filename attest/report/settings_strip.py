"""The picture of a page of several settings: in how many texts attention is right under each, and how well each decides."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from attest.core.measures import OverSeeds
from attest.report.collection import Setting, over_seeds
from attest.report.controls import baseline, scored
from attest.report.measured import published
from attest.runs.identity import identity_of
from attest.runs.kinds import kind_in

ACCURACY, RIGHT = "test/accuracy", "E19/right"
"""Two keys of a summary: of the accuracy, and of the share of texts in which the explanation is right. The second is also used
to look up that shares lie in [0, 1]."""


class Placed(NamedTuple):
    """A share on an axis from 0 to 1, with its interval and what this is over."""

    value: float
    low: float | None
    """The lower end of the share's confidence interval; None if no interval is known, and then ``high`` is None, too."""
    high: float | None
    of: str
    """What the share is a mean over, in words: ``160 texts`` or ``3 seeds``."""


class Line(NamedTuple):
    """A setting in the picture."""

    name: str
    right: Placed | None
    """The share of texts, with its interval, in which attention points at the words that decide, among the texts that have
    such words; None if a run of this setting has no verdict."""
    random: Placed | None
    """The same share for a random order of the words in place of attention; None if the run of a seed has none."""
    accuracy: Placed | None
    published: str
    """The accuracy of this setting in a paper, with its source, as text; empty if no comparable number is published."""


def lines_of(settings: Sequence[Setting]) -> list[Line]:
    """Return a line for each setting; empty if no setting has a verdict."""
    lines = []
    for each in settings:
        unit = unit_of(each)
        verdicts = [summary.get("verdict", {}).get("tokens", {}) for summary in each.summaries.values()]
        shares = [verdict | {"value": verdict["share"]} for verdict in verdicts if verdict.get("share") is not None]
        random = [verdict["random"] for verdict in verdicts if verdict.get("random")]
        known = len(shares) == len(verdicts)
        lines.append(
            Line(
                each.name,
                _shares(shares, unit) if known else None,
                _shares(random, unit) if len(random) == len(verdicts) else None,
                _accuracy(each),
                _published(each),
            )
        )
    return lines if any(line.right for line in lines) else []


def unit_of(setting: Setting) -> str:
    """Return what the numbers of a setting are means over: ``texts``, or ``sentences`` of taggers."""
    return kind_in(setting.any_run).units


def _shares(found: Sequence[Mapping[str, Any]], unit: str) -> Placed:
    if len(found) == 1:
        (one,) = found
        return Placed(one["value"], one["low"], one["high"], f"{one['texts']:,} {unit}")
    return _over_seeds([each["value"] for each in found], RIGHT)


def _over_seeds(values: Sequence[float], key: str) -> Placed:
    over = OverSeeds.of(values)
    interval = over_seeds(over, key)
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return Placed(over.mean, low, high, f"{over.seeds} seeds")


def _accuracy(setting: Setting) -> Placed | None:
    values = [summary[ACCURACY] for summary in setting.summaries.values() if ACCURACY in summary]
    if len(values) != 1:
        return _over_seeds(values, ACCURACY) if values else None
    found = scored(setting.any_run, baseline(setting.any_run))
    if found is None or ACCURACY not in found.bounds:
        return Placed(values[0], None, None, "one seed")
    return Placed(values[0], *found.bounds[ACCURACY], f"{found.texts:,} {unit_of(setting)}")


def _published(setting: Setting) -> str:
    run = identity_of(setting.any_run)
    found = None if run.kind or run.variant else published(run.data, run.full_name).get(ACCURACY)
    return "" if found is None or not found.comparable else f"{found.value} ({found.source})"
