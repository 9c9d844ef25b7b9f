"""The first screen of a page: texts that show the verdict, the strip of readings, and where the explanation is right.

A text is shown as two rows of the same words: what the explanation marks, and what decides.
"""

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from textwrap import shorten
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from attest.core.kinds import CLASSES, TAGS, Kind
from attest.core.measures.numbers import percent, rounded
from attest.experiments.deciding.neutral import WITHOUT_SINK
from attest.experiments.deciding.pointing import MOST
from attest.experiments.deciding.search import LONG
from attest.experiments.readings.compared import title_of
from attest.experiments.readings.kinds import RANDOM
from attest.experiments.verdict import NOT_LEARNED, YES, Share, Verdict, readings_in
from attest.experiments.verdict_errors import error_sentence
from attest.report.answer import advised, doubt, headline, in_a_sentence, instead
from attest.report.explained import Word, printable, words_of
from attest.report.findings import SHOWN_AS, Findings
from attest.report.groupings import GROUP, groupings_of, words_marked
from attest.report.score_bounds import classes_in

CHARACTERS = 56
"""The approximate number of characters to which a shown text is shortened. The words that decide, and those that the
explanation ranks first, are kept before others."""
NAMED = 3
"""The largest number of phrases (neighbouring words of the text) that a line quotes; it only counts the rest."""
FEW_WORDS, MUCH = 3, 0.3
"""Texts that make good examples are preferred: those with at most this many deciding words, and in which these words raise the
probability of the decision by at least the second number (for predicted numbers, by at least the median rise)."""
CARRIES, FULLY = 0.8, 0.9
"""An explanation can be wrong although its first words lead to the decision; the report then says why. They must reach this
part of the rise in probability from no words to the deciding words: the first number if one of them matters by itself, else
the second."""
SHOWN_READINGS = 6
LABEL = 12
"""The width of the label before a line in the terminal, such as ``Decides:``, in characters."""
MARKS = {True: "Right", False: "Wrong"}
NEEDLESS = "no word decides"
WITH_WORDS = 4000
"""The largest number of texts whose words the page's table stores. For further texts it stores only whether the explanation is
right."""


class Drawn(NamedTuple):
    """A word of a shown text."""

    text: str
    heat: float
    """The weight that the explanation gives the word, divided by the largest weight in the text, in [0, 1]."""
    first: bool
    """Whether the word is one of the explanation's first words: those ranked highest, which were tested by letting the model
    read them without the others."""
    decides: bool
    asked: bool
    """Whether this is the word whose tag is explained, in a tagger; always False for models that decide about whole texts."""


LEFT_OUT = Drawn("…", 0.0, False, False, False)


@dataclass(frozen=True)
class ShownText:
    """A text as two rows of the same words, and what is said of it."""

    identity: int
    role: str
    """Why the text is shown, as a word for its heading: the explanation is ``Right`` or ``Wrong`` about it, or it is
    ``Typical``."""
    right: bool
    words: tuple[Drawn, ...]
    """The words that are shown: those that decide, those that the explanation ranks first, and words near them. ``…`` stands
    for all that were left out."""
    whole: str
    said: str
    """The name of what the model decides, such as the predicted class; empty if it predicts a number."""
    marked: str
    """The words that the explanation ranks first, each in quotes, the one with the largest weight first."""
    deciding: str
    alone: Mapping[str, str]
    """The probability of the decision, as text such as ``93 %``, if neutral words replace all words but some. These are, by
    key: ``first``, the explanation's first words; ``words``, the words that decide; ``without``, none. For a model that
    predicts a number: how far the prediction moves."""
    reason: str
    """A sentence that says why the explanation counts as wrong although its first words by themselves lead to the decision;
    empty in all other cases."""
    one_of_many: str = ""
    """For a long text: a phrase that says that these deciding words are only one of several sets that decide. Empty for a
    short text."""
    stands_for: str = ""


class Row(NamedTuple):
    """An explanation in the picture that compares explanations: in how many texts it points at the words that decide."""

    name: str
    share: Share
    tested: bool
    random: bool
    shown: bool
    """Whether this is the explanation that the report recommends to show to users."""


def first_screen(found: Findings) -> dict[str, Any]:
    """Return what the first screen of a page shows of a run: the parts of its sentence, three texts, readings, groupings."""
    verdict, rows = found.verdict, found.deciding
    if verdict is None or rows is None:
        nothing = {"called": "", "headline": None, "doubt": "", "advice": None, "advised": None}
        return nothing | {"texts": [], "strip": [], "groupings": []}
    texts = rows[:0] if verdict.answer == NOT_LEARNED else texts_of(found)
    unit = unit_of(found)
    groupings, tried = groupings_of(texts, unit)
    called = in_a_sentence(SHOWN_AS.get(found.explanation, found.called))
    return {
        "headline": headline(verdict, found.called, found.counted),
        "doubt": doubt(verdict, found.unjudged),
        "advice": instead(verdict, found.called),
        "advised": advised(verdict, called),
        "called": called,
        "texts": shown_texts(texts),
        "strip": strip_of(verdict, rows, called),
        "groupings": groupings,
        "tried": tried,
        "read": verdict.read,
        "counting": 0 if verdict.share is None else verdict.share.texts,
        "unit": unit,
        "fewest": GROUP,
    }


def texts_of(found: Findings) -> pd.DataFrame:
    """Return the texts of a run that need words, as ``texts_with`` does; empty if nobody measured what decides in them."""
    rows, instances, sentences = found.deciding, found.instances, found.tagged
    if rows is None:
        return pd.DataFrame()
    if instances is not None:
        return texts_with(rows, instances, found.class_names, found.kind)
    return rows[:0] if sentences is None else texts_with(rows, sentences, classes_in(found), found.kind)


def each_shown(texts: pd.DataFrame) -> list[ShownText]:
    """Return every text, as it is shown; ``texts`` as ``texts_with`` returns them."""
    if texts.empty:
        return []
    rows = texts.assign(**_measures(texts)).to_dict("records")
    return [_shown(row, MARKS[bool(row["E19/right"])]) for row in rows]


def unit_of(found: Findings) -> str:
    """Return what the verdict counts: ``text``, or ``sentence`` of a tagger."""
    return found.kind.unit


def with_judged(table: dict[str, Any], found: Findings) -> dict[str, Any]:
    """Return the data of the table of texts with what E19 says of its texts; ``table`` as ``instance_table`` returns it.

    Two columns are put first, for texts that E19 has read: whether the explanation is right, and how far its own first words
    carry the decision, as a share of the way that the words which decide go. ``judged`` has the words of each text that needs
    words: text, weight in tenths of the largest, and 1 for a first word, 2 for one that decides, 4 for the asked one, added.
    """
    rows, verdict = found.table("E19"), found.verdict
    if rows is None or verdict is None or verdict.answer == NOT_LEARNED or not rows["id"].is_unique:
        return table
    texts = texts_of(found)
    carried = _measures(texts)["carried"].tolist() if len(texts) else []
    said: dict[int, list[Any]] = {identity: [NEEDLESS, None] for identity in rows["id"][rows["needs_words"] == 0]}
    words: dict[int, list[list[Any]]] = {}
    for text, way in zip(each_shown(texts), carried, strict=True):
        said[text.identity] = [MARKS[text.right].lower(), round(way, 2)]
        if len(words) == WITH_WORDS:
            continue
        flags = [1 * word.first + 2 * word.decides + 4 * word.asked for word in text.words]
        words[text.identity] = [[word.text, round(10 * word.heat), flag] for word, flag in zip(text.words, flags, strict=True)]
    called = in_a_sentence(SHOWN_AS.get(found.explanation, found.called))
    columns = [
        {
            "name": called,
            "meaning": f"Whether {called} points at the words that decide, in the {unit_of(found)}s that E19 has read.",
        },
        {"name": "carried", "meaning": "How far its own first words carry the decision; 1: as far as the words that decide."},
    ]
    start = min(map(len, table["rows"]), default=0) - len(table["columns"])
    return table | {
        "columns": [*columns, *table["columns"]],
        "rows": [[*row[:start], *said.get(row[0], [None, None]), *row[start:]] for row in table["rows"]],
        "judged": words,
        "outcomes": [MARKS[True].lower(), MARKS[False].lower(), NEEDLESS],
    }


def terminal_lines(found: Findings) -> list[str]:
    """Return what a terminal says of a run, in a few lines.

    They are the verdict, what to read instead, which texts do not count, how often such an answer is wrong, a text in two
    rows, and the next command; of an adversary, how it differs from its base. The words that count stand in brackets, so that
    nothing depends on colour.
    """
    said = [str(found.unanswered)] if found.of_sentences else found.sentences
    lines = [f"{'Adversary:':<{LABEL}}{found.answers['E7']}"] if "E7" in found.answers else []
    lines += [f"Verdict:    {line}" for line in said]
    error = None if found.verdict is None else error_sentence(found.verdict.answer, found.explanation)
    lines += [] if error is None else [f"{'Error:':<{LABEL}}{error}"]
    shown, example = first_screen(found)["texts"][:1], found.example
    for text in shown:
        called = found.called if len(found.called) < LABEL - 1 else "marked"
        lines.append(f"{called.capitalize() + ':':<{LABEL}}{bracketed(text.words, lambda word: word.first)}")
        many = f" ({text.one_of_many})" if text.one_of_many else ""
        lines.append(f"{'Decides:':<{LABEL}}{bracketed(text.words, lambda word: word.decides)}{many}")
    if shown or example is not None:
        path = min(str(found.folder.path), os.path.relpath(found.folder.path), key=len)
        identity = shown[0].identity if shown and example is not None else example
        picture = [] if identity is None else ["--out", "text.svg"]
        lines.append(f"{'Next:':<{LABEL}}{shlex.join([*next_command(path, identity), *picture])}")
    return lines


def next_command(path: str, identity: int | None) -> list[str]:
    """Return the command that leads on from a verdict: to a text, or to a model card where no text can be asked for."""
    return ["attest", "card", path] if identity is None else ["attest", "explain", "--run", path, "--id", str(identity)]


def bracketed(words: Sequence[Drawn], chosen: Callable[[Drawn], bool]) -> str:
    """Return the words as one line, the chosen ones in brackets, neighbours together: ``the plot is [not dull] .``"""
    runs = [(kept, " ".join(printable(word.text) for word in run)) for kept, run in groupby(words, key=chosen)]
    return " ".join(f"[{run}]" if kept else run for kept, run in runs)


def strip_of(verdict: Verdict, rows: pd.DataFrame, called: str) -> list[Row]:
    """Return the readings that were asked, the largest share first; the tested one and a random order are always there.

    Args:
        rows: the table of E19.
        called: the tested explanation in words.
    """
    if verdict.share is None:
        return []
    best = None if verdict.instead is None else verdict.instead[0]
    found = [Row(called, verdict.share, True, False, verdict.answer == YES)]
    asked = [(name, share) for name, share in readings_in(rows).items() if share.texts]
    found += [Row(_in_words(name, called), share, False, name == RANDOM, name == best) for name, share in asked]
    found.sort(key=lambda row: row.share.value, reverse=True)
    kept = [row for row in found if row.tested or row.random or row.shown]
    others = [row for row in found if row not in kept][: max(0, SHOWN_READINGS - len(kept))]
    return [row for row in found if row in kept or row in others]


def _in_words(name: str, called: str) -> str:
    """Return the name of a reading, by its column, as it stands beside the tested explanation."""
    if name == RANDOM:
        return "random order"
    return f"{called} without its sink" if name == WITHOUT_SINK else in_a_sentence(title_of(name))


def texts_with(rows: pd.DataFrame, instances: pd.DataFrame, named: Sequence[str], kind: Kind = CLASSES) -> pd.DataFrame:
    """Return the texts that need words, with what E19 measured of them, and ``said``, the decision in words.

    Args:
        rows: the table of E19.
        instances: the table of the texts, or of a tagger's sentences.
        named: the names of the classes or of the tags; empty where the model returns a number.
        kind: what the model decides.
    """
    if not {"first", "matter", "right"} <= {*rows} or not rows["id"].is_unique:  # of an older version, or in several windows
        return rows[:0]
    measured = rows.dropna(subset=["right"]).set_index("id").add_prefix("E19/")
    found = instances.set_index("id", drop=False).join(measured, how="inner")
    return found.assign(said=[_said(row, named, kind) for row in found.to_dict("records")])


def _said(row: Mapping[str, Any], named: Sequence[str], kind: Kind) -> str:
    if kind.asks:
        return f"{'' if row[kind.predicted] else 'not '}{row['asked']}"
    if kind == TAGS:
        return named[int(row[kind.predicted][int(row["E19/token"])])]
    return named[int(row[kind.predicted])] if kind.chooses else ""


def shown_texts(texts: pd.DataFrame) -> list[ShownText]:
    """Return up to three texts, chosen by rule: one of the more frequent outcome, one of the other, and a typical one.

    They are chosen among texts in which few words decide by much and the model is right. Of wrong texts, it is the one in
    which the first words of the explanation, alone, are farthest from those that decide, and they have no word in common;
    of right texts, the one in which words decide by most, and both mark the same words. A text that is shown whole goes before
    others. The typical text is that of the more frequent outcome whose length, number of words and share of the way are
    nearest to the medians, in ranks. Where no text meets a condition, the condition is left out; ties go by id.

    Args:
        texts: as ``texts_with`` returns them.
    """
    if texts.empty:
        return []
    texts = texts.sort_index()
    texts = texts.assign(**_measures(texts))
    usual = bool(texts["E19/right"].mean() >= 0.5)
    chosen: list[tuple[str, Any]] = []
    for outcome in (usual, not usual):
        found = texts[texts["E19/right"] == outcome]
        for condition in ("clear", "alike" if outcome else "apart", "whole"):
            found = found[found[condition]] if found[condition].any() else found
        if len(found):
            chosen.append((MARKS[outcome], found["gap" if outcome else "differs"].idxmax()))
    rest = texts[(texts["E19/right"] == usual) & ~texts.index.isin([each for _, each in chosen])]
    if len(rest):
        ranks = rest[["length", "E19/words", "carried"]].rank()
        chosen.append(("Typical", (ranks - (len(rest) + 1) / 2).abs().sum(axis=1).idxmin()))
    many = int((texts["E19/right"] == usual).sum())
    stands_for = f"{MARKS[usual].lower()}, as in {many} of {len(texts)}"
    shown = [_shown(texts.loc[each].to_dict(), role) for role, each in chosen]
    return [replace(each, stands_for=stands_for) if each.role == "Typical" else each for each in shown]


def _measures(texts: pd.DataFrame) -> dict[str, Any]:
    of_number = "E19/moved_with_words" in texts
    names = [f"E19/{'moved_' * of_number}{name}" for name in ("with_words", "with_first", "without_words")]
    decide, marked, nothing = (texts[name] * (-1 if of_number else 1) for name in names)
    gap = decide - nothing
    rightly = texts["predicted"] == texts["label"] if {"predicted", "label"} <= {*texts} else True
    sets = [*zip(texts["E19/first"].map(np.asarray), texts["E19/decides"].map(np.asarray), strict=True)]
    least = gap.quantile(0.5) if of_number else MUCH
    return {
        "gap": gap,
        "differs": (decide - marked).abs(),
        "carried": ((marked - nothing) / gap.where(gap != 0)).fillna(0.0),
        "clear": (texts["E19/words"] <= FEW_WORDS) & (gap >= least) & rightly,
        "alike": [np.array_equal(*pair) for pair in sets],
        "apart": [not np.any(np.minimum(*pair)) for pair in sets],
        "whole": texts["tokens"].map(lambda tokens: len(" ".join(tokens)) <= CHARACTERS),
        "length": texts["tokens"].map(len),
    }


def _shown(row: Mapping[str, Any], role: str) -> ShownText:
    words = words_of(row)
    marks = {name: words_marked(row[f"E19/{name}"], words) for name in ("first", "decides", "matter")}
    heat = _heat(row, words, marks["first"])
    asked = row.get("E19/token", np.nan)
    drawn = tuple(
        Drawn(word.text, float(heat[place]), bool(marks["first"][place]), bool(marks["decides"][place]), asked in word.places)
        for place, word in enumerate(words)
        if not word.special
    )
    right = bool(row["E19/right"])
    return ShownText(
        identity=int(row["id"]),
        role=role,
        right=right,
        words=tuple(elided(drawn)),
        whole=" ".join(word.text for word in drawn),
        said=str(row["said"]),
        marked=quoted(drawn, lambda word: word.first, by_weight=True),
        deciding=quoted(drawn, lambda word: word.decides),
        alone=_alone(row),
        reason="" if right else _reason(row["carried"], int(marks["first"].sum()), int(marks["matter"].sum())),
        one_of_many=_one_of_many(int(marks["decides"].sum()), len(drawn)),
    )


def _one_of_many(deciding: int, words: int) -> str:
    """Return that many sets decide a long text, of which the search finds one; empty for a short text."""
    if words <= LONG:
        return ""
    return f"one set of {deciding} of {words:,} words that is enough; others may be, too"


def _heat(row: Mapping[str, Any], words: Sequence[Word], first: np.ndarray) -> np.ndarray:
    """Return the weight of each word as a share of the largest; of taggers only which words come first is known."""
    attention = row.get("attention")
    if attention is None or len(attention) != len(row["tokens"]):
        return first.astype(float)
    weights = np.nan_to_num(np.asarray(attention, dtype=float))
    of_words = np.array([0.0 if word.special else weights[word.places].sum() for word in words])
    return of_words / of_words.max() if of_words.max(initial=0.0) > 0 else np.zeros(len(words))


def elided(words: Sequence[Drawn], most: int = CHARACTERS) -> Iterator[Drawn]:
    """Yield the words that count, and the nearest around them, as many as fit; ``…`` stands for the others.

    Where the words that count are too many themselves, those nearest to words that decide are shown, twice as many characters.
    """
    sizes = np.array([len(word.text) + 1 for word in words])
    counts = np.array([word.first or word.decides or word.asked for word in words])
    deciding = np.array([word.decides or word.asked for word in words])
    many = sizes[counts].sum() > 2 * most
    around = np.flatnonzero(deciding if many and deciding.any() else counts if counts.any() else np.ones(len(words)))
    distance = np.abs(np.arange(len(words))[:, None] - around).min(axis=1)
    order = distance.argsort(kind="stable")
    kept = np.zeros(len(words), bool) if many else counts
    kept[order[sizes[order].cumsum() <= (2 if many else 1) * most]] = True
    for place, word in enumerate(words):
        if kept[place]:
            yield word
        elif place == 0 or kept[place - 1]:
            yield LEFT_OUT


def quoted(words: Sequence[Drawn], chosen: Callable[[Drawn], bool], by_weight: bool = False) -> str:
    """Return the chosen words in quotes, neighbours together: ``“not dull”, “good” and 2 more``.

    Args:
        by_weight: whether the words with the largest weight come first, in place of the order of the text.
    """
    runs = [[*run] for kept, run in groupby(words, key=chosen) if kept]
    if by_weight:
        runs.sort(key=lambda run: max(word.heat for word in run), reverse=True)
    named = [shorten(" ".join(word.text for word in run), CHARACTERS, placeholder=" …") for run in runs[:NAMED]]
    more = f" and {len(runs) - NAMED} more" if len(runs) > NAMED else ""
    return f"{', '.join(f'“{run}”' for run in named)}{more}" if runs else "no word"


def _alone(row: Mapping[str, Any]) -> dict[str, str]:
    names = {"first": "with_first", "words": "with_words", "without": "without_words"}
    if "E19/moved_with_words" in row:
        return {key: f"{rounded(row[f'E19/moved_{name}'])} away" for key, name in names.items()}
    return {key: percent(row[f"E19/{name}"]) for key, name in names.items()}


def _reason(carried: float, first: int, matter: int) -> str:
    """Say why words that carry the decision count as wrong; empty where they do not carry it."""
    if carried < (CARRIES if matter else FULLY):
        return ""
    if not matter:
        return "together they are enough, but none of them makes a difference by itself"
    if matter < MOST * first:
        unneeded = f"{first - matter} of these {first} words {'is' if first - matter == 1 else 'are'} not needed"
        return f"together they are enough, but {unneeded}, which is more than the allowed quarter"
    return "they are enough, but the first of them makes no difference by itself, or words against the decision weigh as much"
