"""Find the controls of a run, its numbers for comparison: a constant answer, chance, uniform attention and other seeds."""

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from attest.core.kinds import CLASSES, Bounds, Kind, Scored
from attest.core.kinds.kind import number_told, share_told
from attest.core.measures import Learned, Majority, OverSeeds, against_majority, classes_apart
from attest.core.measures.comparison import LEVEL
from attest.core.measures.numbers import number, p_value, percent, spread
from attest.core.measures.summary import share_interval
from attest.experiments.registry import measures
from attest.report.collection import decisions_in, tested, value_of
from attest.report.score_bounds import classes_in, score_bounds
from attest.report.summary import SCORES
from attest.runs.asked import identity
from attest.runs.belonging import require_together
from attest.runs.choices import are_plain
from attest.runs.contents import RunContents
from attest.runs.folder import TRIAL, RunFolder, read_json
from attest.runs.identity import typed_of
from attest.runs.kinds import kind_in

SCORE_NAMES = {
    "accuracy": "accuracy",
    "f1": "F1",
    "chunk_f1": "chunk F1",
    "token_f1": "F1 of tokens",
    "roc_auc": "ROC-AUC",
    "pearson": "Pearson's r",
    "spearman": "Spearman's ρ",
    "rmse": "RMSE",
}
UNDEFINED = {
    "f1": "no text is positive, and the model predicts no text as positive",
    "chunk_f1": "no chunk is there or predicted, or the tags are not B-, I- and O",
    "token_f1": "no token has a tag or is given one",
    "roc_auc": "one class only",
    "pearson": "all labels are the same",
    "spearman": "all labels are the same",
}
"""For sentences of the report: why a score can be undefined, by the name of the score."""


@dataclass(frozen=True)
class Baseline:
    """A comparison of a model with the constant answer that fits the test labels best."""

    majority: Majority
    answer: str
    only: str | None
    """The name of the class, if the model predicts the same class for all instances; else None."""
    instances: int
    """The number of texts, or of sentences if the model is a tagger."""
    tagging: bool
    apart: Learned | None = None
    """The test of whether the model tells the classes apart better than chance; None for a tagger, and if all texts have the
    same label."""
    bounds: tuple[float, float] | None = None
    """The ends of the 95 % confidence interval of the model's accuracy, over texts or sentences; None if there is only one."""

    @property
    def of(self) -> str:
        """Return what the accuracy counts: ``1,000 test texts``."""
        return f"the tokens of {self.instances:,} test sentences" if self.tagging else f"{self.instances:,} test texts"

    @property
    def accuracy(self) -> str:
        """Return the accuracy with its interval, in words: ``80.0 % [78.1 %, 81.9 %]``."""
        said = percent(self.majority.accuracy, 1)
        return said if self.bounds is None else f"{said} [{', '.join(percent(each, 1) for each in self.bounds)}]"

    @property
    def learned(self) -> bool:
        """Return whether the model has learned its task: it tells classes apart, or a tagger beats a constant answer."""
        return self.majority.better if self.apart is None else self.apart.p_value < LEVEL

    @property
    def test(self) -> str:
        """Return the name and the p-value of the test against the best constant answer."""
        return tested(self.majority.test, self.tagging)


def baseline(run: RunContents) -> Baseline | None:
    """Compare a run with the best constant answer on its test texts; return None if texts or labels are unknown.

    Also return None if there is no constant answer to compare with: if the model returns one number, answers by a span of the
    text, or decides about pairs of a text and a label.
    """
    rows, kind = run.decided, kind_in(run)
    if rows is None or not kind.constant or not {kind.label, kind.predicted} <= {*rows}:
        return None
    gold, predicted, lengths = decisions_in(rows, kind)
    names, majority = classes_in(run), against_majority(gold, predicted, lengths)
    only = None if majority.only is None else names[majority.only]
    apart = None
    if lengths is None:
        probabilities = rows[[f"probability_{name}" for name in names]].to_numpy()
        apart = classes_apart(gold, predicted, probabilities)
    count = len(gold if lengths is None else lengths)
    sentences = None if lengths is None else np.repeat(np.arange(count), lengths)
    bounds = share_interval((gold == predicted).astype(float), sentences) if count > 1 else None
    return Baseline(majority, names[majority.label], only, count, lengths is not None, apart, bounds)


def scored(run: RunContents, held: Baseline | None) -> Scored | None:
    """Return the intervals of all test scores of a run, as ``score_bounds`` does, with that of the accuracy of ``held``."""
    found = score_bounds(run)
    if found is None or held is None or held.bounds is None:
        return found
    return found._replace(bounds=found.bounds | {"test/accuracy": held.bounds})


def scores_line(split: str, numbers: Mapping[str, float | None], bounds: Bounds | None = None) -> str | None:
    """Return the scores of a split as a line, ``Test:       accuracy 0.8010, F1 0.8000``; None if there are no scores.

    Args:
        bounds: the 95 % interval of each score, by key, which then stands behind it: ``[0.7749, 0.8253]``.
    """
    names = {key.removeprefix("test/"): score.title for key, score in SCORES.items()}
    names = SCORE_NAMES | {metric: title for metric, title in names.items() if metric not in SCORE_NAMES}
    known = {metric: numbers[f"{split}/{metric}"] for metric in names if f"{split}/{metric}" in numbers}
    ends = {key: f" [{low:.4f}, {high:.4f}]" for key, (low, high) in (bounds or {}).items()}
    told = {metric: f"{_value(metric, value, '.4f')}{ends.get(f'{split}/{metric}', '')}" for metric, value in known.items()}
    scores = ", ".join(f"{names[metric]} {value}" for metric, value in told.items())
    return f"{split.title() + ':':<12}{scores}" if any(value is not None for value in known.values()) else None


def _value(metric: str, value: float | None, style: str) -> str:
    if value is None or math.isnan(value):
        return f"undefined: {UNDEFINED.get(metric, 'no instances')}"
    return format(value, style)


def last_words(run: RunContents) -> list[str]:
    """Return a line of test scores, with warnings if the model is not shown to beat a constant answer."""
    held = baseline(run)
    found = scored(run, held)
    scores = scores_line("test", run.summary, None if found is None else found.bounds)
    if scores is None or found is None:
        return [] if scores is None else [scores]
    if held is None:
        return [f"{scores} on {found.texts:,} test texts"]
    first = f"{scores} on {held.of}; always “{held.answer}” would have accuracy {held.majority.share:.4f}"
    return [first, *(f"Warning:    {each[0].lower()}{each[1:]}" for each in warnings(held))]


def warnings(held: Baseline) -> list[str]:
    """Return a warning if the model is not shown to be better than a constant answer; else an empty list."""
    said = [] if held.only is None else [f"The model predicts “{held.only}” every time."]
    little = "What is measured on a model that has not learned its task says little."
    if held.apart is not None and not held.learned:
        said.append(f"It is not shown to tell the classes apart better than chance ({p_value(held.apart.p_value)}). {little}")
    elif not held.learned:
        said.append(
            f"Its accuracy is not shown to be better than that of always answering “{held.answer}”, the most frequent label "
            f"({held.test}). {little}"
        )
    elif held.apart is not None and held.apart.little:
        said.append(
            f"The model has learned little: its balanced accuracy is {percent(held.apart.balanced)}, and chance is "
            f"{percent(held.apart.chance)}."
        )
    return said


def sentence(
    held: Baseline | None, summary: dict[str, float], found: Scored | None = None, kind: Kind = CLASSES
) -> str | None:
    """Return a sentence that says whether the model is better than a constant answer; None without test scores.

    Args:
        found: the intervals of the test scores, as ``scored`` returns them.
        kind: what the model decides.
    """
    if summary.get(f"test/{kind.score}") is None:
        return None
    if kind.told is not None:
        return kind.told(summary, found)
    if held is None:
        return (
            f"Not known: the accuracy of the model is {percent(summary['test/accuracy'], 1)}. This folder has no table of the "
            "test texts, so the accuracy of always giving the same answer is not known."
        )
    majority, units = held.majority, "tokens" if held.tagging else "test texts"
    said = (
        f"The model decides {held.accuracy} of {held.of} rightly; always answering “{held.answer}”, the most "
        f"frequent label of these {units}, would be right on {percent(majority.share, 1)} ({held.test})."
    )
    if summary.get("test/chunk_f1") is not None:
        said = f"{said} The F1 of its chunks is {share_told('test/chunk_f1', summary, found)}."
    only = "" if held.only is None else f" The model predicts “{held.only}” every time."
    if held.learned and held.apart is not None and not majority.better:
        return (
            f"In part. The model ranks the texts of a class above others (Mann-Whitney test: {p_value(held.apart.p_value)}), "
            f"but it is not shown to be right more often than a constant answer. {said}{only}"
        )
    if held.learned:
        return f"Yes. {said}{only}"
    roc_auc = summary.get("test/roc_auc")
    chance = "" if roc_auc is None else "; chance is 0.5"
    told = _value("roc_auc", None, "") if roc_auc is None else number_told("test/roc_auc", summary, found)
    area = f" Its ROC-AUC is {told}{chance}." if "test/roc_auc" in summary else ""
    return (
        f"Not shown. {said}{only}{area} What is measured below on a model that has not learned its task says little about "
        "attention."
    )


@dataclass(frozen=True)
class ControlNumber:
    """A number, such as chance, with which a measured number is compared."""

    name: str
    text: str
    """The number as it is written on the page."""
    value: float | None = None
    """The number as a float; None if it is undefined."""


NAMES = {"uniform": "uniform attention", "seeds": "other seeds"}
"""What the page calls the two controls that must be trained, which are runs to compare a run with; the keys are the kinds of
controls."""


class Controls:
    """The comparison numbers (controls) of one run, such as those of the same model with uniform attention."""

    def __init__(self, run: RunContents, held: Baseline | None = None) -> None:
        self.run, self.summary, self.held = run, run.summary, held
        self.of_trial = TRIAL in run.settings
        """Whether this is a trial, a test of a model that was trained elsewhere. Then no controls (runs to compare it with)
        can be trained here."""
        self.is_uniform = run.settings["run"]["projection"] == "uniform"
        self._base = _base(run)
        self.uniform_run = None if self.is_uniform else _uniform_twin(self._base)
        self.uniform = None if self.uniform_run is None else self.uniform_run.summary
        names = [path.parent.name for path in sorted(run.folder.setting.glob("seed*/summary.json"))]
        others = {name: RunFolder(run.folder.setting / name) for name in names if name != run.folder.path.name}
        require_together([*others.values()])
        self.seeds = [read_json(others[name].summary) if name in others else run.summary for name in names]
        compared = self._base.folder.path / "controls" / run.folder.summary.name
        found = read_json(compared) if compared.is_file() else {}
        self.between_seeds = {key: value for key, value in found.items() if key.startswith("E5/")}
        """The numbers of experiment E5 by summary key: how far the attention of the base run is from that of its runs with
        other seeds. Empty if ``attest controls`` has not been run."""

    def of(self, key: str) -> list[ControlNumber]:
        """Return the known comparison numbers (controls) for one number, such as its value with uniform attention."""
        known = []
        if key == "test/accuracy" and self.held is not None:
            share = self.held.majority.share
            known.append(ControlNumber(f"always “{self.held.answer}”", number(share), share))
        measure = measures().get(key)
        if measure is not None and measure.beside is not None:
            name, column = measure.beside
            other = f"{key.split('/')[0]}/{column}/mean"
            if other in self.summary:
                known.append(ControlNumber(name, number(self.summary[other]), self.summary[other]))
        if self.uniform is not None:
            value = value_of(self.uniform, key)
            known.append(ControlNumber(NAMES["uniform"], number(value), value))
        values = [value for summary in self.seeds if (value := value_of(summary, key)) is not None]
        if len(values) >= 2:
            over = OverSeeds.of(values)
            known.append(ControlNumber(f"{over.seeds} seeds", spread(over.mean, over.std), over.mean))
        elif len(self.seeds) >= 2:
            known.append(ControlNumber(NAMES["seeds"], number(None)))
        return known

    @cached_property
    def scored(self) -> Scored | None:
        """Return the intervals of the test scores, and over how many texts they are; None if no labels are kept."""
        return scored(self.run, self.held)

    @cached_property
    def held_uniform(self) -> Baseline | None:
        """Return the accuracy of the run with uniform attention, as ``baseline`` does; None if it is not known."""
        return None if self.uniform_run is None else baseline(self.uniform_run)

    @cached_property
    def not_run(self) -> dict[str, str]:
        """Return the names of the control runs that are missing, by kind: ``uniform`` attention or other ``seeds``."""
        if self.of_trial:
            return {}
        missing = {"uniform": not self.is_uniform and self.uniform is None, "seeds": len(self.seeds) < 2}
        return {kind: name for kind, name in NAMES.items() if missing[kind]}

    @cached_property
    def commands(self) -> dict[str, str]:
        """Return the commands that train the missing control runs, by kind of control; empty if no command is known."""
        typed, settings = typed_of(self._base), self._base.settings
        if typed is None or not are_plain(typed):  # a command holds no text that a stranger may have written
            return {}
        words = [word for word in typed if not word.startswith("FORCE=")]
        if settings["run"]["projection"] == "uniform" or settings["run"]["model"] == "average":
            others = [word for word in words if not word.startswith("SEED=")]
            other_seed = f"SEED={settings['seed_everything'] + 1}"
            known = {"seeds": f"attest fit {shlex.join([*others, other_seed])}"}
        else:
            known = dict.fromkeys(("uniform", "seeds"), f"attest controls {shlex.join(words)}")
        return {kind: command for kind, command in known.items() if kind in self.not_run}


def _base(run: RunContents) -> RunContents:
    """Return the run's base run, or the run itself if it has no base run."""
    return RunContents(RunFolder(run.folder.corpus)) if run.folder.base.is_file() else run


def _uniform_twin(run: RunContents) -> RunContents | None:
    mine = _but_for_projection(run.settings)
    for config in sorted(run.folder.corpus.glob(f"*-uniform*/{run.folder.path.name}/config.yaml")):
        other = RunContents(RunFolder(config.parent))
        if other.folder.summary.is_file() and _but_for_projection(other.settings) == mine:
            require_together([other.folder])
            return other
    return None


def _but_for_projection(settings: dict[str, Any]) -> dict[str, Any]:
    rest = identity(settings)
    (rest.get("run") or {}).pop("projection", None)
    network = ((rest.get("model") or {}).get("init_args") or {}).get("network") or {}
    (network.get("init_args") or {}).pop("projection", None)
    return rest
