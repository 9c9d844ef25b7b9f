"""The result of ``attest.sources`` (E18): which parts of its context a decoder's answer comes from."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from attest.core.errors import AttestError
from attest.core.measures.numbers import number, percent, rounded
from attest.experiments.sources import head_weights, scored
from attest.report.templating import render
from attest.runs.folder import write_text

MEANINGS = {
    "leave-one-out": "the fall itself",
    "attention": "mean weight of the rows that lead to the answer, over layers and heads",
    "attention without the first token": "the same, each row without the first token of the text",
    "attention × gradient": "each weight times the gradient by it: what is written for the answer, to first order",
    "rollout": "attention of all layers, one after the other, back to the tokens",
    "gradient × input": "of the answer's log-probability by each token's embedding",
    "random sets": "a linear model of the log-probability without random sets of sources",
    "learned heads": "attention by head, with weights that were fitted to the sources of other answers",
}
SAME = {1.0: "yes", 0.0: "no"}
LIMITS = (
    "What the answer loses without one source is what this source gives while all others stay: of two sources that say the "
    "same each seems to give little. The numbers are of this answer to this prompt alone."
)


@dataclass(frozen=True)
class Sources:
    """The sources (parts of the context) of an answer, each with its effect on the answer and its weights."""

    question: str
    answer: str
    log_probability: float
    """Of the answer with all sources."""
    table: pd.DataFrame
    """A row a source: ``text``; ``share``, of all falls above 0; ``drop``, the fall of the answer's log-probability without
    it; and a column for each reading."""
    scores: pd.DataFrame
    """A row a reading, as ``attest.experiments.sources.scored`` returns it, and ``seconds``."""
    model: str
    """The name of its class."""
    by_head: np.ndarray = field(repr=False)
    """Attention of each head of all layers on each source, float ``(U, N)``."""
    truth: Collection[int] = ()
    """Sources from 0 that the answer is known to come from."""
    by_groups: bool = False
    """Whether falls are an approximation: most sources were left out in groups only, and share the fall of theirs."""

    def learning_from(self, others: Sequence["Sources"]) -> "Sources":
        """Return these sources with the new explanation ``learned heads``; its head weights are learned from ``others``.

        Args:
            others: results for the same model, about other contexts or other answers.
        Raises:
            AttestError: ``others`` is empty, or has a result with another number of heads or about this context and answer.
        """
        if not others or any(other.by_head.shape[1] != self.by_head.shape[1] for other in others):
            raise AttestError(
                f"learning_from was given {len(others)} results; expected one or more results of attest.sources for a model "
                f"with {self.by_head.shape[1]} heads."
            )
        if any((other.answer, [*other.table["text"]]) == (self.answer, [*self.table["text"]]) for other in others):
            raise AttestError(
                "learning_from was given a result for the context and answer on which the learned heads are scored; expected "
                "only results for other contexts or answers."
            )
        reading = self.by_head @ head_weights([(other.by_head, other.table["drop"].to_numpy()) for other in others])
        row = scored({"learned heads": reading}, self.table["drop"].to_numpy(), self.truth).loc[["learned heads"]]
        row["seconds"] = self.scores["seconds"]["attention"]
        table = self.table.assign(**{"learned heads": reading})
        return replace(self, table=table, scores=pd.concat([self.scores.drop(index="learned heads", errors="ignore"), row]))

    @property
    def sentence(self) -> str:
        """Return a sentence that says which source (part of the context) the answer needs most."""
        if len(self.table) == 1:
            return (
                "The whole context is one source, so no explanation can be compared: without it the answer's log-probability "
                f"falls by {number(self.table['drop'][0])}. Write each source on a line of its own, or give spans of "
                "characters (units=)."
            )
        first = self.table["drop"].idxmax()
        if not self.table["drop"][first] > 0:
            return "No source stands out: without any one of them, the answer's log-probability does not fall."
        same = "also names it" if self.scores.loc["attention", "same"] else "names another one"
        how = "By groups of sources, an approximation for readings too: without" if self.by_groups else "Without"
        fall = number(self.table["drop"][first])
        return (
            f"{how} source {int(first) + 1} the answer's log-probability falls by {fall}, "
            f"{percent(self.table['share'][first])} of all falls; the attention of the answer's tokens {same} first "
            f"(τ-b over sources {number(self.scores.loc['attention', 'tau'])})."
        )

    def write_page(self, path: str | Path) -> None:
        """Write a self-contained page that shows each source's effect and its weight in every explanation."""
        readings = [name for name in self.scores.index if name in self.table]
        largest = {name: self.table[name].clip(lower=0).max() or 1.0 for name in readings}
        rows = [
            {
                "number": place + 1,
                "text": row["text"],
                "heat": max(0.0, float(row["share"])),
                "share": percent(row["share"]),
                "drop": number(row["drop"]),
                "readings": [percent(max(0.0, row[name]) / largest[name]) for name in readings],
            }
            for place, row in self.table.iterrows()
        ]
        known = "precision" in self.scores
        scores = [
            [name, MEANINGS[name], number(row["tau"]), SAME.get(row["same"], "undefined"), number(row["drop"])]
            + ([number(row["precision"])] if known else [])
            + [f"{row['seconds']:.1f}"]
            for name, row in self.scores.iterrows()
        ]
        write_text(
            Path(path),
            render("sources.html", said=self, rows=rows, readings=readings, scores=scores, known=known, limits=LIMITS),
        )

    def as_json(self) -> dict[str, object]:
        """Return all results as values of JSON, with None for undefined numbers."""
        frames = {"sources": self.table.reset_index(names="source"), "readings": self.scores.reset_index(names="reading")}
        tables = {name: frame.astype(object).where(frame.notna(), None).to_dict("records") for name, frame in frames.items()}
        about = {"model": self.model, "question": self.question, "answer": self.answer, "by_groups": self.by_groups}
        return about | {"log_probability": self.log_probability, "sentence": self.sentence} | tables

    def __repr__(self) -> str:
        answer = " ".join(self.answer.split())
        lines = [f"Answer:    {answer}  (log-probability {rounded(self.log_probability)})", f"Sources:   {self.sentence}"]
        for place, row in self.table.sort_values("drop", ascending=False).head(5).iterrows():
            text = row["text"] if len(row["text"]) <= 80 else f"{row['text'][:79]}…"
            lines.append(f"{percent(row['share']):>8}  {int(place) + 1:>3}  {' '.join(text.split())}")
        return "\n".join(lines)
