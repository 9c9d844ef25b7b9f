"""Requirements on a run or a trial, for a CI job: each passes, fails, or is undecided on the texts that were read.

A requirement is an answer of the verdict, ``tokens=yes``, or a bound on the mean of a measure, ``E2/tvd_median>0.1``. The
texts of the folder are treated as a sample from all similar texts. A bound on the mean over all similar texts is decided by a
betting confidence sequence (``attest.core.measures.betting``), which takes the texts in the order in which evidence reads
them. Copies of a text tell nothing new, so a text counts once. So the probability of a wrong pass is at most ``ERROR``, and
so is that of a wrong fail. Both also hold if evidence stopped early because of its results.
"""

import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch

from attest.core.errors import AttestError, nearest
from attest.core.measures.betting import MeanByBetting
from attest.core.measures.numbers import number
from attest.core.version import __version__
from attest.experiments.registry import EXPERIMENTS, askable, measures
from attest.experiments.sampling import reading_order
from attest.experiments.stopping import ALL
from attest.experiments.verdict import ANSWERS
from attest.report.answer import WHY_NO_WORDS
from attest.report.findings import Findings, pools
from attest.runs.folder import TRIAL

PassOrFail = Literal["pass", "fail", "undecided"]
EXIT_CODES: dict[PassOrFail, int] = {"pass": 0, "fail": 1, "undecided": 2}
VERSION = 3
"""The version of the JSON line that ``attest gate`` prints; ``configs/schemas/gate.schema.json`` describes the line."""
VERDICT = "verdict"
"""The key of ``summary.json`` that holds the verdict, an answer to the question: in how many texts does the explanation point
at the words that decide?"""
SUBJECTS = ("tokens",)
"""The words that may stand before ``=`` in a requirement on the verdict, such as ``tokens=yes``. ``tokens`` asks whether the
explanation points at the words that decide."""
OF_VERDICT = ("answer", "share", "low", "high", "texts", "read")
"""The entries of the verdict that ``attest gate`` repeats in its line of JSON."""
ERROR = 0.05
"""The largest probability with which a requirement such as ``E2/flipped<0.1`` passes although the mean over all similar texts
violates it; and also the largest one with which it fails although this mean meets it."""
ALL_LIKE_THEM = 10**12
"""The assumed number of all similar texts, of which the read texts are a random sample. It is so large that it affects no
confidence interval."""
STEPS = 1024
"""The range of a measure is divided into so many steps to find a confidence interval for its mean; the interval is up to two
steps too wide."""
SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt,
}  # fmt: skip
ACCURACY = "test/accuracy"
EXAMPLES = "--require 'tokens=yes|in part' or --require 'E2/tvd_median>0.1'"
ANSWERED = re.compile(r"(\w+)\s*=\s*(.+)", re.DOTALL)
BOUNDED = re.compile(r"([^<>=\s]+)\s*(<=|>=|<|>)\s*(\S+)")


@dataclass(frozen=True)
class Answered:
    """A requirement on the verdict on a run or a trial: it must be one of the given answers, such as ``yes``."""

    typed: str
    question: str
    answers: tuple[str, ...]


@dataclass(frozen=True)
class Bounded:
    """A requirement that the mean of a measure is above or below a bound."""

    typed: str
    key: str
    sign: str
    bound: float


@dataclass(frozen=True)
class Ruling:
    """The outcome of one requirement: ``pass``, ``fail`` or ``undecided``."""

    require: str
    outcome: PassOrFail
    said: str
    found: dict[str, Any]


def requirement(typed: str) -> Answered | Bounded:
    """Return the requirement that a text such as ``E2/flipped<0.1`` states."""
    if match := BOUNDED.fullmatch(typed.strip()):
        key, sign, bound = match.groups()
        try:
            value = float(bound)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise AttestError(f"the bound of {typed!r} is {bound}; expected a finite number, as in {EXAMPLES}")
        return Bounded(typed, key.removesuffix("/mean"), sign, value)
    if (match := ANSWERED.fullmatch(typed.strip())) and match[1] in SUBJECTS:
        answers = tuple(answer.strip() for answer in match[2].split("|"))
        if unknown := [answer for answer in answers if answer not in ANSWERS]:
            raise AttestError(
                f"a verdict never has the answer {unknown[0]!r}; expected one or more of: {', '.join(ANSWERS)}, with | "
                f"between them, as in {EXAMPLES}"
            )
        return Answered(typed, match[1], answers)
    raise AttestError(
        f"{typed!r} is not a requirement; expected an answer about tokens, or a measure with <, <=, > or >= and a "
        f"bound. Put it in quotes, because in a shell > writes to a file: {EXAMPLES}"
    )


def verdict_of(found: Findings, question: str = "tokens") -> dict[str, Any]:
    """Return the verdict in ``summary.json`` of a run or trial, which is about ``tokens``."""
    folder, verdict = found.folder, found.summary.get(VERDICT)
    if not verdict and found.of_sentences:
        raise AttestError(f"{folder.summary} contains no verdict. {WHY_NO_WORDS} Name a measure in its place.")
    if not verdict:
        tried = "attest trial --model … --data … E19, or in Python: attest.trial(model, texts, ['E19'])"
        again = tried if TRIAL in found.settings else f"attest evidence --run {folder.path} E19"
        raise AttestError(f"{folder.summary} contains no verdict; expected the experiment E19, which gives it. Type: {again}")
    if question not in verdict:
        raise AttestError(
            f"the verdict in {folder.summary} has no answer about {question!r}; expected one of: {', '.join(verdict)}. Leave "
            f"{question!r} out."
        )
    answer: dict[str, Any] = verdict[question]
    return answer


def rule(found: Findings, required: Answered | Bounded) -> Ruling:
    """Check whether a run or a trial meets one requirement."""
    if isinstance(required, Bounded):
        return _by_interval(found, required)
    answer = verdict_of(found, required.question)
    given = answer["answer"]
    outcome: PassOrFail = "pass" if given in required.answers else "undecided" if given == "cannot tell" else "fail"
    return Ruling(required.typed, outcome, answer["sentence"], {name: answer.get(name) for name in OF_VERDICT})


def overall(rulings: Sequence[Ruling]) -> PassOrFail:
    """Return ``fail`` if any requirement fails, else ``undecided`` if any is undecided, else ``pass``."""
    outcomes = {ruling.outcome for ruling in rulings}
    return "fail" if "fail" in outcomes else "undecided" if "undecided" in outcomes else "pass"


def as_json(found: Findings, rulings: Sequence[Ruling]) -> dict[str, Any]:
    """Return the outcomes of all requirements as a dictionary that can be written as JSON."""
    requirements = [{"require": each.require, "outcome": each.outcome} | each.found for each in rulings]
    about = {"version": VERSION, "attest": __version__, "folder": str(found.folder.path)}
    return about | {"outcome": overall(rulings), "requirements": requirements}


def _by_interval(found: Findings, required: Bounded) -> Ruling:
    sample = _accuracy(found) if required.key == ACCURACY else _measured(found, required.key)
    if not sample.low < required.bound < sample.high:
        raise AttestError(
            f"{required.typed!r} is always true or never true, because {required.key} lies between {number(sample.low)} and "
            f"{number(sample.high)}; expected a bound between these two numbers."
        )
    low, high = sample.interval()
    holds = {SIGNS[required.sign](end, required.bound) for end in (low, high)}
    outcome: PassOrFail = "undecided" if len(holds) == 2 else "pass" if True in holds else "fail"
    known = len(sample.values)
    mean = float(sample.values.mean()) if known else None
    said = (
        f"The mean over {known:,} of {sample.texts:,} texts is {number(mean)}; over all texts like these it is "
        f"{number(low)} to {number(high)}."
    )
    if sample.copies:
        said += f" {sample.copies:,} copies of these texts do not count."
    facts = {"mean": mean, "low": low, "high": high, "error": ERROR, "texts": known, "of": sample.texts}
    facts |= {"copies": sample.copies}
    return Ruling(required.typed, outcome, said, facts)


@dataclass(frozen=True)
class Sample:
    """The values of a measure on the texts read so far, in the order in which the texts were read.

    Args:
        values: float ``(n,)``, without texts for which the measure is undefined, and without copies.
        planned: the number of texts for which the interval is to be narrowest.
        texts: the number of all texts, without copies.
        copies: the number of copies.
    """

    values: np.ndarray
    low: float
    high: float
    planned: int
    texts: int
    copies: int = 0

    def interval(self) -> tuple[float, float]:
        """Return an interval for the population mean; each bound is wrong with probability at most ``ERROR``."""
        step = (self.high - self.low) / STEPS
        sequence = MeanByBetting(
            np.array([self.low]), np.array([self.high]), ALL_LIKE_THEM, step, 2 * ERROR, planned=max(self.planned, 1)
        )
        sequence.update(self.values[:, None])
        ((least, greatest),) = sequence.intervals.tolist()
        return least, greatest


def _in_order(found: Findings, rows: pd.DataFrame) -> pd.DataFrame:
    rows = rows[~rows["id"].isin(found.copies)]
    order = reading_order(torch.tensor(rows["id"].to_numpy()), found.settings["seed_everything"])
    return rows.set_index("id").loc[order.tolist()]


def _accuracy(found: Findings) -> Sample:
    rows, kind = found.instances, found.kind
    if rows is None or not kind.right or not {kind.label, kind.predicted} <= {*rows}:
        raise AttestError(
            f"the tables in {found.folder.path} do not show for which texts the model was right; expected texts with labels, "
            "and a model that chooses one class for each text. Leave test/accuracy out."
        )
    rows = _in_order(found, rows[["id", kind.label, kind.predicted]])
    right = (rows[kind.label] == rows[kind.predicted]).to_numpy(float)
    return Sample(right, 0.0, 1.0, len(right), len(right), len(found.copies))


def _measured(found: Findings, key: str) -> Sample:
    experiment, _, name = key.partition("/")
    folder, path = found.folder, found.folder.evidence(experiment)
    if experiment == "test":
        raise AttestError(
            f"the gate knows no interval of {key} that holds at each number of texts; expected test/accuracy, or a column "
            f"of an experiment. Leave {key} out."
        )
    if experiment not in EXPERIMENTS:
        near = ", ".join(nearest(key, measures()))
        raise AttestError(
            f"no measure is called {key!r}; expected test/accuracy or a column of an experiment, such as {near}."
        )
    table = found.table(experiment)
    if table is None:
        raise AttestError(
            f"{folder.path} has no table of the experiment {experiment}, and {key} is read from this table. To compute it "
            f"for a run, type: attest evidence --run {folder.path} {experiment}; for a trial, run attest trial again with "
            f"{experiment}."
        )
    if name not in table:
        described = [each for each in table if EXPERIMENTS[experiment].column(each) is not None]
        raise AttestError(
            f"{path} has no column {name!r}; expected the name of a column, such as {', '.join(nearest(name, described))}."
        )
    if found.kind.asks:
        raise AttestError(
            f"{path} has several rows for each text, one for each label, so no confidence interval can be computed; expected "
            f"one row for each text. Leave {key} out."
        )
    table = table[["id", name]]
    low, high = _range(key, table[name])
    rows = _in_order(found, table)
    values = rows[name].dropna().to_numpy(float)
    slack = 1e-6 * (high - low)  # rounding
    if len(values) and not (low - slack <= values.min() and values.max() <= high + slack):
        raise AttestError(
            f"{path} contains values of {key} from {number(values.min())} to {number(values.max())}; expected values between "
            f"{number(low)} and {number(high)}. Compute the table again: attest evidence --run {folder.path} {experiment} "
            "FORCE=1"
        )
    stopped = found.stopped.get(experiment)
    texts = len(rows) if stopped is None else int(stopped.summary[f"{experiment}/{ALL}"])
    planned = len(values) if _is_sample(found, experiment) else texts
    return Sample(values.clip(low, high), low, high, planned, texts, len(found.copies))


def _range(key: str, values: pd.Series) -> tuple[float, float]:
    experiment, _, name = key.partition("/")
    column = EXPERIMENTS[experiment].column(name)
    if pd.api.types.is_bool_dtype(values) or (column is not None and column.type == "bool"):
        return 0.0, 1.0
    if column is None or column.range is None or not pd.api.types.is_numeric_dtype(values):
        raise AttestError(
            f"{key} has no number for each text; expected a measure with a number for each text, such as E2/tvd_median."
        )
    if not np.isfinite(column.range).all():
        raise AttestError(
            f"the values of {key} have no lower or no upper limit, so no confidence interval of their mean can be computed; "
            "expected a measure with both limits, such as E2/tvd_median."
        )
    return column.range


def _is_sample(found: Findings, experiment: str) -> bool:
    """Return whether an experiment draws its own sample of texts, with a size that is fixed in advance."""
    asked = askable(not pools(found.settings), found.kind).get(experiment)
    return asked is not None and asked.samples
