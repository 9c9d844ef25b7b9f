"""Errors for users: each says what was found, what is expected and what to type."""

import difflib
import errno
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, metadata, requires

from packaging.requirements import Requirement

DISTRIBUTION = "attest-attention"
"""The name of this package for pip and in its metadata; Python imports it as ``attest``, and the command is ``attest``, too.
The package is on no package index yet."""
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
"""Error numbers of a file that cannot be written: a full disk, a full quota, a file that is too large, a disk that is read
only."""
UNUSABLE = (errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG)
"""Error numbers of a path that the user must change: no permission, a file in place of a folder or the reverse, a name that is
taken or too long."""


class AttestError(Exception):
    """A mistake that the user can correct; its message is a readable sentence, shown without a traceback.

    Examples:
        >>> import attest
        >>> try:
        ...     attest.open_run("runs/nothing")
        ... except attest.AttestError as error:
        ...     print(error)  # doctest: +ELLIPSIS
        runs/nothing ...
    """


class DisagreementError(AttestError):
    """A model whose predictions differ from those that Attest computes from its parts."""


def as_user_error(error: BaseException | None) -> AttestError | None:
    """Return an ``AttestError`` if a mistake of the user caused an exception; None if the exception is a bug."""
    return next((found for each in chain(error) if (found := _as_mistake(each)) is not None), None)


def _as_mistake(error: BaseException) -> AttestError | None:
    said, kind = " ".join(str(error).split()), type(error)
    if isinstance(error, AttestError):
        return error
    if isinstance(error, Warning):
        return AttestError(
            f"a warning was raised as an error ({kind.__name__}: {said}); expected warnings to be printed only. Type: unset "
            "PYTHONWARNINGS"
        )
    if isinstance(error, ModuleNotFoundError):
        return _missing_package(error.name, said)
    if _is_lack_of_memory(error):
        return AttestError(
            "there is not enough memory for a batch and its evidence; expected room for both. Type "
            "--data.init_args.batch_size=8 for smaller batches, --run.memory_gib=0.25 for less working memory, or leave "
            "out long texts with --data.init_args.max_tokens=<number>"
        )
    if isinstance(error, OSError) and error.errno in UNWRITABLE:
        return unwritable(error.filename or "a file of this run", error)
    if isinstance(error, OSError) and error.errno in UNUSABLE and error.filename is not None:
        reason = os.strerror(error.errno)
        return AttestError(
            f"{error.filename} cannot be used: {reason}; expected a path that you may read and write. Check the owner of the "
            "path."
        )
    if kind.__name__ == "MisconfigurationException":  # Lightning's, whose import takes seconds
        return AttestError(
            f"the Trainer refuses its settings ({said}); expected settings that it accepts. Look at the options --trainer.…"
        )
    if kind.__module__.startswith("wandb.errors"):
        return AttestError(
            f"W&B refuses this run ({said}); expected a key and a project that W&B accepts. Type wandb login, or leave W&B "
            "out: LOGGER=csv"
        )
    return None


def _is_lack_of_memory(error: BaseException) -> bool:
    torch = sys.modules.get("torch")  # which takes a second to import and raises nothing before
    return (
        isinstance(error, MemoryError)
        or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        or (torch is not None and isinstance(error, torch.OutOfMemoryError))
    )


def _missing_package(module: str | None, said: str) -> AttestError:
    package = (module or "").split(".")[0].replace("_", "-")
    markers = [each.marker for each in own_requirements() if each.name == package and each.marker is not None]
    extras = (metadata(DISTRIBUTION).get_all("Provides-Extra") or ()) if markers else ()
    named = (extra for extra in extras if any(marker.evaluate({"extra": extra}) for marker in markers))
    if extra := next((extra for extra in named if extra != "dev"), None):
        return AttestError(
            f"a package is missing ({said}); expected the packages of the optional dependency group {extra!r}. Type: "
            f"{install_command(extra)}"
        )
    return AttestError(
        f"a package is missing ({said}); expected every package that this configuration imports. `attest doctor` lists "
        "missing packages of Attest; install other packages with the pip of this environment."
    )


def own_requirements() -> list[Requirement]:
    """Return the packages that Attest and its extras require; an empty list if Attest is not installed."""
    try:
        return [Requirement(line) for line in requires(DISTRIBUTION) or ()]
    except PackageNotFoundError:
        return []


def install_command(extra: str) -> str:
    """Return the pip command that installs an extra of Attest, a group of optional packages, from the folder of a clone."""
    return f"{shlex.quote(sys.executable)} -m pip install '.[{extra}]' in the folder of the clone"


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, then its ``__cause__`` or ``__context__``, and so on back to the first error."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def said_by(error: BaseException) -> str:
    """Return the first line of an error's message, or the name of its class if the message is empty."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


@contextmanager
def refusing(sentence: Callable[[str], str]) -> Iterator[None]:
    """Turn any error in the ``with`` block into an ``AttestError`` with a readable sentence.

    Args:
        sentence: makes the sentence from what the error says.
    """
    try:
        yield
    except AttestError:
        raise
    except Exception as error:
        raise AttestError(sentence(said_by(error))) from error


def unwritable(path: object, error: OSError) -> AttestError:
    """Return the error for a file that cannot be written."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    elsewhere = "choose another folder with --run.root=<folder>, or for a trial with --out=<folder>"
    if str(path).startswith(os.path.join(tempfile.gettempdir(), "attest-")):  # of a trial in Python, until it is saved
        elsewhere = "choose another folder for temporary files: TMPDIR=<folder>"
    return AttestError(
        f"{path} cannot be written: {reason}; expected a writable folder with free space. Free some space, or {elsewhere}"
    )


def unknown_choice(what: str, found: str, expected: Iterable[str], command: str) -> AttestError:
    """Return the error for an unknown name. The error suggests the most similar known name."""
    names = sorted(expected)
    return AttestError(
        f"{what}={found} is not known; expected one of: {', '.join(names)}. "
        f"Type for example: {command.format(*nearest(found, names, most=1))}"
    )


def nearest(found: str, names: Iterable[str], most: int = 3) -> list[str]:
    """Return the names most similar to a mistyped name, the most similar one first; letter case is ignored."""
    in_small_letters = {name.lower(): name for name in sorted(names)}
    return [in_small_letters[name] for name in difflib.get_close_matches(found.lower(), in_small_letters, n=most, cutoff=0.0)]


@contextmanager
def needing_transformers() -> Iterator[None]:
    """Raise an ``AttestError`` with a sentence if an import of the library transformers fails inside the ``with`` block."""
    try:
        yield
    except ImportError as error:
        raise AttestError(
            f"the library transformers is missing ({error}); this model needs it. Type: {install_command('transformers')}"
        ) from error
