"""The stories of bAbI's simulation (Weston et al. 2016), in which people move between rooms and carry things.

Only tasks 1, 2 and 3 exist here: where is a person, where is a thing, where was a thing before. The words and sentence forms
are those of the published files: 36 words with the full stop, and 4 special symbols give the published |V| of 40. The number
of statements before each question is not published; ``BEFORE`` is our choice.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

PEOPLE = ("Daniel", "John", "Mary", "Sandra")
ROOMS = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
THINGS = ("apple", "football", "milk")
MOVES = ("moved to", "went to", "went back to", "journeyed to", "travelled to")
TAKES = ("got", "picked up", "took", "grabbed")
DROPS = ("dropped", "discarded", "put down", "left")
QUESTIONS_A_STORY = 5
BEFORE = {1: (2, 2), 2: (2, 6), 3: (4, 12)}
"""For each bAbI task, the smallest and the largest number of statements before a question is asked. If no question is possible
then, more statements follow."""
Asked = tuple[str, str, list[int]]
"""A question, its answer, and the line numbers in the story, from 1, of the statements that support the answer."""


@dataclass
class Stay:
    """A period in which a thing of a generated story stays in one room.

    Args:
        room: the name of the room.
        brought: the line in which the person who carried the thing came to the room.
        carried: the line in which this person had taken the thing.
        handler_came: the line in which the person who touched the thing last in the room had come there.
    """

    room: str
    brought: int
    carried: int
    handler_came: int


@dataclass
class World:
    """The state of a story: the place of each person and each thing, and the lines of the story so far."""

    draw: random.Random
    lines: list[str] = field(default_factory=list)
    room: dict[str, str] = field(default_factory=dict)
    """The room in which each person is. Persons whom the story has not yet mentioned are missing."""
    moved: dict[str, int] = field(default_factory=dict)
    holder: dict[str, str] = field(default_factory=dict)
    """The person who carries each thing. Things that nobody carries are missing."""
    handled: dict[str, int] = field(default_factory=dict)
    """The number of the story's line, from 1, in which each thing was last taken or dropped."""
    stays: dict[str, list[Stay]] = field(default_factory=dict)
    """For each thing that somebody has taken: the periods that it spent in one room each, in their order."""
    hidden: dict[str, str] = field(default_factory=dict)
    """The room in which each thing lies until somebody first takes it."""

    def __post_init__(self) -> None:
        self.hidden = {thing: self.draw.choice(ROOMS) for thing in THINGS}

    def tell(self, text: str) -> int:
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
    if not world.handled:
        return None
    thing = world.draw.choice(sorted(world.handled))
    stay = world.stays[thing][-1]
    return f"Where is the {thing}?", stay.room, [world.handled[thing], stay.handler_came]


def _earlier(world: World) -> Asked | None:
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
"""For each bAbI task, two functions: the first adds an event to the story; the second draws a question, or returns None if no
question is possible yet."""


def told_lines(task: int, questions: int, seed: int, split: str) -> Iterator[str]:
    """Yield the lines of generated stories with ``questions`` questions in total, in bAbI's format."""
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
