"""The folder of a trial that ``attest trial`` writes: its name, and who may write into it again."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attest.core.errors import AttestError
from attest.runs.folder import TRIAL, UNFINISHED, RunFolder, read_json, write_json
from attest.runs.identity import TYPED, RunIdentity

ROOT = Path("runs/trial")
OPTIONS = "options"
"""The entry of ``run.json`` that holds the value of each option of a trial that can change its results."""
BESIDE = ("out", "json", "processes", "upload_texts")
"""The options of ``attest trial`` that change no result, and so are not stored with the others."""
UNNAMED = re.compile(r"[^\w.-]+")


def default_folder(model: str, data: str) -> Path:
    """Return the folder of a trial whose folder nobody has named.

    Example:
        >>> default_folder("models/minilm-sst", "data/reviews.csv").as_posix()
        'runs/trial/minilm-sst/reviews'
    """
    return ROOT / _name(Path(model).expanduser().absolute().name, "model") / _name(Path(data).stem, "data")


def _name(name: str, otherwise: str) -> str:
    return UNNAMED.sub("-", name).strip(".-") or otherwise


def options_of(typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a trial that can change its results, as JSON holds them."""
    return {name: value for name, value in typed.items() if name not in BESIDE}


@contextmanager
def claimed(folder: RunFolder, options: Mapping[str, Any], force: bool) -> Iterator[None]:
    """Lock the folder of a trial for this process inside the ``with`` block; its files stay until the new trial is saved.

    Raises:
        AttestError: the folder contains a trial with other options and ``force`` is not set, or it contains something else.
    """
    if not _holds_trial(folder):
        with folder.claimed_anew():
            yield
        return
    with folder.claimed():
        known = read_json(folder.identity).get(OPTIONS) if folder.identity.is_file() else None
        if known != options and not force:
            differing = [name for name in options if known is None or known.get(name) != options[name]]
            there = "" if known is None else f" (different: {', '.join(map(_option, differing))})"
            raise AttestError(
                f"{folder.path} contains a trial that was made by another command{there}; expected the same command, which "
                "computes that trial again. Type --out=<another folder> to keep both, or FORCE=1 to replace it."
            )
        yield


def _option(name: str) -> str:
    return name if name == "experiments" else f"--{name.replace('_', '-')}"


def _holds_trial(folder: RunFolder) -> bool:
    unfinished = (folder.path / UNFINISHED).is_file()  # a command was killed while it put another trial there
    return not unfinished and folder.config.is_file() and folder.summary.is_file() and TRIAL in folder.settings()


def keep_options(made: RunFolder, folder: RunFolder, typed: Sequence[str], options: Mapping[str, Any]) -> None:
    """Write into ``run.json`` what a trial is and the command that made it, before it is moved into its folder."""
    RunIdentity.of(made.settings(), folder.path.absolute().parent.name).store(made)
    write_json(made.identity, read_json(made.identity) | {TYPED: list(typed), OPTIONS: dict(options)})
