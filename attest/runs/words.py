"""Words such as ``DATA=sst SEEDS=3 JOBS=2``: parted from everything else that was typed, and read as what they mean."""

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from attest.errors import AttestError

WORD = re.compile(r"([A-Z]+)=(.*)", re.DOTALL)
"""Capitals; whatever else holds an equals sign is an option or a mistake."""
OURS = re.compile(r"(--)?[\w.]+=(?:-?[\d.]+(?:e-?\d+)?|[\w-]+(?::-?[\d.]+(?:e-?\d+)?)?)", re.IGNORECASE)
"""A choice or an option whose value is a number or a plain word, a number after it (``sparsegen:-1``) included."""
OF_THE_RUN = "--run."
"""How options begin that name no class."""


MOST = 1000
"""Of seeds, steps or jobs."""


@dataclass(frozen=True)
class Words:
    """What was typed behind each word; the last of two alike counts, and an empty one is not typed."""

    typed: Mapping[str, str]

    def text(self, name: str, otherwise: str = "") -> str:
        """As it was typed."""
        return self.typed.get(name, otherwise)

    def listed(self, name: str, otherwise: str = "") -> tuple[str, ...]:
        """Several with commas between them; none where nothing was typed."""
        return tuple(filter(None, self.text(name, otherwise).split(",")))

    def flag(self, name: str, otherwise: bool = False) -> bool:
        """Yes or no.

        Raises:
            AttestError: neither 0 nor 1 was typed.
        """
        value = self.text(name, str(int(otherwise)))
        if value not in ("0", "1"):
            raise AttestError(f"{name}={value} is neither yes nor no; expected {name}=1 or {name}=0.")
        return value == "1"

    def count(self, name: str, otherwise: int, least: int = 1) -> int:
        """A whole number that runs can be counted by.

        Raises:
            AttestError: something else was typed, less than the least, or more than ``MOST``.
        """
        value = self.text(name, str(otherwise))
        if not value.isdecimal() or not least <= int(value) <= MOST:
            example = f"{name}={max(otherwise, least)}"
            raise AttestError(
                f"{name}={value} is not a count; expected a whole number from {least} to {MOST}. Type for example: {example}"
            )
        return int(value)


def are_ours(arguments: Sequence[str]) -> bool:
    """Whether nothing but choices, numbers and plain words was typed: no file, and no class from elsewhere.

    Args:
        arguments: choices and options.
    """
    return all(OURS.fullmatch(argument) or argument.startswith(OF_THE_RUN) for argument in arguments)


def take_words(arguments: Sequence[str], names: Container[str] | None = None) -> tuple[Words, list[str]]:
    """Part words from everything else.

    Args:
        arguments: what follows a command.
        names: of the words that are meant; all if None.
    Returns:
        The words, and everything else in its order.
    """
    matches = [(argument, WORD.fullmatch(argument)) for argument in arguments]
    mine = {place: match for place, (_, match) in enumerate(matches) if match and (names is None or match[1] in names)}
    typed = {match[1]: match[2] for match in mine.values() if match[2]}
    return Words(typed), [argument for place, argument in enumerate(arguments) if place not in mine]


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """What concerns the base, and, after a lone ``--``, what concerns the dependent runs alone; FORCE goes to these."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    forced = [argument for argument in arguments if argument.startswith("FORCE=")]
    base = [argument for argument in arguments[:at] if argument not in forced]
    return base, [*forced, *arguments[at + 1 :]]
