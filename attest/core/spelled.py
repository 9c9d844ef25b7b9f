"""How advice spells a command: as a target of make for somebody who typed make, else as a command of ``attest``."""

import os

BY_MAKE = "ATTEST_BY_MAKE"
"""The environment variable that the Makefile sets when it starts ``attest``. Messages then tell the user to type ``make …``
and not ``attest …``."""
TARGETS = {"fit": "train"} | {name: name for name in ("adversarial", "controls", "demo", "keys", "reproduce", "roar")}
"""For each command of ``attest`` that the Makefile can start: the name of the target. Commands that are not listed have no
target."""


def spelled(command: str, *arguments: str) -> str:
    """Return a command line as this user types it.

    Args:
        command: the name of a command of ``attest``, such as ``fit``.
        arguments: its choices and options; for make, those that begin with ``-`` stand in ``ARGS="…"``.
    """
    if command not in TARGETS or not os.environ.get(BY_MAKE):
        return " ".join(("attest", command, *arguments))
    options = [argument for argument in arguments if argument.startswith("-")]
    choices = [argument for argument in arguments if argument not in options]
    return " ".join(["make", TARGETS[command], *choices, *([f'ARGS="{" ".join(options)}"'] if options else [])])
