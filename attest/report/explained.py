"""Explanations of single texts, each with one weight for each token: attention and all other readings, shown in a terminal, in
a notebook and on a page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from attest.core.kinds import Kind
from attest.core.measures.numbers import significant
from attest.experiments.registry import EXPERIMENTS
from attest.report.readings import readings_of_text
from attest.report.templating import render
from attest.runs.folder import INSTANCES, write_text

TOP = 3
"""The number of words, those with the largest weights, that the terminal names below each explanation."""


@dataclass(frozen=True)
class Explanation:
    """An explanation of one text: one weight for each token."""

    key: str
    """The place of the weights in the results: the id of an experiment and a column of its table, such as
    ``E1/gradient_inputs``."""
    name: str
    kind: str
    """What the weights are: ``attention``; ``importance`` of the tokens for the prediction; or ``adversary``, an attention
    that is very different and gives the same prediction."""
    weights: np.ndarray
    """float ``(T,)``: the weight of each token, at least 0; NaN where it is undefined."""
    note: str = ""

    def of_words(self, words: Sequence["Word"]) -> np.ndarray:
        """Return the weight of each of W words, float ``(W,)``: the sum over its tokens; special tokens count 0."""
        weights = np.nan_to_num(self.weights).tolist()
        return np.array([0.0 if word.special else sum(weights[place] for place in word.places) for word in words], dtype=float)

    def heat(self, words: Sequence["Word"]) -> np.ndarray:
        """Return the weights of words relative to the largest one, in [0, 1]; all 0 if no weight is positive."""
        weights = self.of_words(words)
        largest = weights.max(initial=0.0)
        return weights / largest if largest > 0 else weights

    def top(self, words: Sequence["Word"]) -> list[tuple[str, float]]:
        """Return the words with the largest positive weights, and these weights."""
        weights = self.of_words(words)
        order = np.argsort(-weights, kind="stable")[:TOP]
        return [(words[place].text, float(weights[place])) for place in order if weights[place] > 0]


@dataclass(frozen=True)
class Word:
    """A word of a text, or a special token."""

    text: str
    special: bool
    """Whether the word is a special token of the tokenizer, such as [CLS], which is no part of the text."""
    places: list[int]


PIECE_MARKS = ("##", "Ġ", "▁")
"""The marks in the spelling of subwords: ``##`` means that a token continues a word, ``Ġ`` and ``▁`` that it begins one."""


def words_of(row: Mapping[str, Any]) -> list[Word]:
    """Return the words of a text from its table row; without word indices each token is a word."""
    tokens, known, special = (row[name] if _is_list(row.get(name)) else [] for name in ("tokens", "word", "special"))
    words: list[Word] = []
    for place, token in enumerate(tokens):
        apart = bool(len(special) and special[place])
        if len(known) and place and known[place] >= 0 and known[place] == known[place - 1]:
            last = words.pop()
            words.append(Word(last.text + _unmarked(token), last.special, [*last.places, place]))
        else:
            words.append(Word(_unmarked(token) if len(known) and not apart else token, apart, [place]))
    return words


def _unmarked(token: str) -> str:
    for mark in PIECE_MARKS:
        token = token.removeprefix(mark)
    return token


def _is_list(values: Any) -> bool:
    return isinstance(values, np.ndarray | list)


ATTENTION = f"{INSTANCES}/attention"
_BESIDE_ATTENTION = sorted(EXPERIMENTS.values(), key=lambda spec: spec.id != "E19")
SHOWN = {f"{spec.id}/{weights.column}": weights for spec in _BESIDE_ATTENTION for weights in spec.weights}
"""Descriptions of all columns that hold one weight for each token, by experiment and column, such as ``E1/gradient_inputs``.
Those of E19 (which words decide?) come first."""
WANTED = {*SHOWN, *(f"{key.split('/')[0]}/{column}" for key, weights in SHOWN.items() for column in weights.quotes)}
"""The columns, as experiment and column, that must be read to show explanations: their weights, and what the notes below them
quote. Of E19 (which words decide?) all columns are read in any case."""


def joined(tables: Mapping[str, pd.DataFrame], attention_name: str = "Attention") -> pd.DataFrame:
    """Return the table of texts, with one column for each explanation, such as ``E1/gradient_inputs``.

    Args:
        tables: the tables by experiment, one row for each instance; ``instances`` is one of them.
    """
    rows = tables[INSTANCES].set_index("id", drop=False)
    rows = rows.assign(**{f"{INSTANCES}/attention": rows["attention"], "attention_name": attention_name})
    for experiment, table in tables.items():
        chosen = [column for column in table if f"{experiment}/{column}" in WANTED or (experiment == "E19" and column != "id")]
        if experiment != INSTANCES and chosen and table["id"].is_unique:
            rows = rows.join(table.set_index("id")[chosen].add_prefix(f"{experiment}/"))
    return rows


def said_of(row: Mapping[str, Any], class_names: Sequence[str], kind: Kind) -> dict[str, str | None]:
    """Return in words what is true of a text (``label``; None if unknown) and what is ``predicted``: classes or numbers."""

    def told(value: Any) -> str:
        return class_names[int(value)] if kind.chooses else significant(value)

    return {"label": told(row[kind.label]) if kind.label in row else None, "predicted": told(row[kind.predicted])}


def explanations(row: Mapping[str, Any], in_detail: bool = False) -> list[Explanation]:
    """Return the explanations to show for one text, attention first."""
    found = []
    if _is_list(row.get(ATTENTION)):
        weights = np.asarray(row[ATTENTION], dtype=float)
        found.append(Explanation(ATTENTION, row.get("attention_name", "Attention"), "attention", weights))
    for key, shown in SHOWN.items():
        if _is_list(row.get(key)) and (in_detail or not shown.in_detail) and shown.is_shown(row):
            weights = np.asarray(row[key], dtype=float)
            found.append(Explanation(key, shown.title, shown.kind, weights, shown.note(row)))
    return found


def contents(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a text as data for a page: ``question``, ``words``, ``decides`` and ``explanations``.

    ``decides`` says for each word whether it decides the label; it is empty if this is unknown. ``question`` is the question
    or the hypothesis; it is None if the model read the text alone.
    """
    words, question, rationale = words_of(row), row.get("question"), row.get("rationale")
    return {
        "question": None if question is None else " ".join(question),
        "words": words,
        "decides": [] if rationale is None else [any(rationale[place] for place in word.places) for word in words],
        "explanations": explanations(row),
    }


COLOURS = {"attention": (0, 114, 178), "importance": (230, 159, 0), "adversary": (213, 94, 0)}
"""The colour of each kind of explanation as red, green and blue from 0 to 255: blue, orange and vermilion of Okabe and Ito's
palette, as on the page."""
VISIBLE = 0.02
"""Tokens get no background colour if their weight is below this share of the largest weight in the text."""
READINGS_HEADING = "All readings of this text"
LONG = 400
"""From this number of words on, the terminal prints a text in full only with its attention. For all other explanations it then
names only the words with the largest weights."""


def print_explained(texts: Sequence[Mapping[str, Any]], console: Console | None = None) -> None:
    """Print each text's prediction and explanations; the background colour of a word shows its weight.

    Args:
        texts: rows of ``joined``, with ``title``, ``tokens``, ``unknown``, ``predicted`` and ``probabilities``.
        console: the console; standard output if None. Without colour the heaviest tokens are still named.
    """
    console = console or Console(highlight=False)
    for text in texts:
        outcome = "  ".join(f"{printable(name)} {share:.3f}" for name, share in text["probabilities"].items())
        console.print(Text(f"\n{text['title']}: {printable(text['predicted'])}", style="bold"))
        if outcome:
            console.print(Text(f"  {outcome}"))
        if text["unknown"]:
            console.print(Text(f"  unknown words, all alike to the model: {printable(', '.join(text['unknown']))}"))
        words = words_of(text)
        for place, explanation in enumerate(explanations(text, in_detail=True)):
            note = f"  {explanation.note}" if explanation.note else ""
            console.print(Text.assemble(("\n" + explanation.name, "bold"), (note, "dim")))
            if place == 0 or len(words) < LONG:
                console.print(coloured(explanation, words))
            heaviest = ", ".join(f"{printable(word)} {weight:.3g}" for word, weight in explanation.top(words))
            without = "undefined" if np.isnan(explanation.weights).any() else "no word has any weight"
            console.print(Text(f"most: {heaviest}" if heaviest else without, style="dim"))
        _print_readings(console, text)


def _print_readings(console: Console, text: Mapping[str, Any]) -> None:
    readings = readings_of_text(text, text["tokens"])
    if readings is None:
        return
    table = Table(title=READINGS_HEADING, title_justify="left", box=None, pad_edge=False)
    for place, header in enumerate(readings.header):
        table.add_column(header, no_wrap=place == 0)  # names never wrap on a narrow terminal, other cells do
    for row in readings.rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    console.print()
    console.print(table)
    console.print(Text(readings.legend, style="dim"))


def coloured(explanation: Explanation, words: Sequence[Word]) -> Text:
    """Return the words as one line; the background colour of a word shows its weight."""
    line = Text()
    for word, heat in zip(words, explanation.heat(words), strict=True):
        mixed = (round(255 - float(heat) * (255 - part)) for part in COLOURS[explanation.kind])  # with white
        style = Style(color="black", bgcolor=Color.from_rgb(*mixed)) if heat >= VISIBLE else None
        line.append(printable(word.text), style="dim" if word.special else style)
        line.append(" ")
    return line


def printable(text: str) -> str:
    """Return a text with every character that could control the terminal replaced."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def write_explained(path: Path, texts: Sequence[Mapping[str, Any]], run: str) -> None:
    """Write a self-contained HTML page with texts and their explanations."""
    shown = [
        contents(text)
        | {
            "id": place,
            "title": text["title"],
            "label": text.get("label"),
            "predicted": text["predicted"],
            "confidence": max(text["probabilities"].values(), default=None),
            "explanations": explanations(text, in_detail=True),
            "unknown": text["unknown"],
            "readings": readings_of_text(text, text["tokens"]),
        }
        for place, text in enumerate(texts, start=1)
    ]
    write_text(path, render("explained.html", run=run, texts=shown))
