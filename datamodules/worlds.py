"""Stories as bAbI's simulation tells them (Weston et al. 2016): people move between rooms and carry things about.

Tasks 1, 2 and 3 alone: where is a person, where is a thing, where was a thing before. Words and forms of the sentences are
those of the published files, with full stops 36 words, so that |V| is the published 40 with the four symbols. How many
statements come before each question is not published; ``BEFORE`` is ours.

The public format of bAbI's files: numbered lines, and questions among them with answer and supporting facts behind tabs.

    1 Mary moved to the bathroom.
    2 John went to the hallway.
    3 Where is Mary? 	bathroom	1

Numbers begin at 1 with each story, and supporting facts are named by their lines' numbers.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from attest.core.errors import AttestError

PEOPLE = ("Daniel", "John", "Mary", "Sandra")
ROOMS = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
THINGS = ("apple", "football", "milk")
MOVES = ("moved to", "went to", "went back to", "journeyed to", "travelled to")
TAKES = ("got", "picked up", "took", "grabbed")
DROPS = ("dropped", "discarded", "put down", "left")
QUESTIONS_A_STORY = 5
BEFORE = {1: (2, 2), 2: (2, 6), 3: (4, 12)}
"""Fewest and most statements before each question; there are more where nothing can be asked yet."""
Asked = tuple[str, str, list[int]]
"""Question, answer, supporting lines."""


@dataclass
class Stay:
    """A thing in a room.

    Args:
        room: where.
        brought: the line by which whoever carried it came here.
        carried: the line by which that person had taken it.
        handler_came: the line by which whoever touched it last here came here.
    """

    room: str
    brought: int
    carried: int
    handler_came: int


@dataclass
class World:
    """One story while it is told: where everybody and everything is, and which lines said so."""

    draw: random.Random
    lines: list[str] = field(default_factory=list)
    room: dict[str, str] = field(default_factory=dict)
    """Of people who have been heard of."""
    moved: dict[str, int] = field(default_factory=dict)
    holder: dict[str, str] = field(default_factory=dict)
    """Of things that are held."""
    handled: dict[str, int] = field(default_factory=dict)
    """The line by which a thing was last taken or dropped."""
    stays: dict[str, list[Stay]] = field(default_factory=dict)
    """Of things that have been taken once, since then."""
    hidden: dict[str, str] = field(default_factory=dict)
    """Where things are that nobody has taken yet."""

    def __post_init__(self) -> None:
        self.hidden = {thing: self.draw.choice(ROOMS) for thing in THINGS}

    def tell(self, text: str) -> int:
        """Write a line; returns its number."""
        self.lines.append(f"{len(self.lines) + 1} {text}")
        return len(self.lines)

    def move(self) -> None:
        person = self.draw.choice(PEOPLE)
        room = self.draw.choice([each for each in ROOMS if each != self.room.get(person)])
        line = self.tell(f"{person} {self.draw.choice(MOVES)} the {room}.")
        self.room[person], self.moved[person] = room, line
        for thing, holder in self.holder.items():
            if holder == person:
                self.stays[thing].append(Stay(room, line, self.handled[thing], line))

    def take(self, person: str, thing: str) -> None:
        line = self.tell(f"{person} {self.draw.choice(TAKES)} the {thing}{self.draw.choice(('', ' there'))}.")
        self.holder[thing], self.handled[thing] = person, line
        came = self.moved[person]
        self.stays.setdefault(thing, [Stay(self.room[person], came, line, came)])[-1].handler_came = came

    def drop(self, thing: str) -> None:
        person = self.holder.pop(thing)
        self.handled[thing] = self.tell(f"{person} {self.draw.choice(DROPS)} the {thing}{self.draw.choice(('', ' there'))}.")

    def where(self, thing: str) -> str:
        return self.stays[thing][-1].room if thing in self.stays else self.hidden[thing]

    def act(self) -> None:
        """Let somebody take or drop a thing where that can be, or move; a move is as likely as both."""
        free = [thing for thing in THINGS if thing not in self.holder]
        within = [(person, thing) for thing in free for person, room in self.room.items() if room == self.where(thing)]
        if self.draw.random() < 0.5 or not (within or self.holder):
            self.move()
        elif within and (not self.holder or self.draw.random() < 0.7):
            self.take(*self.draw.choice(within))
        else:
            self.drop(self.draw.choice(sorted(self.holder)))


def _person(world: World) -> Asked | None:
    person = world.draw.choice(sorted(world.room))
    return f"Where is {person}?", world.room[person], [world.moved[person]]


def _thing(world: World) -> Asked | None:
    """Ask for a thing; who handled it, and how that person came where it is, support the answer."""
    if not world.handled:
        return None
    thing = world.draw.choice(sorted(world.handled))
    stay = world.stays[thing][-1]
    return f"Where is the {thing}?", stay.room, [world.handled[thing], stay.handler_came]


def _earlier(world: World) -> Asked | None:
    """Ask where a thing was before; how it came, for the last time, into the two rooms supports the answer."""
    travelled = [thing for thing, stays in sorted(world.stays.items()) if len(stays) > 1]
    if not travelled:
        return None
    thing = world.draw.choice(travelled)
    stays = world.stays[thing]
    last_in = {stay.room: place for place, stay in enumerate(stays) if place}
    place = world.draw.choice(sorted(last_in.values()))
    before, after = stays[place - 1], stays[place]
    return f"Where was the {thing} before the {after.room}?", before.room, [after.carried, before.handler_came, after.brought]


TASKS: dict[int, tuple[Callable[[World], None], Callable[[World], Asked | None]]] = {
    1: (World.move, _person),
    2: (World.act, _thing),
    3: (World.act, _earlier),
}
"""What happens, and what is asked."""


def told_lines(task: int, questions: int, seed: int, split: str) -> Iterator[str]:
    """Tell stories in the public format until so many questions are asked; equal arguments give equal lines.

    Args:
        task: 1, 2 or 3.
        questions: how many; the last story may end early.
        seed, split: say which stories.
    """
    draw = random.Random(f"bAbI {task} {split} {seed}")
    for first in range(0, questions, QUESTIONS_A_STORY):
        yield from _story(task, min(QUESTIONS_A_STORY, questions - first), draw)


def _story(task: int, questions: int, draw: random.Random) -> list[str]:
    happens, asks = TASKS[task]
    world = World(draw)
    for _ in range(questions):
        for _ in range(draw.randint(*BEFORE[task])):
            happens(world)
        while (asked := asks(world)) is None:
            happens(world)
        question, answer, facts = asked
        world.tell(f"{question} \t{answer}\t{' '.join(map(str, facts))}")
    return world.lines


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
    """Read the questions of stories, as ``QUESTIONS`` says.

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
    """Write the Hub's stories in the public format.

    Args:
        stories: lists of lines, or a list for each of their fields: ``id``, ``text``, ``answer`` and ``supporting_ids``.
    """
    for story in stories:
        columns = story if isinstance(story, dict) else {name: [line[name] for line in story] for name in FIELDS}
        for number, text, answer, facts in zip(*(columns[name] for name in FIELDS), strict=True):
            yield f"{number} {text}\t{answer}\t{' '.join(map(str, facts))}" if answer else f"{number} {text}"


FIELDS = ("id", "text", "answer", "supporting_ids")
