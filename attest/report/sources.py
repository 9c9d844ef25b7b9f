"""The result of ``attest.sources`` (E18): which parts of its context a decoder's answer comes from.

Its sentence, its page and the terminal name two sources: the one that the answer comes from, and the one that attention names.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from attest.core.errors import AttestError
from attest.core.measures.numbers import number, percent
from attest.experiments.sources import head_weights, scored
from attest.report.explained import printable
from attest.report.templating import render
from attest.runs.folder import write_text

MEANINGS = {
    "leave-one-out": "the fall itself",
    "attention": "mean weight of the rows that lead to the answer, over layers and heads",
    "attention without the first token": "the same, each row without the first token of the text",
    "attention × gradient": "each weight times the gradient by it: what is written for the answer, to first order",
    "rollout": "attention rollout: attention, followed through all layers, back to the tokens",
    "gradient × input": "of the answer's log-probability by each token's embedding",
    "random sets": "a linear model of the log-probability without random sets of sources",
    "learned heads": "attention by head, with weights that were fitted to the sources of other answers",
}
SAME = {1.0: "yes", 0.0: "no"}
LIMITS = (
    "What the answer loses without one source is what this source gives while all others stay: of two sources that say the "
    "same each seems to give little. The numbers are of this answer to this prompt alone."
)
QUOTED, SHOWN, ANSWER = 56, 150, 160
"""The largest numbers of characters: of a source (a part of the context) in a sentence, of a source in its row of the page,
and of the answer."""
LEAVING_OUT, CHANCE = "leave-one-out", "a random source"
NEEDED = math.log(2)
"""A source (a part of the context) counts as needed if the answer's log-probability falls by at least this much without it, in
nats: the answer is then at most half as likely."""
MOST_OF_IT = 0.5
"""If a source is needed and causes at least this share of all falls of the answer's log-probability, a sentence says that the
answer comes *from* it; else that it comes *most from* it."""


class Named(NamedTuple):
    """A source, and why it is shown."""

    place: int
    """The index of the source, from 0."""
    text: str
    share: float
    """How much of the answer comes from this source, in [0, 1]: the fall of the answer's log-probability without the source,
    divided by the sum of the falls of all sources."""
    attention: float | None
    """The attention that the answer pays to this source, divided by the attention to all sources, in [0, 1]; None if that is
    0."""
    deciding: bool
    """Why the source is named: True if the answer loses the most log-probability without it, False if it gets the most
    attention."""

    @property
    def shown(self) -> str:
        """Return its text as one line, cut."""
        return cut(self.text, SHOWN)


class Reading(NamedTuple):
    """A row of the strip: the share of all falls of the source that a reading names first."""

    name: str
    share: float
    place: int | None
    """The index, from 0, of the source that this explanation ranks first. None in the row for a source drawn at random, whose
    share is a mean."""


@dataclass(frozen=True)
class Sources:
    """The sources (parts of the context) of an answer, each with its effect on the answer and its weights."""

    question: str
    answer: str
    log_probability: float
    """The log-probability of the answer when the model reads all sources, in nats."""
    table: pd.DataFrame
    """One row for each source, with the columns: ``text``; ``drop``, how far the answer's log-probability falls without it;
    ``share``, its part of all falls above 0; and one column for each explanation, with the weight that it gives the source."""
    scores: pd.DataFrame
    """One row for each explanation: how well it agrees with leaving out each source (the columns of
    ``attest.experiments.sources.scored``), and the ``seconds`` that it took."""
    model: str
    """The name of the class of the language model."""
    by_head: np.ndarray = field(repr=False)
    """float ``(U, N)``: the attention that the answer pays to each of U sources, in each of the N heads of all layers."""
    truth: Collection[int] = ()
    """The indices, from 0, of the sources that the answer is known to come from, as the user stated them; empty if they are
    not known."""
    by_groups: bool = False
    """Whether sources were left out in groups, to save forward passes. The fall of the answer's log-probability without a
    group is then divided equally among its sources, and only the groups that matter most were divided further."""

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
    def first(self) -> int | None:
        """Return the source, from 0, without which the answer loses most; None if it loses nothing without any of them."""
        drops = self.table["drop"]
        return int(drops.to_numpy().argmax()) if drops.max() > 0 else None

    @property
    def named(self) -> int:
        """Return the source, from 0, that gets most attention."""
        return int(self.table["attention"].to_numpy().argmax())

    @property
    def lines(self) -> list[str]:
        """Return ``sentence`` in its parts: what the answer comes from, what attention names, what it loses."""
        if len(self.table) == 1:
            return [
                "The whole context is one source, so no explanation can be compared: without it the answer's log-probability "
                f"falls by {number(self.table['drop'][0])}. Write each source on a line of its own, or give spans of "
                "characters (units=)."
            ]
        if self.first is None:
            return [
                "No source stands out: without any one of them, the answer's log-probability does not fall.",
                f"Attention names: {self._quoted(self.named)}.",
            ]
        share, shares = self.table["share"][self.first], self.table["share"]
        most = "" if share >= MOST_OF_IT and self.needed else " most"
        about, how = ("about ", ", which were left out in groups: an approximation") if self.by_groups else ("", "")
        part = f"{about}{percent(share)} of all falls over {len(shares)} sources{how}"
        comes = f"Comes{most} from: {self._quoted(self.first)}, {part}."
        if self.named == self.first:
            return [comes, "Attention names it too.", self._lost()]
        named = f"Attention names: {self._quoted(self.named)}, {about}{percent(shares[self.named])}."
        return [comes, named, self._lost()]

    @property
    def needed(self) -> bool:
        """Return whether the answer is half as likely or less without the source that it comes from."""
        return bool(self.table["drop"].max() >= NEEDED)

    @property
    def sentence(self) -> str:
        """Return in words which source the answer comes from, and which one attention names."""
        return " ".join(self.lines[:2])

    def _quoted(self, place: int) -> str:
        return f"“{printable(cut(self.table['text'][place], QUOTED)).rstrip('.')}”"

    def _lost(self) -> str:
        drop = float(self.table["drop"].max())
        without = f"Without source {(self.first or 0) + 1} the answer"
        about = "about " if self.by_groups else ""
        if not self.needed:
            return f"{without} keeps {about}{percent(math.exp(-drop))} of its probability: no source is needed by itself."
        return f"{without} is {about}{times(drop)} less likely."

    @property
    def advice(self) -> str:
        """Return what to show as the source of the answer, as a sentence."""
        if self.first is None or not self.needed:
            return "Show no single source: the answer needs none of them by itself."
        if self.named == self.first:
            return (
                f"Show source {self.first + 1}. Attention names it too, but one answer does not show that it always does: ask "
                "more questions before you show attention as the source."
            )
        return f"Show source {self.first + 1}, not source {self.named + 1}, which attention names."

    @property
    def rows(self) -> list[Named]:
        """Return the source that the answer comes from, and the one that attention names, which may be the same."""
        chosen = [] if self.first is None else [(self.first, True)]
        return [self._row(place, deciding) for place, deciding in [*chosen, (self.named, False)]]

    def _row(self, place: int, deciding: bool) -> Named:
        given = self.table["attention"].sum()
        attention = float(self.table["attention"][place] / given) if given > 0 else None
        return Named(place, self.table["text"][place], float(self.table["share"][place]), attention, deciding)

    @property
    def strip(self) -> list[Reading]:
        """Return the share of the source that each reading names first, the largest first; empty if nothing falls.

        The share of a source by chance is the mean over sources, 1 / U for U sources.
        """
        if self.first is None or len(self.table) == 1:
            return []
        names = [name for name in self.scores.index if name in self.table]
        places = {LEAVING_OUT: self.first} | {name: int(self.table[name].to_numpy().argmax()) for name in names}
        found = [Reading(name, float(self.table["share"][place]), place) for name, place in places.items()]
        found.append(Reading(CHANCE, 1 / len(self.table), None))
        return sorted(found, key=lambda each: each.share, reverse=True)

    def write_page(self, path: str | Path) -> None:
        """Write a self-contained page that shows each source's effect and its weight in every explanation."""
        readings = [name for name in self.scores.index if name in self.table]
        totals = {name: self.table[name].clip(lower=0).sum() or 1.0 for name in readings}
        rows = [
            {
                "number": place + 1,
                "text": row["text"],
                "comes": place == self.first,
                "named": place == self.named,
                "share": percent(row["share"]),
                "drop": number(row["drop"]),
                "readings": [percent(max(0.0, row[name]) / totals[name]) for name in readings],
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
        question, answer = (cut(each, ANSWER) for each in (self.question, self.answer))
        given = {"question": question, "answer": answer, "leaving_out": LEAVING_OUT, "limits": LIMITS}
        write_text(
            Path(path),
            render("sources.html", said=self, rows=rows, readings=readings, scores=scores, known=known, **given),
        )

    def as_json(self) -> dict[str, object]:
        """Return all results as values of JSON, with None for undefined numbers."""
        frames = {"sources": self.table.reset_index(names="source"), "readings": self.scores.reset_index(names="reading")}
        tables = {name: frame.astype(object).where(frame.notna(), None).to_dict("records") for name, frame in frames.items()}
        about = {"model": self.model, "question": self.question, "answer": self.answer, "by_groups": self.by_groups}
        return about | {"log_probability": self.log_probability, "sentence": self.sentence} | tables

    def __repr__(self) -> str:
        answer = printable(cut(self.answer, ANSWER))
        return "\n".join([f"Answer:     {answer}", *self.lines, *self._agreeing()])

    def _agreeing(self) -> list[str]:
        """Return a line on which readings name the source that the answer comes from; none where there is no such source."""
        same = self.scores["same"].drop(index=LEAVING_OUT).dropna()
        if len(self.table) == 1 or same.empty:
            return []
        agree, others = (", ".join(same.index[same == each]) for each in (1, 0))
        return [" ".join(filter(None, [agree and f"Also named by: {agree}.", others and f"Not by: {others}."]))]


def times(drop: float) -> str:
    """Write how many times less likely a fall of the log-probability makes an answer: ``1,700 times``."""
    if drop >= math.log(1e6):
        return "over a million times"
    factor = float(f"{math.exp(drop):.2g}")
    return f"{factor:,.0f} times" if factor >= 10 else f"{factor:g} times"


def cut(text: str, most: int) -> str:
    """Return a text as one line of at most so many characters; it is cut after a word, if that is not far."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    kept = line[: most - 2]
    return f"{kept[: kept.rfind(' ')] if kept.rfind(' ') > most // 2 else kept} …".replace(", …", " …")
