"""``Outcome``: the results about the attention of one model, which ``Trial`` and ``Run`` share. It needs no Lightning."""

from pathlib import Path
from typing import Any

import pandas as pd

from attest.core.errors import AttestError, said_by
from attest.report.card import PICTURE, picture_of, put_into
from attest.report.explained import joined
from attest.report.explained_text import ExplainedText
from attest.report.findings import Findings
from attest.report.page import write_report
from attest.report.pictures import Picture, readings_picture, source_of
from attest.report.shown import first_screen
from attest.report.templating import render
from attest.report.verdict_pictures import PicturedSentence, groups_picture, verdict_picture
from attest.runs.folder import INSTANCES, RunFolder

CARD = "README.md"


class Outcome:
    """The results about the attention of one model: numbers, tables, answers and a report."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder

    @property
    def name(self) -> str:
        """Return the name of the tested model, as the report shows it."""
        raise NotImplementedError(f"{type(self).__name__} must say what it is called: define name.")

    @property
    def settings(self) -> dict[str, Any]:
        """Return the whole configuration, as in ``config.yaml``."""
        return self._findings.settings

    @property
    def summary(self) -> dict[str, Any]:
        """Return the numbers in ``summary.json`` by key, such as ``test/accuracy``; undefined numbers are None."""
        return self._findings.summary

    @property
    def verdict(self) -> PicturedSentence | None:
        """Return one sentence that says whether the attention may be read as an explanation; None if unknown.

        It is a string. A notebook shows it over a picture of the share of texts, beside that of a random order.
        """
        found = self._findings
        sentence = next(iter(found.sentences), None)
        return None if sentence is None else PicturedSentence(sentence, verdict_picture(found))

    @property
    def verdicts(self) -> list[str]:
        """Return the verdicts as sentences: the verdict about tokens, then the verdict about hidden states."""
        return self._findings.sentences

    @property
    def unanswered(self) -> str | None:
        """Return a sentence that says why there is no verdict about the attention; None if there is a verdict."""
        return self._findings.unanswered

    @property
    def answers(self) -> dict[str, str]:
        """Return a dictionary from the id of each experiment to a sentence that says what its numbers mean."""
        return self._findings.answers

    @property
    def experiments(self) -> list[str]:
        """Return the ids of all result tables: those of experiments, and ``instances``, the table of the texts."""
        return self._findings.experiments

    def table(self, experiment: str = INSTANCES) -> pd.DataFrame:
        """Return the table of one experiment, with one row for each text.

        Its columns are ``id``, ``label`` if it is known, ``predicted``, ``length``, and what was measured.
        """
        table = self._findings.table(experiment)
        if table is None:
            raise AttestError(f"the run has no table {experiment!r}; expected one of: {', '.join(self.experiments)}.")
        return table

    def tested(self, identity: int) -> ExplainedText:
        """Return a tested text with its prediction and its explanations, each with one weight for each token."""
        return tested_text(self._findings, identity)

    def readings(self) -> Picture:
        """Return a picture of all readings: in how many texts each points at the words that decide.

        A notebook shows it; ``save`` writes it as ``.svg`` or ``.png``.

        Raises:
            AttestError: there is no verdict, so nobody knows this share.
        """
        found = self._findings
        return self._drawn(found, "readings", readings_picture(found))

    def groups(self) -> Picture:
        """Return a picture of the kinds of texts in which attention is right most often, and least often.

        They are those on the first screen of the report: long and short texts, for example.

        Raises:
            AttestError: there is no verdict, or no kind of texts has ten texts or more.
        """
        found = self._findings
        return self._drawn(found, "groups", groups_picture(found))

    @staticmethod
    def _drawn(found: Findings, name: str, picture: Picture | None) -> Picture:
        if picture is not None:
            return picture
        why = found.unanswered or "Words decide in too few of its texts."
        raise AttestError(f"there is no picture of the {name}. {why} Expected E19 among the experiments, on 20 texts or more.")

    def report(self, path: str | Path) -> Path:
        """Write the report as one self-contained HTML page."""
        path = Path(path)
        if path.suffix != ".html":
            raise AttestError(
                f"{path} is not the name of a web page; expected a name that ends in .html, such as report.html."
            )
        write_report(self._findings, alone=path)
        return path

    def push_to_hub(self, repo: str, *, create_pr: bool = False) -> str:
        """Write the section about attention into the model card of a model on the Hugging Face Hub, and its picture.

        The rest of the card stays as it is; all is one commit. This needs a network, and a login that may write there
        (``hf auth login``).

        Returns:
            The address of the commit, or of the pull request.
        """
        import huggingface_hub  # takes a second
        from huggingface_hub.errors import EntryNotFoundError, HFValidationError, HTTPError, LocalEntryNotFoundError

        try:
            try:
                path = huggingface_hub.hf_hub_download(repo, CARD, force_download=True)
                card = Path(path).read_bytes().decode()  # with its line endings
            except LocalEntryNotFoundError:  # nobody knows whether there is one
                raise
            except EntryNotFoundError:
                card = ""
            found = self._findings
            drawn = picture_of(found)
            contents = {CARD: put_into(card, found, PICTURE)} | ({} if drawn is None else {PICTURE: drawn.svg()})
            done = huggingface_hub.create_commit(
                repo_id=repo,
                operations=[huggingface_hub.CommitOperationAdd(name, text.encode()) for name, text in contents.items()],
                commit_message="What Attest says of the attention",
                create_pr=create_pr,
            )
        except (HTTPError, HFValidationError, OSError) as error:  # OSError: offline by HF_HUB_OFFLINE, among others
            raise AttestError(
                f"the model card of {repo} could not be read or written ({said_by(error)}); expected a model on the Hub, a "
                "network connection, and a login with write access to the model. Type: hf auth login"
            ) from error
        return done.pr_url or done.commit_url

    @property
    def _findings(self) -> Findings:
        return Findings(self.folder)

    def __repr__(self) -> str:
        lines = [f"{experiment:<5}{answer}" for experiment, answer in self.answers.items()]
        return "\n".join([f"{type(self).__name__} of {self.name}", self.verdict or self.unanswered or "", *lines])

    def _repr_html_(self) -> str:
        found = self._findings
        title, screen = f"{type(self).__name__} of {self.name}", first_screen(found)
        said = [found.unanswered] if found.unanswered else found.sentences
        numbers = {"measured": found.measured, "answers": found.answers, "judged": found.judged}
        return render("cell_outcome.html", title=title, said=said, screen=screen, **numbers)


def tested_text(found: Findings, identity: int) -> ExplainedText:
    """Return a tested text with its prediction and its explanations; refuse an id that no text has."""
    if found.instances is None or identity not in set(found.instances["id"]):
        known = [] if found.instances is None else sorted(found.instances["id"])
        expected = f"an id from {known[0]} to {known[-1]}" if known else "texts that have a label each"
        raise AttestError(f"no text has the id {identity!r}; expected {expected}, as in the column `id` of the tables.")
    rows = joined(found.tables)
    (row,) = rows[rows["id"] == identity].to_dict("records")
    return ExplainedText.of_row(row, found.class_names, found.called, source_of(found), found.kind)
