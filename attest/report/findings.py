"""The contents of a run folder, without figures: settings, numbers, controls, the verdict, and one plain sentence for
each question. A sentence whose wording depends on a test gives the p-value of this test.
"""

from functools import cached_property
from typing import Any

import pandas as pd

from attest.core.measures import Paired
from attest.core.measures.comparison import LEVEL
from attest.core.measures.numbers import p_value, percent
from attest.experiments.judges.judging import sentence_about
from attest.experiments.registry import EXPERIMENTS
from attest.experiments.rows import BETWEEN
from attest.experiments.spec import Means
from attest.experiments.verdict import CANNOT_TELL, IN_PART, NO, NOT_LEARNED, Verdict, needed
from attest.report import readings
from attest.report.answer import answered, error, error_and_estimate, needing, reasons, told, unanswerable
from attest.report.answer import sentence as sentence_of
from attest.report.collection import Decided, Pairing, paired
from attest.report.controls import Baseline, Controls, baseline, classes_in, sentence
from attest.report.measured import Group, Line, measured
from attest.runs.folder import INSTANCES, TRIAL, RunFolder, read_json, read_table, write_json

CHUNKS = "test/chunk_f1"
"""The usual score of taggers, which is drawn beside accuracy."""


POOLED, ROLLOUT = "attention", "rollout"
CALIBRATED = (POOLED, ROLLOUT)
"""What the rule of the verdict was made and tried on."""
SHOWN_AS = {POOLED: "Attention", ROLLOUT: "Attention rollout", "cross-attention": "Cross-attention"}


class Findings:
    """The contents of a run's folder; each file is read when it is first needed."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = RunFolder(folder.path.absolute())  # related runs are searched for beside it

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Return the configuration of the run."""
        return self.folder.settings()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Return the content of ``summary.json``: the numbers of the run by key."""
        return read_json(self.folder.summary)

    @cached_property
    def experiments(self) -> list[str]:
        """Return the names of the result tables (evidence) in the folder of the run."""
        return list(self.folder.tables)

    def table(self, identity: str) -> pd.DataFrame | None:
        """Return the table of one experiment, one row for each instance; None if the folder has no such table."""
        path = self.folder.evidence(identity)
        return read_table(path) if path.is_file() else None

    @cached_property
    def instances(self) -> pd.DataFrame | None:
        """Return the table of the texts; None if the folder has none."""
        return self.table(INSTANCES)

    @cached_property
    def class_names(self) -> list[str]:
        """Return the names of the classes in their order; no names if the model gives one number for each text."""
        if self.instances is not None and "prediction" in self.instances:
            return []
        names = [] if self.instances is None else classes_in(self.instances)
        if names:
            return names
        record = read_json(self.folder.data) if self.folder.data.is_file() else {}
        return record.get("label_names") or ["0", "1"]

    @cached_property
    def held(self) -> Baseline | None:
        """Return the comparison of the model with a constant answer; None if the labels are not known."""
        return baseline(self.folder)

    @cached_property
    def controls(self) -> Controls:
        """Return the comparison numbers (controls) for the numbers of the run."""
        return Controls(self.folder, self.settings, self.summary, self.held)

    @cached_property
    def measured(self) -> list[Group]:
        """Return each number of the run with its description and comparison numbers, grouped by experiment."""
        return measured(self.controls, self.class_names)

    @cached_property
    def explanation(self) -> str:
        """Return which explanation is tested: ``attention`` (pools the tokens), ``rollout`` or ``cross-attention``."""
        if TRIAL in self.settings:
            return str(self.settings[TRIAL].get("explanation", POOLED))
        return POOLED if pools(self.settings) else ROLLOUT

    @cached_property
    def inside(self) -> bool:
        """Return whether an explanation such as rollout is tested in place of attention that pools tokens."""
        return self.explanation != POOLED

    @cached_property
    def labelled(self) -> bool:
        """Return whether the labels of the texts are known."""
        return self.instances is not None and "label" in self.instances

    @cached_property
    def answered(self) -> dict[str, Verdict]:
        """Return the verdicts that the tables of the run allow, under the keys ``tokens`` and ``states``."""
        tables = {name: rows for name in self.experiments if name in EXPERIMENTS and (rows := self.table(name)) is not None}
        if self.instances is None or {"prediction", "answer"} & {*self.instances} or self.explanation not in CALIBRATED:
            return {}
        return answered(tables, self.inside, self._better)

    @property
    def _better(self) -> bool | None:
        return None if self.held is None else self.held.majority.better

    @cached_property
    def _unanswerable(self) -> str | None:
        there = {*self.experiments, *(() if self.instances is None else self.instances)}
        shown = None if self.explanation in CALIBRATED else SHOWN_AS.get(self.explanation, self.explanation)
        return unanswerable(there, shown, self._better)

    @cached_property
    def unanswered(self) -> str | None:
        """Return a sentence that says why there is no verdict; None if there is a verdict."""
        return None if self.answered else self._unanswerable or needing(self.lacking)

    @cached_property
    def lacking(self) -> list[str]:
        """Return the experiments that could lead to a verdict if they were run; empty if none could."""
        if self._unanswerable:
            return []
        unclear = [name for each in self.answered.values() if each.answer == CANNOT_TELL for name in each.lacking]
        wanted = dict.fromkeys(unclear if self.answered else needed(self.inside))
        missing = [name for name in wanted if name not in self.experiments]
        return missing if self.answered else missing or [*wanted]

    @cached_property
    def sentences(self) -> list[str]:
        """Return the verdicts as sentences; the verdict about tokens comes first."""
        return [sentence_of(about, each, self.inside, self.labelled) for about, each in self.answered.items()]

    @cached_property
    def verdict_lines(self) -> list[dict[str, Any]]:
        """Return one dictionary for each verdict, with the sentence, error rate and numbers that the page shows."""
        return [
            {
                "sentence": said,
                "error": error(each.wrong),
                "in_full": error_and_estimate(each),
                "reasons": [] if each.answer == NOT_LEARNED else reasons(each),
                "texts": each.texts,
                "example": each.example if about == "tokens" else None,
                "instead": self.answers.get("E15") if "E15" in self.experiments and each.answer in (NO, IN_PART) else None,
            }
            for said, (about, each) in zip(self.sentences, self.answered.items(), strict=True)
        ]

    @cached_property
    def example(self) -> int | None:
        """Return the id of the text that is shown as an example of the verdict on tokens; None if there is none."""
        return self.answered["tokens"].example if "tokens" in self.answered else None

    @cached_property
    def truth(self) -> str | None:
        """Return a sentence on whether attention finds the tokens that decide the label; None if they are unknown."""
        return readings.truth_sentence(self.instances, self.table("E1"))

    @cached_property
    def pairs(self) -> str | None:
        """Return a sentence on the attention within and between the two texts of a pair; None if there are no pairs."""
        if f"pairs/{BETWEEN[0]}/mean" not in self.summary:
            return None
        shares = [self.summary[f"pairs/{name}/mean"] for name in BETWEEN]
        within, between = (percent(share, 1) for share in shares)
        return (
            f"Each input is a pair of texts. A token gives {within} of its attention to its own text, {between} to the other "
            f"text, and {percent(1 - sum(shares), 1)} to special tokens (means over layers, heads and tokens)."
        )

    @cached_property
    def first_tokens(self) -> readings.FirstTokens | None:
        """Return how well attention agrees with importance measures on the top tokens; None if no weights are stored."""
        return readings.compared_first_tokens(self.instances, self.table("E1"))

    @cached_property
    def pictures(self) -> list[tuple[str, str, list[Line]]]:
        """Return each section at the top of the report: its link, its question and its table rows."""
        known = readings.truth_lines(self.instances, self.table("E1"))
        drawn = [("truth", "In how many texts does the top token decide?", known)] if known else []
        for group in self.measured:
            placed = [line for line in group.lines if line.place(line.value) is not None]
            first = placed[:1] + [line for line in placed[1:] if line.key == CHUNKS]
            if group.experiment == "E15" and (rows := self.table("E15")) is not None:
                first = readings.survival_lines(rows) or placed[:2]
            drawn += [(group.experiment, group.question, first)] if first else []
            if group.experiment == "E1" and self.first_tokens is not None and (lines := self.first_tokens.lines()):
                drawn.append(("E1", readings.QUESTION, lines))
        return drawn

    @cached_property
    def judged(self) -> dict[str, str]:
        """Return, by experiment id, a sentence on the wrong results of this experiment on networks with known attention."""
        if not pools(self.settings):
            return {}
        return {name: said for name in self.experiments if (said := sentence_about(name))}

    @cached_property
    def answers(self) -> dict[str, str]:
        """Return one sentence with the result of each experiment, by the id of the experiment."""
        twin = self.controls.uniform_run
        pair = None if twin is None else paired(Decided.by(self.folder), Decided.by(twin))
        said = answers(self.controls, None if self.instances is None else len(self.instances), self.held, pair)
        first = None if self.first_tokens is None else self.first_tokens.sentence
        if first and "E1" in said:
            said["E1"] = f"{said['E1']} {first}"
        rows = self.table("E15")
        survived = None if rows is None else readings.survival_sentence(rows)
        return said | ({"E15": survived} if survived else {})


def write_summary(folder: RunFolder, summary: dict[str, Any]) -> None:
    """Write ``summary.json``: a verdict if the tables in the folder allow one, then the numbers by key."""
    found = Findings(folder)
    said = told(found.answered, found.inside, found.labelled)
    write_json(folder.summary, ({"verdict": said} if said else {}) | dict(sorted(summary.items())), in_order=True)


def pools(settings: dict[str, Any]) -> bool:
    """Return whether attention that pools tokens is tested, and not an explanation such as rollout."""
    if TRIAL in settings:
        return "explanation" not in settings[TRIAL]
    evidence = (settings.get("experiments") or {}).get(INSTANCES) or {}
    return (evidence.get("init_args") or {}).get("explanation") != "rollout"


def answers(
    controls: Controls, instances: int | None, held: Baseline | None = None, pair: Pairing | None = None
) -> dict[str, str]:
    """Return one sentence with the result of each experiment, by the id of the experiment."""
    mean = Means(controls.summary, instances)
    sentences: dict[str, str | None] = {"test": sentence(held, controls.summary)}
    if not controls.of_trial:
        sentences["E4"] = _uniform(controls, pair)
    sentences |= {name: spec.answer(mean) for name, spec in EXPERIMENTS.items() if spec.answer}
    return {name: said for name, said in sentences.items() if said}


def _uniform(controls: Controls, pair: Pairing | None) -> str:
    if controls.is_uniform:
        return "This run is the control run: its attention is uniform, so every token gets the same weight."
    if controls.uniform is None:
        return (
            "Not known: the same model with uniform attention was not trained. Train it before you draw conclusions from the "
            "evidence below."
        )
    ours, theirs = controls.summary.get("test/accuracy"), controls.uniform.get("test/accuracy")
    if ours is None or theirs is None:
        return "Not known: the accuracy of this run or of the run with uniform attention is missing."
    units = "tokens are tagged" if pair is not None and pair.tagging else "test texts are decided"
    said = f"With uniform attention {percent(theirs, 1)} of {units} rightly, with learned attention {percent(ours, 1)}."
    return f"{said} {_paired(pair)}"


def _paired(pair: Pairing | None) -> str:
    if pair is not None and pair.same is False:
        return "But the two runs were tested on different texts, so these numbers cannot be compared."
    if pair is None or pair.test is None:
        return "It is not tested whether the difference is due to chance, because the decisions on single texts are not saved."
    found, units = pair.test, "sentences" if pair.tagging else "texts"
    test = "McNemar's exact test"
    if pair.tagging:
        test = "Wilcoxon's signed-rank test over sentences, since tokens of one are not independent"
    said = f"{_differing(pair, found)} ({test}: {p_value(found.p_value)})."
    if not found.differing or found.p_value >= LEVEL or not found.favours:
        return f"These {pair.instances:,} {units} do not show that the task needs attention: {said}"
    better = "Learned" if found.favours > 0 else "Uniform"
    return f"{better} attention is better by more than chance: {said}"


def _differing(pair: Pairing, found: Paired) -> str:
    if not found.differing:
        return f"there is no {'sentence that one of the two tags better' if pair.tagging else 'text that only one gets right'}"
    ending = "" if found.differing == 1 else "s"
    several, learned = f"text{ending} that only one of the two gets right", "is right on"
    if pair.tagging:
        several, learned = f"sentence{ending} that one of the two tags better", "is better on"
    return f"learned attention {learned} {found.only_first:,} of the {found.differing:,} {several}"
