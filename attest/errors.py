"""What a user is told when something is missing or mistyped: what was found, what was expected, what to type."""

import difflib
from collections.abc import Iterable


class AttestError(Exception):
    """A mistake the user can mend; its message is one readable sentence and needs no traceback."""


def mendable(error: BaseException | None) -> AttestError | None:
    """The mistake that a library has wrapped in errors of its own: an AttestError or a missing package; None for others."""
    while error is not None and not isinstance(error, AttestError):
        if isinstance(error, ModuleNotFoundError):
            said = " ".join(str(error).split())
            return AttestError(f"a package is missing ({said}). It comes with an extra: pip install 'attest[tensorboard]'")
        error = error.__cause__ or error.__context__
    return error


def unknown_choice(what: str, found: str, expected: Iterable[str], command: str) -> AttestError:
    """The error for a name that is not on a list, with the nearest name suggested.

    Args:
        what: what the name stands for, as the user typed it (``DATA``).
        found: the name that was typed.
        expected: every name that would have been taken.
        command: a command that works, with ``{}`` where a name goes.
    """
    names = sorted(expected)
    nearest = difflib.get_close_matches(found, names, n=1, cutoff=0.0)
    return AttestError(
        f"{what}={found} is not known; expected one of: {', '.join(names)}. "
        f"Type for example: {command.format(nearest[0] if nearest else '')}"
    )
