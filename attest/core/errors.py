"""Errors for the user when something is missing or mistyped: what was found, what was expected, what to type."""

import difflib
import errno
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, metadata, requires

from packaging.requirements import Requirement

DISTRIBUTION = "attest-attention"
"""What the package index calls Attest; the import and the command are `attest`."""
FOR_DEVELOPERS = "dev"
"""The extra that takes in most others, and so says nothing of which one a package belongs to."""


def install_command(extra: str) -> str:
    """What to type so that this environment, and no other one, gets an extra."""
    return f"{shlex.quote(sys.executable)} -m pip install '{DISTRIBUTION}[{extra}]'"


def extra_named_in(sentence: str) -> str | None:
    """The extra with a package that a sentence names, by its own name or as it is imported; None where there is none."""
    words = {word.lower().replace("_", "-") for word in re.findall(r"[\w-]+", sentence)}
    return next((extra for package, extra in _extras().items() if package in words), None)


def _extras() -> dict[str, str]:
    """The extra of each package that comes with one; nothing where Attest runs without being installed."""
    try:
        names = metadata(DISTRIBUTION).get_all("Provides-Extra") or ()
        asked = [Requirement(line) for line in requires(DISTRIBUTION) or ()]
    except PackageNotFoundError:
        return {}
    conditional = [each for each in asked if each.marker is not None and not each.marker.evaluate({"extra": ""})]
    return {
        each.name: name
        for name in names
        if name != FOR_DEVELOPERS
        for each in conditional
        if each.marker is not None and each.marker.evaluate({"extra": name}) and each.name != DISTRIBUTION
    }


class AttestError(Exception):
    """A mistake the user can mend; its message is one readable sentence and needs no traceback."""


UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
"""What the system says of a full disk, a quota, a file too large, and a disk that is read only."""
REFUSED = (errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG)
"""What it says of paths that do not lead where they should."""
OTHER_NETWORK = re.compile(r"Error\(s\) in loading state_dict for .*?\n(.*)")
INVALID = re.compile(r"Invalid (\w+(?: \w+)*): ")
"""How the optimisers of torch begin."""
NO_SEED = re.compile(r"(-?\d+) is not in bounds, numpy accepts")
REFUSED_BY_TRAINER = "MisconfigurationException"
"""Lightning's class, by name: importing it takes a second."""
NO_MEMORY = re.compile(
    "out of memory|(can't|cannot) allocate memory|not enough memory|bad_alloc|failed to map segment",
    re.IGNORECASE,
)
"""What PyTorch, oneDNN, the system and its loader of libraries say."""


def as_user_error(error: BaseException | None) -> AttestError | None:
    """The mistake that a library has wrapped in errors of its own; None for anything but what a user can mend.

    That is an AttestError, a missing package, a disk that is full or may not be written, and memory that does not suffice.
    """
    for each in chain(error):
        if isinstance(each, AttestError):
            return each
        if isinstance(each, Warning):
            return AttestError(
                f"a warning was raised as an error ({type(each).__name__}: {' '.join(str(each).split())}); expected warnings "
                "that are printed. Type: unset PYTHONWARNINGS"
            )
        if isinstance(each, ModuleNotFoundError):
            return missing_package(each)
        if isinstance(each, OSError) and each.errno in UNWRITABLE:
            return unwritable(each.filename or "a file of this run", each)
        if isinstance(each, OSError) and each.errno in REFUSED and each.filename is not None:
            reason = os.strerror(each.errno)
            return AttestError(f"{each.filename} cannot be used: {reason}; expected a path that can be used. Check its owner.")
        if isinstance(each, RuntimeError) and (found := OTHER_NETWORK.search(str(each))):
            return AttestError(
                f"the checkpoint belongs to another network ({found[1].strip()}); expected a checkpoint of this "
                "configuration. Give the configuration that it was trained with: --config=<its run folder>/config.yaml"
            )
        if isinstance(each, ValueError) and INVALID.match(str(each)):
            return AttestError(
                f"the optimiser cannot be created ({each}); expected values in their ranges. Look at model.init_args."
            )
        if isinstance(each, ValueError) and (found := NO_SEED.match(str(each))):
            return AttestError(
                f"{found[1]} is not a seed; expected a whole number from 0 to 4294967295. Type for example: SEED=0"
            )
        if type(each).__name__ == REFUSED_BY_TRAINER:
            said = " ".join(str(each).split())
            return AttestError(
                f"the Trainer refuses its settings ({said}); expected settings that it accepts. Look at the options "
                "--trainer.…"
            )
        if isinstance(each, RuntimeError) and "could not create a primitive" in str(each):
            return AttestError(
                f"a layer cannot be computed on this device ({each}); expected a precision that it knows, and memory for a "
                "batch. Leave out --trainer.precision, or type --data.init_args.batch_size=8"
            )
        if type(each).__module__.startswith("wandb.errors"):
            return AttestError(
                f"W&B refuses this run ({' '.join(str(each).split())}); expected a key and a project that it takes. Type "
                "wandb login, or leave W&B out: LOGGER=csv"
            )
        if isinstance(each, MemoryError) or (
            isinstance(each, RuntimeError | OSError | ImportError) and NO_MEMORY.search(str(each))
        ):
            return AttestError(
                "there is not enough memory for a batch and its evidence; expected room for both. Type "
                "--data.init_args.batch_size=8 for smaller batches, --run.memory_gib=0.25 for less working memory, or leave "
                "out long texts with --data.init_args.max_tokens=<number>"
            )
    return None


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, what it was raised from, and so on."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def said_by(error: BaseException) -> str:
    """The first line of what a library says."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def missing_package(error: ModuleNotFoundError) -> AttestError:
    """The error for a package that is not there: one of an extra's, or one that should have come with Attest."""
    said = " ".join(str(error).split())
    if extra := extra_named_in(said):
        return AttestError(
            f"a package is missing that comes with the extra {extra!r} ({said.split('. ')[0]}). Type: {install_command(extra)}"
        )
    return AttestError(
        f"a package is missing ({said}); expected every package that this configuration imports. `attest doctor` lists those "
        "that Attest lacks; install any other with the pip of this environment."
    )


def unwritable(path: object, error: OSError) -> AttestError:
    """The error for a file that cannot be written."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    return AttestError(
        f"{path} cannot be written: {reason}; expected a writable folder with room. Free some space or give another place "
        "with --run.root=<folder>"
    )


def unknown_choice(what: str, found: str, expected: Iterable[str], command: str) -> AttestError:
    """The error for a name that is not on a list, with the nearest name suggested.

    Args:
        what: what the name stands for, as the user typed it (``DATA``).
        found: the name that was typed.
        expected: every name that would have been taken.
        command: a command that works, with ``{}`` where a name goes.
    """
    names = sorted(expected)
    return AttestError(
        f"{what}={found} is not known; expected one of: {', '.join(names)}. "
        f"Type for example: {command.format(nearest(found, names, cutoff=0.0))}"
    )


def nearest_few(found: str, names: Iterable[str], most: int = 3) -> list[str]:
    """The names most like the one found, the nearest first, however little they are like it.

    Args:
        found: what was typed.
        names: what would have been taken.
        most: so many of them.
    """
    in_small_letters = {name.lower(): name for name in sorted(names)}
    return [in_small_letters[name] for name in difflib.get_close_matches(found.lower(), in_small_letters, n=most, cutoff=0.0)]


def nearest(found: str, names: Iterable[str], cutoff: float) -> str:
    """The name most like the one found, in capitals or not; empty where none is like it by at least ``cutoff``, in [0, 1]."""
    in_small_letters = {name.lower(): name for name in names}
    matches = difflib.get_close_matches(found.lower(), in_small_letters, n=1, cutoff=cutoff)
    return in_small_letters[matches[0]] if matches else ""


@contextmanager
def needing_transformers() -> Iterator[None]:
    """Turn a failed import into a sentence.

    Raises:
        AttestError: the library, or a part of it, is missing.
    """
    try:
        yield
    except ImportError as error:
        raise AttestError(
            f"the library transformers is missing ({error}); expected it to load this model. Type: "
            f"{install_command('transformers')}"
        ) from error
