"""Return the table of measures: each number of a run with its definition, interval, controls and published number."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from attest.core.kinds import CLASSES, Kind
from attest.core.measures import summarise
from attest.core.measures.numbers import interval, number, percent, rounded
from attest.experiments.registry import measures
from attest.experiments.stopping import ALL, READ
from attest.report.collection import PARTS, within
from attest.report.controls import SCORE_NAMES, ControlNumber, Controls, scores_line
from attest.report.panels import PANELS
from attest.report.summary import DESCRIBED, QUESTIONS, SCORES, range_of
from attest.runs.asked import portable
from attest.runs.identity import identity_of
from attest.runs.published_tables import Publication, PublishedRow, every_published_number


@dataclass(frozen=True)
class Published:
    """A published number with which a number of the run is compared."""

    value: str
    """The number as it was published, such as ``0.35 ± 0.21``. What follows ±, if anything does, is the spread over
    instances."""
    source: str
    comparable: bool = True
    why: str = ""
    """In what the published run differs from this one, such as the recipe; empty if the two numbers can be compared."""


def published(data: str, name: str) -> dict[str, Published]:
    """Return the published numbers for a run by summary key; empty if there are none.

    If several numbers are published, a comparable one is preferred, then one of the same recipe.
    """
    recipe, _, model = name.partition("-")
    candidates = [
        (row.run["RECIPE"] == recipe, column.key, _beside(quoted.text, source, row, recipe))
        for row, corpus, column, source, quoted in every_published_number()
        if corpus == data and column.key and model_name(row) == model
    ]
    found: dict[str, Published] = {}
    for _, key, each in sorted(candidates, key=lambda one: (not one[2].comparable, not one[0])):
        found.setdefault(key.removesuffix("/mean"), each)
    return found


def model_name(row: PublishedRow) -> str:
    """Return ``<model>-<scoring>-<projection>`` of a row of published numbers; empty if the row has other settings."""
    if row.sweep is not None or row.then or row.run.keys() != {"MODEL", "SCORING", "PROJECTION", "RECIPE"}:
        return ""
    return portable(f"{row.run['MODEL']}-{row.run['SCORING']}-{row.run['PROJECTION']}")


def _beside(text: str, source: Publication, row: PublishedRow, recipe: str) -> Published:
    likeness, their_recipe = source.likeness_to(row.run), row.run["RECIPE"]
    differs = [likeness.why] if likeness.why else []
    differs += ["not published"] if source.own else []
    differs += [f"RECIPE={their_recipe} there"] if their_recipe != recipe else []
    return Published(text, source.citation, not differs, "; ".join(differs))


def scale_of(key: str) -> tuple[float, float]:
    """Return the ends of the scale on which a measure is drawn; 0 and 1 if the measure has no upper bound."""
    low, high = range_of(key)
    return (0.0, 1.0) if math.isinf(high) else (low, high)


@dataclass(frozen=True)
class Line:
    """A row of the verdict table: a number of a run with its interval and the numbers to compare it with."""

    key: str
    name: str
    ours: str
    value: float | None
    means: str
    misread: str = ""
    detail: str = ""
    bounds: tuple[float, float] | None = None
    """The ends of the 95 % confidence interval of ``value``; None if it is undefined or not known."""
    controls: list[ControlNumber] = field(default_factory=list)
    published: Published | None = None

    @property
    def experiment(self) -> str:
        """Return the id of the experiment, E1 … E19, or ``test`` for scores."""
        return self.key.split("/")[0]

    @property
    def scale(self) -> tuple[float, float]:
        """Return the ends of the scale on which the measure is drawn."""
        return scale_of(self.key)

    def place(self, value: float | None) -> float | None:
        """Return the position of a value on the scale, in percent of the scale's length; None if it lies outside."""
        low, high = self.scale
        return None if value is None or not low <= value <= high else round(100 * (value - low) / (high - low), 2)

    @property
    def span(self) -> tuple[float, float] | None:
        """Return the interval's start and width on the scale, in percent; None if there is no interval."""
        if self.bounds is None:
            return None
        low, high = self.scale
        left, right = self.place(max(low, self.bounds[0])), self.place(min(high, self.bounds[1]))
        return None if left is None or right is None else (left, round(right - left, 2))


@dataclass(frozen=True)
class Group:
    """A group of table rows that answer the question of one experiment."""

    experiment: str
    question: str
    lines: list[Line]

    @property
    def defined(self) -> list[Line]:
        """Return the rows that have a number."""
        return [line for line in self.lines if line.value is not None and not math.isnan(line.value)]

    @property
    def undefined(self) -> list[str]:
        """Return the names of the rows that have no number."""
        return [line.name for line in self.lines if line not in self.defined]


def measured(controls: Controls, class_names: Sequence[str], kind: Kind = CLASSES) -> list[Group]:
    """Return the rows of the verdict table, grouped by experiment and worded for a kind; the test scores come first."""
    summary, run = controls.summary | controls.between_seeds, identity_of(controls.run)
    theirs = {} if run.kind else published(run.data, run.full_name)
    lines = uniform_control(controls)
    scored, held = controls.scored, controls.held
    for key, score in SCORES.items():
        if key in summary:
            bounds = None if scored is None else scored.bounds.get(key)
            ours = number(summary[key]) if bounds is None else interval(summary[key], *bounds)
            detail = "" if scored is None else f"n = {scored.texts:,}" + (" sentences" if held and held.tagging else "")
            lines.append(Line(key, score.title, ours, summary[key], score.means, score.misread, detail,
                              bounds, controls.of(key), theirs.get(key)))  # fmt: skip
    for key, measure in measures().items():
        if f"{key}/mean" in summary:
            mean, low, high = (summary.get(f"{key}/{part}") for part in PARTS)  # published runs have kept no interval
            if low is not None and high is not None:
                low, high = within(key, low, high)
            bounds = None if low is None or high is None or low == high else (low, high)
            detail = _detail(summary, key, class_names, kind)
            lines.append(Line(key, measure.title, interval(mean, low, high), mean, measure.means, measure.misread, detail,
                              bounds, controls.of(key), theirs.get(key)))  # fmt: skip
    lines = [_worded(line, kind) for line in lines]
    groups = []
    for name in [*QUESTIONS, *sorted({line.experiment for line in lines} - {*QUESTIONS})]:
        mine = [line for line in lines if line.experiment == name]
        if mine or (name == "E4" and not controls.of_trial):
            groups.append(Group(name, QUESTIONS.get(name, ""), mine))
    return groups


def _worded(line: Line, kind: Kind) -> Line:
    return replace(line, name=kind.worded(line.name), means=kind.worded(line.means), misread=kind.worded(line.misread))


def uniform_control(controls: Controls) -> list[Line]:
    """Return the row with the accuracy under uniform attention (E4); empty if no such model was trained."""
    name, means = "Accuracy with uniform attention", "The control that says whether the rest means anything."
    misread = "A task that needs no attention cannot show that attention is an explanation, nor that it is not."
    if controls.is_uniform:
        return [Line("E4/accuracy", name, "this run", controls.summary.get("test/accuracy"), means, misread)]
    if controls.uniform is None:
        return []
    value, mine = (summary.get("test/accuracy") for summary in (controls.uniform, controls.summary))
    ours = ControlNumber("this run", number(mine), mine)
    held = controls.held_uniform
    bounds = None if held is None else held.bounds
    said = number(value) if bounds is None else interval(value, *bounds)
    return [Line("E4/accuracy", name, said, value, means, misread, bounds=bounds, controls=[ours])]


def share(key: str, name: str, values: pd.Series, means: str, control: ControlNumber) -> Line:
    """Return the table row of a share: its mean over texts in percent, with a confidence interval.

    Args:
        values: the share of each text, in [0, 1], NaN if undefined; at least one is defined.
    """
    mean, bounds = _mean_of(values)
    return Line(key, name, share_with_interval(values), mean, means, bounds=bounds, controls=[control])


def share_with_interval(values: pd.Series, digits: int | None = 1) -> str:
    """Return the mean of shares in percent with its 95 % interval, ``46.0 % [35.1 %, 57.0 %]``; at least one is defined.

    Args:
        digits: as in ``percent``.
    """
    mean, bounds = _mean_of(values)
    ends = "" if bounds is None else f" [{', '.join(percent(end, digits) for end in bounds)}]"
    return f"{percent(mean, digits)}{ends}"


def _mean_of(shares: pd.Series) -> tuple[float, tuple[float, float] | None]:
    found = summarise(pd.DataFrame({"share": shares}))
    mean, low, high = (found[f"share/{part}"] for part in PARTS)
    return mean, None if math.isnan(low) or low == high else (low, high)


def _detail(summary: dict[str, Any], key: str, class_names: Sequence[str], kind: Kind) -> str:
    predicted, asked = f"{key}/mean/predicted_", f"{key}/mean/asked_"
    by_class = [
        f"{class_names[int(k.removeprefix(predicted))]} {number(v)}" for k, v in summary.items() if k.startswith(predicted)
    ]
    by_label = [f"{k.removeprefix(asked)} {number(v)}" for k, v in summary.items() if k.startswith(asked)]
    undefined = [f"undefined on {summary[f'{key}/nan']:.0f}"] if summary.get(f"{key}/nan") else []
    groups = by_class or by_label
    rest = [f"{len(groups) - PANELS} more in summary.json"] if len(groups) > PANELS else []
    by = "predicted" if by_class else "label"
    classes = [f"{by} {', '.join([*groups[:PANELS], *rest])}"] if groups else []
    read, of = (summary.get(f"{key.partition('/')[0]}/{count}") for count in (READ, ALL))
    stopped = [] if read is None else [f"{read:,.0f} of {of:,.0f} {kind.units}"]
    spread = summary.get(f"{key}/std")
    return "; ".join([*([] if spread is None else [f"± {number(spread)}"]), *classes, *undefined, *stopped])


EVIDENCE = re.compile(r"(?P<experiment>\w+)/(?:validation|test)/(?P<column>.+)/mean")
COLUMNS = "Other names are columns of evidence tables; “What a run leaves in numbers” in the documentation describes them."
GAP = "  "


def scored(split: str, numbers: Mapping[str, float]) -> Iterator[str]:
    """Yield the lines for a terminal that show the scores and the means of all measures."""
    if line := scores_line(split, numbers):
        yield line
    of_evidence = {key: match for key in numbers if (match := EVIDENCE.fullmatch(key))}
    told = {f"{split}/{metric}" for metric in SCORE_NAMES} | of_evidence.keys()
    others = {key.removeprefix(f"{split}/"): value for key, value in sorted(numbers.items()) if key not in told}
    if others:
        yield f"{'Also:':<12}{', '.join(f'{name} {value:.4f}' for name, value in others.items())}"
    if of_evidence:
        yield from _evidence({(match["experiment"], match["column"]): numbers[key] for key, match in of_evidence.items()})
        yield COLUMNS


def _evidence(means: Mapping[tuple[str, str], float]) -> Iterator[str]:
    order = [*(tuple(key.split("/")) for key in DESCRIBED), *sorted(means)]
    asked = dict.fromkeys([*QUESTIONS, *(experiment for experiment, _ in sorted(means))])
    for experiment in asked:
        columns = dict.fromkeys(column for name, column in order if name == experiment and (name, column) in means)
        if columns:
            yield f"{experiment}{GAP}{QUESTIONS.get(experiment, '')}".rstrip()
        for column in columns:
            measure = DESCRIBED.get(f"{experiment}/{column}")
            yield f"{GAP}{measure.title if measure else column:<60} {rounded(means[experiment, column])}"
