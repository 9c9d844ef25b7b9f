"""The public format of bAbI's files: numbered lines, and questions among them with answer and supporting facts behind tabs.

    1 Mary moved to the bathroom.
    2 John went to the hallway.
    3 Where is Mary? 	bathroom	1

Numbers begin at 1 with each story, and supporting facts are named by their lines' numbers.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from attest.errors import AttestError

QUESTIONS = pa.schema(
    {
        "story": pa.int64(),
        "sentences": pa.list_(pa.string()),
        "question": pa.string(),
        "answer": pa.string(),
        "supporting": pa.list_(pa.int64()),
    }
)
"""One row a question: its story, counted from 0; all statements before it; the places of those that support it, from 0."""


def questions_in(lines: Iterable[str], where: str) -> pa.Table:
    """The questions of stories, as ``QUESTIONS`` says.

    Args:
        lines: in the public format; empty ones are passed over.
        where: the file, for messages.
    Raises:
        AttestError: a line has no number or no answer, or a supporting fact is no statement before its question.
    """
    return pa.Table.from_pylist(list(_questions(lines, where)), QUESTIONS)


def _questions(lines: Iterable[str], where: str) -> Iterator[dict[str, Any]]:
    story = -1
    sentences: list[str] = []
    place_of: dict[int, int] = {}
    for count, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        place = f"{where}, line {count}"
        number, text = _numbered(line, place)
        if number == 1:
            story, sentences, place_of = story + 1, [], {}
        if "\t" not in text:
            place_of[number] = len(sentences)
            sentences.append(text)
            continue
        question, answer, facts = _asked(text, place)
        if unknown := [fact for fact in facts if fact not in place_of]:
            raise AttestError(
                f"{place} is supported by line {unknown[0]} of its story, which is no statement before it; expected the "
                "numbers of statements above. Copy the file again."
            )
        supporting = [place_of[fact] for fact in facts]
        yield {"story": story, "sentences": list(sentences), "question": question, "answer": answer, "supporting": supporting}


def _numbered(line: str, place: str) -> tuple[int, str]:
    number, _, text = line.strip("\r\n").partition(" ")
    if not number.isdigit() or not text.strip():
        raise AttestError(
            f"{place} is {line.strip()[:40]!r}; expected a number and a statement or question, such as `1 Mary moved to the "
            "bathroom.` Copy the file again."
        )
    return int(number), text.strip(" ")


def _asked(text: str, place: str) -> tuple[str, str, list[int]]:
    question, answer, *facts = (part.strip() for part in text.split("\t"))
    numbers = facts[0].split() if facts else []
    if not answer or not all(map(str.isdigit, numbers)):
        raise AttestError(
            f"{place} has the question {question[:40]!r} without an answer or numbers of supporting facts; expected these "
            "behind tabs. Copy the file again."
        )
    return question, answer, [int(number) for number in numbers]


def lines_of(stories: Iterable[Any]) -> Iterator[str]:
    """The public format of the Hub's stories.

    Args:
        stories: lists of lines, or a list for each of their fields: ``id``, ``text``, ``answer`` and ``supporting_ids``.
    """
    for story in stories:
        columns = story if isinstance(story, dict) else {name: [line[name] for line in story] for name in FIELDS}
        for number, text, answer, facts in zip(*(columns[name] for name in FIELDS), strict=True):
            yield f"{number} {text}\t{answer}\t{' '.join(map(str, facts))}" if answer else f"{number} {text}"


FIELDS = ("id", "text", "answer", "supporting_ids")
