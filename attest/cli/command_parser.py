"""How commands other than fit, validate and test read what is typed: mistakes get one sentence, as everywhere."""

import argparse
from typing import NoReturn

from attest.errors import AttestError


class CommandParser(argparse.ArgumentParser):
    """argparse, whose words are given and whose mistakes are AttestErrors.

    Args:
        command: as it is typed, ``attest report``.
        description: what ``--help`` prints above the options, its lines as they are.
    """

    def __init__(self, command: str, description: str | None) -> None:
        super().__init__(
            prog=command,
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        """Raise what argparse found wrong as a sentence."""
        usage = " ".join(self.format_usage().split()).removeprefix("usage: ")
        raise AttestError(f"{message}; expected: {usage}")
