"""What a run and a trial share: everything that is read from their files."""

from pathlib import Path
from typing import Any

import pandas as pd

from attest.errors import AttestError
from attest.report.explained_text import ExplainedText
from attest.report.explanations import joined
from attest.report.findings import Findings
from attest.report.page import write_report
from attest.report.templating import render
from attest.runs.folder import INSTANCES, RunFolder


class Outcome:
    """Numbers, tables, answers and report of one model that was put on trial; shows itself in a notebook.

    Args:
        folder: where its files lie.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder

    @property
    def name(self) -> str:
        """What it is called in its report."""
        raise NotImplementedError(f"{type(self).__name__} must say what it is called: define name.")

    @property
    def settings(self) -> dict[str, Any]:
        """The whole configuration, as ``config.yaml`` has it."""
        return self._findings.settings

    @property
    def summary(self) -> dict[str, Any]:
        """Every number by its key, as ``summary.json`` has them: ``test/accuracy``, ``E1/tau_gradient_inputs/mean``, …

        None stands for what is undefined.
        """
        return self._findings.summary

    @property
    def answers(self) -> dict[str, str]:
        """What the numbers say, one sentence for each experiment, by id."""
        return self._findings.answers

    @property
    def experiments(self) -> list[str]:
        """The ids that ``table`` takes; ``instances`` is the table of the texts themselves."""
        return self._findings.experiments

    def table(self, experiment: str = INSTANCES) -> pd.DataFrame:
        """One row for each text: ``id``, ``label`` where it is known, ``predicted``, ``length``, and what was measured.

        Args:
            experiment: one of ``experiments``; docs/evidence-columns.md explains the columns.
        Raises:
            AttestError: there is no such table.
        """
        table = self._findings.table(experiment)
        if table is None:
            raise AttestError(f"there is no table {experiment!r}; expected one of: {', '.join(self.experiments)}.")
        return table

    def report(self, path: str | Path) -> Path:
        """Write the report as one page that holds all its figures.

        Args:
            path: of the page; it ends in ``.html``. An existing page is replaced.
        Returns:
            The path.
        Raises:
            AttestError: the path ends in something else, or cannot be written.
        """
        path = Path(path)
        if path.suffix != ".html":
            raise AttestError(f"{path} is not the name of a page; expected one that ends in .html, report.html for example.")
        write_report(self._findings.folder, alone=path)
        return path

    @property
    def _findings(self) -> Findings:
        return Findings(self.folder)

    def _explained(self, identity: int) -> ExplainedText:
        """One of the texts that were tested, by its id."""
        findings = self._findings
        if findings.instances is None or identity not in set(findings.instances["id"]):
            raise AttestError(f"no text has the id {identity!r}; expected one in the column id of table('instances').")
        rows = joined({name: self.table(name) for name in findings.experiments})
        (row,) = rows[rows["id"] == identity].to_dict("records")
        return ExplainedText.of_row(row, findings.class_names)

    def __repr__(self) -> str:
        lines = [f"{experiment:<5}{answer}" for experiment, answer in self.answers.items()]
        return "\n".join([f"{type(self).__name__} of {self.name}", *lines])

    def _repr_html_(self) -> str:
        found = self._findings
        title = f"{type(self).__name__} of {self.name}"
        return render("cell_verdict.html", title=title, verdict=found.verdict, answers=found.answers, judged=found.judged)
