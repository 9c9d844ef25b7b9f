"""How commands other than fit, validate and test read what is typed: mistakes get one sentence, as everywhere."""

import argparse
import re
from typing import Any, NoReturn

from attest.bounds import require_bounds
from attest.errors import AttestError
from attest.runs.plain_help import plain_help

NO_NUMBER = re.compile(r"argument (\S+): invalid (int|float) value: '(.*)'", re.DOTALL)
KINDS = {"int": "a whole number", "float": "a number"}
TRUST = "a module whose classes the run may name, if you know its code, which is run; may be given several times"


class CommandParser(argparse.ArgumentParser):
    """argparse, whose words are given and whose mistakes are AttestErrors.

    Args:
        command: as it is typed, ``attest report``.
        description: what ``--help`` prints above the options, its lines as they are.
    """

    def __init__(self, command: str, description: str | None) -> None:
        super().__init__(
            prog=command,
            description=plain_help(description),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """As argparse does; numbers that are out of bounds are mistakes too."""
        typed, rest = super().parse_known_args(args, namespace)
        require_bounds(vars(typed), lambda name: f"--{name.replace('_', '-')}")
        return typed, rest

    def error(self, message: str) -> NoReturn:
        """Raise what argparse found wrong as a sentence."""
        if match := NO_NUMBER.fullmatch(message):
            raise AttestError(f"{match[1]} is {match[3]}; expected {KINDS[match[2]]}. Name another.")
        usage = " ".join(self.format_usage().split()).removeprefix("usage: ")
        raise AttestError(f"{message}; expected: {usage}")
