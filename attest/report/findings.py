"""What the contents of a run folder say, without figures: numbers, controls, the verdict, and one plain sentence for each
question. A sentence whose wording depends on a test gives the p-value of this test.
"""

from functools import cached_property
from typing import Any

import pandas as pd

from attest.core.kinds import CLASSES, TAGS, Kind
from attest.core.measures import Paired
from attest.core.measures.comparison import LEVEL
from attest.core.measures.numbers import p_value, percent
from attest.core.measures.summary import IDENTITY
from attest.experiments.experiment_errors import sentence_about
from attest.experiments.registry import EXPERIMENTS
from attest.experiments.rows import BETWEEN
from attest.experiments.spec import Means
from attest.experiments.verdict import IN_PART, NO, Verdict, judged
from attest.report import readings
from attest.report.answer import NEEDS_E19, NO_WORDS, NOT_BETTER, SENTENCES, TEXTS, UNKEPT, UNLABELLED, UNTESTED, instead, told
from attest.report.answer import sentence as sentence_of
from attest.report.collection import Decided, Pairing, paired, within
from attest.report.controls import Baseline, Controls, baseline, sentence
from attest.report.instance_table import tagged_sentences
from attest.report.measured import Group, Line, measured
from attest.report.score_bounds import classes_in
from attest.runs.contents import RunContents
from attest.runs.folder import INSTANCES, TAGGED, TRIAL, RunFolder, write_json
from attest.runs.identity import identity_of
from attest.runs.kinds import kind_in

CHUNKS = "test/chunk_f1"
"""The key of the F1 score over chunks; for a tagger the report draws it beside the accuracy."""


POOLED, ROLLOUT = "attention", "rollout"
CALLED = {POOLED: "attention", ROLLOUT: "attention rollout", "cross-attention": "cross-attention"}
"""What sentences call the explanation that was tested, by its id."""
SHOWN_AS = {POOLED: "Attention", ROLLOUT: "Attention rollout", "cross-attention": "Cross-attention"}


class Findings(RunContents):
    """The contents of a run folder, and what its page, its card and its terminal lines say of them."""

    @property
    def name(self) -> str:
        """Return the name of the run as people read it, or the name of the trial."""
        if TRIAL not in self.settings:
            return str(identity_of(self))
        about = self.settings[TRIAL]
        return about.get("name") or f"{about['model'].rpartition('.')[2]} on {about['texts']} texts"

    @cached_property
    def kind(self) -> Kind:
        """Return what the model decides."""
        return kind_in(self)

    def read_by(self, experiment: str) -> str | None:
        """Return in how many texts or sentences an experiment has measured something; None if it has no table of them."""
        rows = self.table(experiment)
        if rows is None or "id" not in rows:
            return None
        numbers = rows.drop(columns=[*IDENTITY], errors="ignore").select_dtypes("number")
        return f"{self.kind.counted(rows[numbers.notna().any(axis=1)])} {self.kind.units}"

    @cached_property
    def instances(self) -> pd.DataFrame | None:
        """Return the table of the texts; None if the folder has none."""
        return self.table(INSTANCES)

    @cached_property
    def decided(self) -> pd.DataFrame | None:
        """Return the table of the texts, which the page reads as a whole; of a tagger's sentences without attention."""
        return super().decided if self.instances is None else self.instances

    def origin_of(self, identity: str) -> dict[str, str]:
        """Return what a table was made from, as the whole table says, but for that of a tagger's sentences."""
        if identity != TAGGED:
            self.table(identity)
        return super().origin_of(identity)

    @cached_property
    def tagged(self) -> pd.DataFrame | None:
        """Return the table of a tagger's sentences without attention and probabilities; None if there is none."""
        return tagged_sentences(self)

    @cached_property
    def class_names(self) -> list[str]:
        """Return the names of the classes in their order; no names if the model gives one number for each text."""
        if not self.kind.chooses:
            return []
        names = [] if self.instances is None else classes_in(self)
        if names:
            return names
        return self.data.get("label_names") or ["0", "1"]

    @cached_property
    def held(self) -> Baseline | None:
        """Return the comparison of the model with a constant answer; None if the labels are not known."""
        return baseline(self)

    @cached_property
    def controls(self) -> Controls:
        """Return the comparison numbers (controls) for the numbers of the run."""
        return Controls(self, self.held)

    @cached_property
    def measured(self) -> list[Group]:
        """Return each number of the run with its description and comparison numbers, grouped by experiment."""
        return measured(self.controls, self.class_names, self.kind)

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
        """Return whether the labels of the texts, or the tags of the words, are known."""
        return self.decided is not None and self.kind.label in self.decided

    @property
    def unjudged(self) -> str:
        """Return why nobody knows whether the model has learned its task; an empty string where it is tested."""
        if self.decided is None:
            return UNKEPT.format(TAGGED if self.kind == TAGS else INSTANCES)
        if not self.labelled:
            return UNLABELLED
        return UNTESTED if self.learned is None else ""

    @cached_property
    def verdict(self) -> Verdict | None:
        """Return the verdict that E19's table allows; None if there is none."""
        found = None if self.deciding is None else judged(self.deciding, self.learned)
        return found if found is None or self.instances is not None else found._replace(example=None)

    @cached_property
    def copies(self) -> set[int]:
        """Return the ids of texts that equal an earlier text, token by token, in the table of texts."""
        return set() if self.decided is None else _copies_in(self.decided)

    @cached_property
    def deciding(self) -> pd.DataFrame | None:
        """Return the table of E19 without the copies that it has read; None if there is none."""
        rows = self.table("E19")
        return None if rows is None else rows[~rows["id"].isin(self.copies_read)]

    @cached_property
    def read_for_words(self) -> set[int]:
        """Return the ids of the texts that E19 has read."""
        rows = self.table("E19")
        return set() if rows is None or "needs_words" not in rows else {*rows.loc[rows["needs_words"].notna(), "id"].tolist()}

    @cached_property
    def copies_read(self) -> set[int]:
        """Return the ids of texts that equal an earlier text, among those that E19 has read."""
        return set() if self.decided is None else _copies_in(self.decided[self.decided["id"].isin(self.read_for_words)])

    @property
    def learned(self) -> bool | None:
        """Return whether the model has learned its task; None if nobody knows."""
        if self.held is not None:
            return self.held.learned
        rows, kind = self.instances, self.kind
        if kind.chooses or rows is None or kind.label not in rows:
            return None
        from scipy.stats import spearmanr  # half a second to import

        return bool(spearmanr(rows[kind.label], rows[kind.predicted], alternative="greater").pvalue < LEVEL)

    @property
    def counted(self) -> str:
        """Return what the share of the verdict counts, in words."""
        return SENTENCES if self.kind == TAGS else TEXTS

    @property
    def called(self) -> str:
        """Return the tested explanation in words, such as ``attention``."""
        return CALLED.get(self.explanation, f"the reading {self.explanation}")

    @cached_property
    def unanswered(self) -> str | None:
        """Return a sentence that says why there is no verdict; None if there is a verdict."""
        if self.verdict is not None:
            return None
        if self.learned is False:
            return self.kind.worded(NOT_BETTER)
        return NO_WORDS if self.of_sentences else NEEDS_E19

    @property
    def of_sentences(self) -> bool:
        """Return whether a hierarchical network attends to whole sentences."""
        if TRIAL in self.settings:
            return bool(self.settings[TRIAL].get("of_sentences"))
        return bool(self.settings.get("data", {}).get("init_args", {}).get("sentences"))

    @cached_property
    def lacking(self) -> list[str]:
        """Return the experiments that would lead to a verdict if they were run; empty if none would."""
        return ["E19"] if self.unanswered == NEEDS_E19 else []

    @cached_property
    def sentences(self) -> list[str]:
        """Return the verdict as a sentence, and a sentence on what to read instead; empty if there is no verdict."""
        if self.verdict is None:
            return []
        beside = instead(self.verdict, self.called)
        said = self.kind.worded(sentence_of(self.verdict, self.called, self.unjudged, self.counted))
        return [each for each in (said, beside, self._left_out) if each is not None]

    @property
    def _left_out(self) -> str | None:
        if not self.copies_read:
            return None
        every = f"{len(self.copies_read):,} of the {len(self.read_for_words):,} {self.kind.units} that were read"
        return f"{every} equal an earlier one. They do not count in this verdict, but in all other numbers."

    @cached_property
    def sink(self) -> str | None:
        """Return a sentence on a token that gets the most attention and never decides; None if there is none."""
        asked = self.verdict is not None and self.verdict.answer in (NO, IN_PART)
        return readings.sink_sentence(self.instances, self.table("E19"), self.called) if asked else None

    @cached_property
    def example(self) -> int | None:
        """Return the id of the text that is shown as an example of the verdict; None if there is none."""
        return None if self.verdict is None else self.verdict.example

    @cached_property
    def truth(self) -> str | None:
        """Return a sentence on whether attention finds the tokens that decide the label; None if they are unknown."""
        return readings.truth_sentence(self.instances, self.table("E1"))

    @cached_property
    def pairs(self) -> str | None:
        """Return a sentence on the attention within and between the two texts of a pair; None if there are no pairs."""
        if f"pairs/{BETWEEN[0]}/mean" not in self.summary:
            return None
        rows = self.instances
        if rows is None or not {*BETWEEN} <= {*rows}:
            shares = [self.summary[f"pairs/{name}/mean"] for name in BETWEEN]
            told, over = [percent(share, 1) for share in (*shares, 1 - sum(shares))], ""
        else:
            told = [
                readings.share_with_interval(each)
                for each in (*(rows[name] for name in BETWEEN), 1 - rows[[*BETWEEN]].sum(axis=1, skipna=False))
            ]
            over = f" and then over {rows[BETWEEN[0]].count():,} pairs, with 95\N{NO-BREAK SPACE}% intervals"
        return (
            f"Each input is a pair of texts. A token gives {told[0]} of its attention to its own text, {told[1]} to the other "
            f"text, and {told[2]} to special tokens (means over layers, heads and tokens{over})."
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
        pair = None if twin is None else paired(Decided.by(self), Decided.by(twin))
        said = answers(self.controls, None if self.instances is None else len(self.instances), self.held, pair, self.kind)
        first = None if self.first_tokens is None else self.first_tokens.sentence
        if first and "E1" in said:
            said["E1"] = f"{said['E1']} {first}"
        rows = self.table("E15")
        survived = None if rows is None else readings.survival_sentence(rows)
        return said | ({"E15": survived} if survived else {})


def _copies_in(rows: pd.DataFrame) -> set[int]:
    """Return the ids of texts that equal an earlier text, token by token; none if the rows do not hold the tokens."""
    if "tokens" not in rows:
        return set()
    shown = [name for name in ("tokens", "question") if name in rows]
    texts = rows[shown].map(lambda words: words if isinstance(words, str) else "\x1f".join(words))
    return {*rows["id"][texts.duplicated()].tolist()}


def write_summary(folder: RunFolder, summary: dict[str, Any]) -> None:
    """Write ``summary.json``: a verdict if the tables in the folder allow one, then the numbers by key."""
    found = Findings(folder)
    said = {} if found.verdict is None else {"verdict": {"tokens": told(found.verdict, *found.sentences)}}
    write_json(folder.summary, said | dict(sorted(summary.items())), in_order=True)


def pools(settings: dict[str, Any]) -> bool:
    """Return whether attention that pools tokens is tested, and not an explanation such as rollout."""
    if TRIAL in settings:
        return "explanation" not in settings[TRIAL]
    experiments = settings.get("experiments") or {}
    if experiments.get(TAGGED) is not None:
        return False
    evidence = experiments.get(INSTANCES) or {}
    return evidence.get("explanation") != "rollout"


def answers(
    controls: Controls,
    instances: int | None,
    held: Baseline | None = None,
    pair: Pairing | None = None,
    kind: Kind = CLASSES,
) -> dict[str, str]:
    """Return one sentence with the result of each experiment, by the id of the experiment."""
    mean = Means(controls.summary, instances, "sentences" if held is not None and held.tagging else "texts", within)
    sentences: dict[str, str | None] = {"test": sentence(held, controls.summary, controls.scored, kind)}
    if not controls.of_trial:
        sentences["E4"] = _uniform(controls, held, pair)
    sentences |= {name: spec.answer(mean) for name, spec in EXPERIMENTS.items() if spec.answer}
    return {name: said for name, said in sentences.items() if said}


def _uniform(controls: Controls, held: Baseline | None, pair: Pairing | None) -> str:
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
    with_uniform = percent(theirs, 1) if controls.held_uniform is None else controls.held_uniform.accuracy
    with_learned = percent(ours, 1) if held is None else held.accuracy
    said = f"With uniform attention {with_uniform} of {units} rightly, with learned attention {with_learned}."
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
