"""What the files of one run say, before anything is drawn: its settings, numbers, controls, verdict and answers."""

from functools import cached_property
from typing import Any

import pandas as pd

from attest.experiments.judges.judging import sentence_about
from attest.report.answers import answers
from attest.report.collection import pairing
from attest.report.controls import Baseline, Controls, baseline
from attest.report.readings import (
    QUESTION,
    FirstTokens,
    compared_first_tokens,
    survival_lines,
    survival_sentence,
    truth_lines,
    truth_sentence,
)
from attest.report.verdict import Group, Line, verdict
from attest.runs.folder import INSTANCES, RunFolder, no_configuration, read_json, read_table
from attest.runs.naming import NAME_PARTS

CHUNKS = "test/chunk_f1"
"""The score that taggers are known by; drawn beside accuracy."""


class Findings:
    """Reads the folder of a run, each file when it is first asked for.

    Args:
        folder: of a run that is finished, or of a trial.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.folder = RunFolder(folder.path.absolute())  # relatives are looked for beside it, from wherever it was named

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The configuration."""
        settings = self.folder.settings()
        named = [(settings.get("run") or {}).get(name) for name in ("data", *NAME_PARTS)]
        if not all(isinstance(name, str) for name in named) or not isinstance(settings.get("seed_everything"), int):
            raise no_configuration(self.folder.config)
        return settings

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The numbers, by key."""
        return read_json(self.folder.summary)

    @cached_property
    def experiments(self) -> list[str]:
        """Ids of the tables that are there."""
        return [path.stem for path in sorted(self.folder.evidence(INSTANCES).parent.glob("*.parquet"))]

    def table(self, identity: str) -> pd.DataFrame | None:
        """The table of one experiment, one row an instance; None where it is not there."""
        path = self.folder.evidence(identity)
        return read_table(path) if path.is_file() else None

    @cached_property
    def instances(self) -> pd.DataFrame | None:
        """The table of the texts themselves."""
        return self.table(INSTANCES)

    @cached_property
    def class_names(self) -> list[str]:
        """In class order: as the table of the texts has them, else as the run's record of its data."""
        columns = [] if self.instances is None else self.instances.filter(regex="^probability_").columns
        if len(columns):
            return [name.removeprefix("probability_") for name in columns]
        record = read_json(self.folder.data) if self.folder.data.is_file() else {}
        return record.get("label_names") or ["0", "1"]

    @cached_property
    def held(self) -> Baseline | None:
        """The run against a constant answer; None where labels are not known."""
        return baseline(self.folder)

    @cached_property
    def controls(self) -> Controls:
        """What the numbers are held against."""
        return Controls(self.folder, self.settings, self.summary, self.held)

    @cached_property
    def verdict(self) -> list[Group]:
        """Each number with its definition and its controls, by experiment."""
        return verdict(self.controls, self.class_names)

    @cached_property
    def truth(self) -> str | None:
        """Whether the attention is right, where the corpus knows which tokens decide."""
        return truth_sentence(self.instances, self.table("E1"))

    @cached_property
    def first_tokens(self) -> FirstTokens | None:
        """Whether other readings rank the same tokens first as attention does, where weights of tokens are stored."""
        return compared_first_tokens(self.instances, self.table("E1"))

    @cached_property
    def pictures(self) -> list[tuple[str, str, list[Line]]]:
        """What the page opens with, the truth first where it is known: link, question and the lines that are drawn."""
        known = truth_lines(self.instances, self.table("E1"))
        drawn = [("truth", "Does its top token decide?", known)] if known else []
        for group in self.verdict:
            placed = [line for line in group.lines if line.place(line.value) is not None]
            if group.experiment == "E15" and (readings := self.table("E15")) is not None:
                placed = survival_lines(readings) or placed
                drawn += [(group.experiment, group.question, placed[:2])] if placed else []
                continue
            first = placed[:1] + [line for line in placed[1:] if line.key == CHUNKS]
            drawn += [(group.experiment, group.question, first)] if first else []
            if group.experiment == "E1" and self.first_tokens is not None and (lines := self.first_tokens.lines()):
                drawn.append(("E1", QUESTION, lines))
        return drawn

    @cached_property
    def judged(self) -> dict[str, str]:
        """What each experiment on attention that pools has been shown to miss and whom it falsely accuses, by id."""
        if not pools(self.settings):
            return {}
        return {name: said for name in self.experiments if (said := sentence_about(name))}

    @cached_property
    def answers(self) -> dict[str, str]:
        """A sentence for each experiment that ran, by id."""
        twin = self.controls.uniform_run
        pair = None if twin is None else pairing(self.folder, twin)
        said = answers(self.controls, None if self.instances is None else len(self.instances), self.held, pair)
        readings = self.table("E15")
        survived = None if readings is None else survival_sentence(readings)
        first = None if self.first_tokens is None else self.first_tokens.sentence
        ranked = {"E1": f"{said['E1']} {first}"} if first and "E1" in said else {}
        return said | ranked | ({"E15": survived} if survived else {})


def pools(settings: dict[str, Any]) -> bool:
    """Whether the attention on trial pools; else rollout stands for attention inside the layers."""
    evidence = (settings.get("experiments") or {}).get(INSTANCES) or {}
    return (evidence.get("init_args") or {}).get("explanation") != "rollout"
