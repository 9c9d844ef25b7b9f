"""The forms that texts and their labels have in a file: the usual names of columns, and what a row may hold in them.

A form is added as a subclass of ``Form``, with an entry in ``FORMS`` where a kind of decision needs it.
"""

import ast
import json
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from string import ascii_uppercase
from typing import Any, ClassVar

from attest.core.errors import AttestError
from attest.core.kinds import CHOICE, NUMBER, SPANS, TAGS, Kind
from attest.core.label_sets import label_sets
from attest.core.label_values import UNSEEN, quoted_list, several_of, value_of
from attest.core.labels import columns_named, whole
from attest.datamodules.notice import say, shortened

HALF_CHARACTER = re.compile("[\ud800-\udfff]")
"""Matches one half of a UTF-16 surrogate pair. JSON can contain one, but it is no character, so a text with one is refused."""
TEXT_NAMES = (
    "text",
    "sentence",
    "review",
    "content",
    "document",
    "body",
    "comment",
    "tweet",
    "description",
    "question",
    "title",
)
LABEL_NAMES = (
    "label_text",
    "label_name",
    "label",
    "labels",
    "label_ids",
    "class",
    "category",
    "sentiment",
    "target",
    "topic",
    "stars",
    "rating",
    "score",
)
FIRST_NAMES = ("premise", "sentence1", "sentence_1", "sentence_a", "text1", "text_1", "text_a", "question1")
SECOND_NAMES = ("text_pair", "hypothesis", "sentence2", "sentence_2", "sentence_b", "text2", "text_2", "text_b", "question2")
TOKEN_NAMES = ("tokens", "words")
TAG_NAMES = ("tags", "chunk_tags", "ner_tags", "pos_tags", "labels", "label_ids")
"""Usual names of the column with tags in data sets, the most likely first. If the user names no column, the first one that a
file has is read."""
CHOICE_NAMES = ("choices", "endings", "options", "candidates")
EACH_CHOICE = re.compile(
    r"(?:(choice|ending|option|candidate|answer|sol)[ _]?)?([a-z])|(choice|ending|option|candidate|answer|sol)[ _]?(\d+)"
)
"""Matches the usual name, in small letters, of a column with one of several choices: ``ending0``, ``choice_2``, ``a``."""
PASSAGE_NAMES = ("context", "passage", "paragraph", "document", "article", "text", "content")
QUESTION_NAMES = ("question", "query")


def first_of(known: Sequence[str], names: Sequence[str], other_than: str | None = None) -> str | None:
    """Return the column of ``names`` that comes first in ``known``, ignoring case; None if ``known`` has none of them."""
    there = [name for name in names if name != other_than]
    by_its_name = {name.lower(): name for name in there} | {name: name for name in there}
    return next((by_its_name[name] for name in known if name in by_its_name), None)


class Form:
    """Texts, or pairs of texts, with one label each. The other forms say what differs."""

    called: ClassVar[str] = "texts and labels"
    """What the rows of a file hold, as it is said once the columns were chosen."""
    expected: ClassVar[str] = "a text and a known label"
    """What every row must hold, as a refusal says it."""
    header: ClassVar[str] = "text,label"
    """A first line that a CSV file could have."""
    texts: ClassVar[tuple[str, ...]] = (*FIRST_NAMES, *TEXT_NAMES, *TOKEN_NAMES)
    """The usual names of the column of texts, the most likely first."""
    labels: ClassVar[tuple[str, ...]] = LABEL_NAMES
    """The usual names of the column of labels, the most likely first."""
    second: ClassVar[str | None] = None
    """What stands beside every text; None if a text can be alone."""
    in_columns: ClassVar[bool] = False
    """Whether what stands beside a text can have several columns."""
    tagging: ClassVar[bool] = False
    """Whether texts are lists of words with a tag each."""
    classes: ClassVar[bool] = True
    """Whether labels are names of classes, so that a sample of the texts should have each of them."""

    def beside(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the columns of what stands beside a text, found by their usual names; empty if there are none."""
        return _usual(SECOND_NAMES, names)

    def joined(self, _names: Sequence[str]) -> tuple[str, ...]:
        """Return columns that only together are the text of this form, so that none of them is guessed; else empty."""
        return ()

    def each(self, _names: Sequence[str]) -> tuple[str, ...]:
        """Return a column for each label, where such columns say by 0 and 1 which labels a text has; else empty."""
        return ()

    def read(self, text: Any, beside: Sequence[Any], label: Any, words: bool) -> tuple[Any, Any]:
        """Return the text and the label of a row.

        Args:
            text, beside, label: the cells of the row.
            words: whether the text is a list of words.
        Raises:
            ValueError: the row has no such text or no such label; the message says why.
        """
        return text_of(text, beside, words), label_of(label)

    def settled(self, labels: list[Any]) -> list[Any]:
        """Return the labels of a whole file as a trial takes them, once all of them are known; None for a row to leave out."""
        return labels


class Tags(Form):
    """Lists of words, with one tag for each word."""

    called, texts, labels, tagging = "tokens and tags", (*TOKEN_NAMES, *TEXT_NAMES), TAG_NAMES, True

    def beside(self, names: Sequence[str]) -> tuple[str, ...]:
        return ()

    def read(self, text: Any, beside: Sequence[Any], label: Any, words: bool) -> tuple[list[str], list[str]]:
        found, tags = words_of(text), _listed(label)
        if not isinstance(tags, list):
            raise ValueError("missing label")
        if len(tags) != len(found):
            raise ValueError(f"the number of words is {len(found)}, but the number of tags is {len(tags)}")
        return found, [*map(label_of, tags)]


class Several(Form):
    """Texts, or pairs of texts, with any number of labels each.

    Args:
        names: the names of all labels, in the order of the model.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)

    def each(self, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(columns_named(self.names, names))

    def read(self, text: Any, beside: Sequence[Any], label: Any, words: bool) -> tuple[Any, Any]:
        labels = several_of(label, self.names)
        if None in labels:
            raise ValueError("missing label")
        for each in labels:
            label_of(each)
        return text_of(text, beside, words), label if isinstance(label, list) else string_of(label, "label") if labels else []

    def settled(self, labels: list[Any]) -> list[list[str]]:
        rows = label_sets(labels, len(labels), self.names)
        return [[name for name, there in zip(self.names, row, strict=True) if there] for row in rows]


class Numbers(Form):
    """Texts, or pairs of texts, with one number each."""

    classes = False


class Choices(Form):
    """Texts with several choices each, of which one is right.

    The choices are a list in one column; a dictionary with this list as ``text`` and a name for each as ``label``, as ARC and
    CommonsenseQA have it; or they stand in a column each, as in SWAG. The right one is given by its text; by its name, if
    choices have names; else by its number, counted from 0, or by its letter, from A.
    """

    called, second, in_columns, classes = "texts, choices and labels", "choices", True, False
    expected = "a text, choices, and the right one: its number (from 0), its letter (from A) or its text"
    header = "text,choice0,choice1,label"
    texts = (
        "text",
        "startphrase",
        "sent1",
        "context",
        "ctx",
        "passage",
        "article",
        "premise",
        "question",
        "question_stem",
        "goal",
        "sentence",
        "prompt",
    )
    labels = ("label", "labels", "answerkey", "answer_key", "answer", "correct", "gold", "target")

    def __init__(self) -> None:
        self.count: int | None = None
        """The number of choices of the first text, which all texts must have."""

    def beside(self, names: Sequence[str]) -> tuple[str, ...]:
        return _usual(CHOICE_NAMES, names) or _numbered(names)

    def joined(self, names: Sequence[str]) -> tuple[str, ...]:
        asked = _usual(QUESTION_NAMES, names)
        about = _usual([name for name in self.texts if name not in QUESTION_NAMES], names)
        return (*about, *asked) if asked and about else ()

    def read(self, text: Any, beside: Sequence[Any], label: Any, words: bool) -> tuple[tuple[str, list[str]], int | str]:
        """Return a text with its choices, and the place of the right one: as a string where only a number says it."""
        given = {"text": [*beside]} if len(beside) > 1 else _texts_in(beside[0])
        if given is None:
            raise ValueError("no list of choices (choices in a column each are named together: a,b,c)")
        choices = [string_of(each, "choice") for each in given["text"]]
        if len(choices) < 2:
            raise ValueError("fewer than two choices")
        self.count = self.count or len(choices)
        if len(choices) != self.count:
            raise ValueError(f"{len(choices)} choices, where the first text has {self.count}")
        return (string_of(text, "text"), choices), self._right(label_of(label), choices, given.get("label") or [])

    def _right(self, said: str, choices: Sequence[str], names: Sequence[Any]) -> int | str:
        if names and (len(names) != len(choices) or not all(isinstance(name, str) for name in names)):
            raise ValueError(f"{len(choices)} choices that have no name each")
        of_text = {place for place, choice in enumerate(choices) if label_of(choice) == said}
        letters = [*map(label_of, names)] if names else ascii_uppercase
        of_name = {place for place, letter in enumerate(letters[: len(choices)]) if letter == said}
        number = None if names else whole(said)
        if number == len(choices) and not of_text:
            raise AttestError(
                f"a right choice has the number {said}, and its text has {len(choices)} choices, so choices seem to be "
                "counted from 1; expected numbers from 0. Subtract 1, or give letters from A."
            )
        of_number = {place for place in range(len(choices)) if place == number}
        if len(places := of_text | of_name | of_number) > 1:
            raise ValueError(
                f"label {shortened(said)!r}, which means one choice by its text and another by its number or letter"
            )
        if not places:
            known = f"called {', '.join(letters)}" if names else "counted from 0, or from A"
            raise ValueError(f"label {shortened(said)!r} for {len(choices)} choices, which are {known}")
        return str(number) if of_number and not of_text else places.pop()

    def settled(self, labels: list[Any]) -> list[int]:
        """Return the place of each right choice; refuse numbers that may be counted from 1."""
        numbers = sorted({int(label) for label in labels if isinstance(label, str)})
        if numbers and numbers[0]:
            raise AttestError(
                f"the labels are the numbers {', '.join(map(str, numbers))} without 0, so they have two meanings: choices may "
                "be counted from 0 or from 1; expected labels with one meaning. Give letters from A, or the texts of right "
                "choices."
            )
        return [*map(int, labels)]


class Answers(Form):
    """Questions with a passage each, and the right answer, or several right answers, as strings.

    Answers are a string, a list, or a dictionary with this list as ``text``, as SQuAD has it. An empty list says that the
    passage has no answer, as in SQuAD 2; such questions are left out.
    """

    called, second, classes = "questions, passages and answers", "passages", False
    expected = "a question, a passage, and a right answer or a list of them ([] if there is none)"
    header = "question,context,answers"
    texts, labels = QUESTION_NAMES, ("answers", "answer", "answer_text", "answers.text", "label", "labels", "gold", "target")

    def beside(self, names: Sequence[str]) -> tuple[str, ...]:
        return _usual(PASSAGE_NAMES, names)

    def read(self, text: Any, beside: Sequence[Any], label: Any, words: bool) -> tuple[tuple[str, str], list[str]]:
        (passage,), given = beside, _texts_in(label)
        answers = [string_of(value_of(each), "right answer") for each in ([label] if given is None else given["text"])]
        return (string_of(text, "question"), string_of(passage, "passage")), answers

    def settled(self, labels: list[Any]) -> list[list[str] | None]:
        """Return the right answers to each question; None where there is none, whose number is printed."""
        without = labels.count([])
        if without == len(labels):
            raise AttestError(f"no question has an answer ({without} empty lists); expected questions with answers.")
        if without:
            say(f"{without:,} of {len(labels):,} questions have no answer and are left out: the model always marks one.")
        return [label or None for label in labels]


FORMS: dict[Kind, type[Form]] = {TAGS: Tags, NUMBER: Numbers, CHOICE: Choices, SPANS: Answers}
"""The form of the files for models of each kind of decision; ``Form`` for those without an entry."""


def form_for(kind: Kind, names: Sequence[str] = ()) -> Form:
    """Return the form of the files for models of a kind.

    Args:
        names: the names of the labels of a model that can give several to a text.
    """
    return Several(names) if kind.asks else FORMS.get(kind, Form)()


# Cells


def string_of(cell: Any, what: str) -> str:
    """Return a cell as a text that is not empty; a ``ValueError`` says why it is none."""
    if isinstance(cell, list | tuple | dict):
        raise ValueError(f"{'an object' if isinstance(cell, dict) else 'a list'} instead of a {what}")
    try:
        text = cell.decode() if isinstance(cell, bytes) else str(cell)
    except UnicodeDecodeError:
        raise ValueError("bytes that are not UTF-8") from None
    if cell is None or (isinstance(cell, float) and math.isnan(cell)) or not text.strip(UNSEEN):
        raise ValueError(f"missing {what}")
    return _encodable(text)


def words_of(cell: Any) -> list[str]:
    """Return a cell as a list of words; a ``ValueError`` says why it is none."""
    words = _listed(cell)
    if not isinstance(words, list) or not words:
        raise ValueError("missing text")
    if not all(isinstance(word, str) and word for word in words):
        raise ValueError("a word that is empty or not text")
    return [_encodable(word) for word in words]


def text_of(cell: Any, beside: Sequence[Any], words: bool) -> Any:
    """Return a cell as a text or a list of words, or as a pair with the text beside it; a ``ValueError`` says why not."""
    found = words_of(cell) if words else string_of(cell, "text")
    return (found, *(string_of(each, "second text") for each in beside)) if beside else found


def label_of(cell: Any) -> str:
    """Return a cell as one label; a ``ValueError`` says why it is none."""
    return string_of(value_of(cell), "label")


def _encodable(text: str) -> str:
    if HALF_CHARACTER.search(text):
        raise ValueError("half a character")
    if "\0" in text:
        raise ValueError("a null character")
    return text


def _listed(cell: Any) -> Any:
    """Return a list that was written as text, with quotation marks or with blanks between, as the list."""
    return quoted_list(cell) or cell.split() if isinstance(cell, str) else cell


def _usual(known: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    found = first_of(known, names)
    return () if found is None else (found,)


def _numbered(names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of choices that have a column each, by their numbers or letters; empty if these leave doubts."""
    series: dict[tuple[str, bool], dict[int, str]] = defaultdict(dict)
    for name in names:
        if match := EACH_CHOICE.fullmatch(name.lower()):
            stem, letter, numbered, number = match.groups()
            place = ord(letter) - ord("a") if letter else int(number)
            series[stem or numbered or "", bool(letter)][place] = name
    whole_ones = [of for of in series.values() if len(of) > 1 and sorted(of) in ([*range(len(of))], [*range(1, len(of) + 1)])]
    return tuple(name for _, name in sorted(whole_ones[0].items())) if len(whole_ones) == len(series) == 1 else ()


def _texts_in(cell: Any) -> dict[str, list[Any]] | None:
    """Return the list of texts in a cell as ``text``, and their names as ``label`` if they have some; None if it holds none.

    The cell is a list of texts; a dictionary with this list as ``text``; a list of dictionaries with a ``text`` each; or one
    of these, written as text.
    """
    found = _written(cell) if isinstance(cell, str) else cell
    if isinstance(found, list) and found and all(isinstance(each, dict) for each in found):
        found = {name: [each.get(name) for each in found] for name in ("text", "label") if name in found[0]}
    if isinstance(found, dict) and not all(isinstance(found.get(name, []), list) for name in ("text", "label")):
        raise ValueError("an object in which text or label is no list")
    if isinstance(found, dict) and "text" not in found:
        raise ValueError("an object without a list called text")
    return {"text": found} if isinstance(found, list) else found if isinstance(found, dict) else None


def _written(cell: str) -> Any:
    """Return a list or an object that was written into a cell as text by JSON, Python, pandas or numpy; None if it is none."""
    inside = re.sub(r"array\((\[.*?\])(?:,\s*dtype=\w+)?\)", r"\1", cell.strip(), flags=re.DOTALL)
    if (inside[:1], inside[-1:]) not in (("[", "]"), ("{", "}")):
        return None
    if inside.startswith("[") and (found := quoted_list(inside)) is not None:
        return found
    for read in (json.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return read(inside)
    raise ValueError("a list or an object written as text, which is neither JSON nor Python")
