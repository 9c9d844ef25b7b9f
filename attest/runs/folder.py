"""The folder of a run: where its files lie, how they are written and read, and whether the run is complete.

A file is written whole or not at all: first under a temporary name beside its place, then renamed. So a file that exists is
whole, and completeness is judged file by file. Start at ``RunFolder``; functions for single files follow.
"""

import json
import math
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from attest.core.bounded_yaml import YAML, bounded
from attest.core.errors import AttestError, chain, unwritable
from attest.core.kinds import CLASSES, TAGS
from attest.runs.experiment_settings import EXPERIMENTS, spelled_plainly
from attest.runs.shapes import OF_RUN, OF_TRIAL, SHAPES, Entries, Shape, misfit
from attest.runs.versions import commit, made_by

if TYPE_CHECKING:
    import pandas as pd

INSTANCES, MAPS = CLASSES.table, "maps"
"""The names of two tables: of the texts, which has the key ``id`` for the tables of all experiments, and of the attention
maps."""
TAGGED = TAGS.table
"""The name of the table of a tagger's sentences; a tagger has it in the place of the table of texts."""
GROUPED = "group_"
"""The prefix of those columns in the table of texts that hold the user's own groups, such as the source of each text."""
TRIAL = "trial"
"""The section of ``config.yaml`` that marks a trial: a test of a model that Attest has not trained."""
NAMELESS = ("", "..")
"""Last parts of a path that are no name of a folder, such as that of ``.``. A path that ends in one is made absolute, so that
it has a name."""
COUNTS = ("texts_read/count", "texts/count")
"""The ends of two keys in a summary, after the experiment's id: how many texts it read before it stopped early, and how many
there are."""
MADE_FROM, ATTRIBUTES = "made from", b"PANDAS_ATTRS"
"""What a table was made from, such as which checkpoint, is stored in its attributes: the first is the key there; the second is
the key in a Parquet file's metadata under which pandas stores attributes."""
WINDOWS = os.name == "nt"
"""Whether the system is Windows. There a folder cannot be opened, locked or flushed, so nothing keeps two processes from
writing into the same folder."""
UNFINISHED = "unfinished"
"""The name of a file that exists while the files of the folder are being written, so that an interrupted run is noticed."""
TEMPORARY = ".unfinished"
"""The ending of the names of files that are still being written, and of folders that are still being deleted."""


@dataclass(frozen=True)
class Stopped:
    """A record of an experiment that stopped early because its confidence intervals were narrow enough."""

    precision: float
    summary: dict[str, float]


class RunFolder:
    """A folder with the files of one run, ``runs/<data>/<readable name>/seed<n>/``.

    Files: ``run.json`` (what the run is), ``config.yaml``, ``data.json`` (vocabulary, classes and fingerprints of the texts),
    ``checkpoints/{best,last}.ckpt``, ``curves.json`` (written when training has ended),
    ``evidence/<id>.parquet`` (one row per instance), ``summary.json`` (the numbers that a repeated run reproduces),
    ``timing.json`` (times, the commit that made each table, and other facts that differ when the run is repeated),
    ``neutral.json`` (the neutral words of E19), ``stopped.json`` (the experiments that stopped early, before they had read
    all texts), ``report.html``, ``figures/``,
    ``wandb/``.
    """

    def __init__(self, path: Path) -> None:
        if path.name in NAMELESS:
            path = Path(os.path.abspath(path))
        self.path = path
        self.config = path / "config.yaml"
        self.identity = path / "run.json"
        self.base = path / "base.json"
        """The path of a file that only runs which depend on a base run have: it holds the path and the SHA-256 of the base
        run's checkpoint."""
        self.data = path / "data.json"
        self.best = path / "checkpoints" / "best.ckpt"
        self.last = path / "checkpoints" / "last.ckpt"
        self.curves = path / "curves.json"
        self.summary = path / "summary.json"
        self.timing = path / "timing.json"
        self.stopped = path / "stopped.json"
        self.neutral = path / "neutral.json"
        self.report = path / "report.html"
        self.figures = path / "figures"
        self.made_from: Callable[[], dict[str, str]] = made_by
        """A function that returns what a new table is made from, such as the digest of the checkpoint and the version of
        Attest; the answer is stored in the table. See ``attest.runs.belonging``."""

    @property
    def setting(self) -> Path:
        """Return the parent folder, which contains this run and the runs that differ from it only in their seed."""
        return Path(os.path.abspath(self.path)).parent

    @property
    def corpus(self) -> Path:
        """Return the folder of all runs on the same corpus."""
        return self.setting.parent

    def settings(self) -> dict[str, Any]:
        """Return the content of ``config.yaml``; the experiments of an older run are spelled as today."""
        settings = self.settings_as_written()
        if TRIAL not in settings and settings.get(EXPERIMENTS):
            settings[EXPERIMENTS] = spelled_plainly(settings[EXPERIMENTS])
        return settings

    def settings_as_written(self) -> dict[str, Any]:
        """Return the content of ``config.yaml`` word for word."""
        settings = read_yaml(self.config)
        of_trial = isinstance(settings, dict) and TRIAL in settings
        if said := misfit(settings, OF_TRIAL if of_trial else OF_RUN):
            raise no_configuration(self.config, said)
        return settings

    def evidence(self, identity: str) -> Path:
        """Return the path of the table with the results of an experiment."""
        return self.path / "evidence" / f"{identity}.parquet"

    @property
    def tables(self) -> dict[str, Path]:
        """Return the path of each table in the folder by its id, in the order of the ids."""
        return {path.stem: path for path in sorted(self.evidence(INSTANCES).parent.glob("*.parquet"))}

    @property
    def trained(self) -> bool:
        """Return whether training has ended."""
        return self.curves.is_file() and self.best.is_file()

    def missing_evidence(self, identities: Iterable[str], until: float | None = None) -> list[str]:
        """Return the ids of the experiments whose table is missing or not precise enough.

        Args:
            until: the precision that is enough for an experiment that stopped early; None if it must read all texts.
        """
        coarse = [name for name, stopped in self.stopped_evidence().items() if until is None or stopped.precision > until]
        return [identity for identity in identities if identity in coarse or not self.evidence(identity).is_file()]

    def complete(self, identities: Iterable[str], until: float | None = None) -> bool:
        """Return whether the run is trained, ``missing_evidence`` is empty, and summary and report are up to date."""
        there = self.trained and self.config.is_file() and self.last.is_file()
        return there and not self.missing_evidence(identities, until) and self.reported

    @property
    def summed_up(self) -> bool:
        """Return whether the summary of the run exists and is at least as new as every table."""
        latest = max(map(_time_written, self.tables.values()), default=0)
        return self.summary.is_file() and latest <= _time_written(self.summary)

    @property
    def reported(self) -> bool:
        """Return whether summary and report are up to date; a run that is not trained needs no report."""
        return self.summed_up and (not self.trained or _time_written(self.summary) <= _time_written(self.report))

    def stopped_evidence(self) -> dict[str, Stopped]:
        """Return the records of all experiments that read only some of the texts, by id of the experiment."""
        known = read_json(self.stopped) if self.stopped.is_file() else {}
        for identity, stopped in known.items():
            counts = {f"{identity}/{count}" for count in COUNTS}
            if lacking := sorted(counts - stopped["summary"].keys()):
                raise _damaged(self.stopped, "JSON", ValueError(f"the entry {identity}.summary.{lacking[0]} is missing"))
        return {identity: Stopped(stopped["precision"], stopped["summary"]) for identity, stopped in known.items()}

    def write_evidence(self, identity: str, rows: "pd.DataFrame", stopped: Stopped | None = None) -> None:
        """Write the table of an experiment; ``stopped`` is given if the experiment read only some texts."""
        made_from = self.made_from()
        known = {name: asdict(each) for name, each in self.stopped_evidence().items()}
        if stopped is not None:  # a process that is killed here leaves no table that looks like one of all texts
            self.evidence(identity).unlink(missing_ok=True)
            write_json(self.stopped, known | {identity: asdict(stopped)})
        self.note(commits={identity: None})  # a process that is killed here leaves no table that names another commit
        write_table(self.evidence(identity), rows, made_from)
        self.note(commits={identity: commit()})
        if stopped is None and known.pop(identity, None) is not None:
            write_json(self.stopped, known)

    def remove(self) -> None:
        """Delete the folder; an interrupted deletion leaves nothing that looks like a run."""
        if self.path.is_dir():
            doomed = Path(tempfile.mkdtemp(dir=self.path.parent, prefix=f".{self.path.name}.", suffix=TEMPORARY))
            self.path.replace(doomed)
        for doomed in self.path.parent.glob(f".{self.path.name}.*{TEMPORARY}"):
            shutil.rmtree(doomed, ignore_errors=True)

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Lock the folder for this process inside the ``with`` block, and delete unfinished files of processes that died."""
        made = not self.path.exists()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            descriptor = None if WINDOWS else os.open(self.path, os.O_RDONLY)
        except OSError as error:
            raise unwritable(self.path, error) from error
        try:
            with suppress(OSError):  # a file system without locks
                if descriptor is not None:
                    _lock(descriptor, self.path)
            self.require_no_links()
            for folder in (self.path, self.best.parent, self.path / "evidence", self.figures):
                for unfinished in folder.glob(f".*{TEMPORARY}"):
                    folder_left = unfinished.is_dir() and not unfinished.is_symlink()
                    shutil.rmtree(unfinished) if folder_left else unfinished.unlink(missing_ok=True)
            yield
        finally:
            if descriptor is not None:
                os.close(descriptor)
            if made:
                with suppress(OSError):  # something came of it
                    self.path.rmdir()

    @contextmanager
    def claimed_anew(self) -> Iterator[None]:
        """Lock a new, empty or unfinished folder for this process inside the ``with`` block, and delete its files.

        The folder is unfinished as long as it contains the file ``UNFINISHED``.
        """
        if self.path.exists() and not self.path.is_dir():
            raise self._there_already()
        with self.claimed():
            if (self.path / UNFINISHED).is_file():
                self.empty()
            elif any(self.path.iterdir()):
                raise self._there_already()
            yield

    def empty(self) -> None:
        """Delete all in the folder but the mark of an unfinished one and what is just being written."""
        for each in self.path.iterdir():
            if each.name != UNFINISHED and not each.name.endswith(TEMPORARY):
                shutil.rmtree(each) if each.is_dir() else each.unlink()

    def _there_already(self) -> AttestError:
        return AttestError(
            f"the folder {self.path} already exists and is not empty; expected a new or an empty folder. Type --out=<another "
            "folder>"
        )

    def require_no_links(self) -> None:
        """Refuse a folder that contains a link to another folder, because Attest would write and delete files there."""
        if link := next((each for each in sorted(self.path.glob("*")) if each.is_symlink() and each.is_dir()), None):
            raise AttestError(
                f"{link} is a link to the folder {link.resolve()}, and this command would write there; expected a real folder "
                "inside the run folder. Replace the link by a copy, or remove the link."
            )

    def note(self, **facts: Any) -> None:
        """Add facts about the run to ``timing.json``; a dictionary is merged with the stored one."""
        known = read_json(self.timing) if self.timing.is_file() else {}
        for name, fact in facts.items():
            known[name] = known.get(name, {}) | fact if isinstance(fact, dict) else fact
        write_json(self.timing, known)


def no_configuration(path: Path, found: str = "") -> AttestError:
    """Return the error for a ``config.yaml`` that is not the configuration of a run.

    Args:
        found: what is wrong with the content, if that is known.
    """
    why = f" ({found})" if found else ""
    return AttestError(
        f"{path} is not the configuration of a run{why}; expected the file that Attest wrote into the run folder. Replace "
        "it by a complete copy"
    )


def _time_written(path: Path) -> int:
    return path.stat().st_mtime_ns if path.is_file() else 0


def _lock(descriptor: int, path: Path) -> None:
    import fcntl  # not on Windows

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise AttestError(
            f"another process is writing to {path}; expected only one process at a time. Wait for the other process, or "
            "choose another folder: --run.root= for a run, --out= for a trial, --results= for tables"
        ) from None


def write_atomically(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file through a temporary file that is renamed at the end; a failure leaves no partial file.

    The file is on the disk when the function returns, so a power cut cannot keep a later file and lose this one.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{TEMPORARY}")
        temporary.touch(exist_ok=False)  # readable by whom the umask lets read
        write(temporary)
        _put_on_disk(temporary)
        temporary.replace(path)
        _put_on_disk(path.parent)
    except (OSError, RuntimeError) as error:  # torch wraps what the system says
        refusal = next((each for each in chain(error) if isinstance(each, OSError)), None)
        if refusal is None:
            raise
        raise unwritable(path, refusal) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _put_on_disk(path: Path) -> None:
    if WINDOWS:
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_text(path: Path, text: str) -> None:
    write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def write_json(path: Path, content: Any, in_order: bool = False) -> None:
    """Write content as JSON with sorted keys, or unsorted if ``in_order``; NaN and infinities become null.

    An interrupted call leaves no partial file.
    """
    write_text(path, json.dumps(_json_numbers(content), indent=2, sort_keys=not in_order, allow_nan=False) + "\n")


def _json_numbers(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _json_numbers(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_json_numbers(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def read_json(path: Path, shape: Shape | None = None) -> Any:
    """Return the content of a JSON file that ``write_json`` wrote.

    Args:
        shape: what the content must be; None for the shape of files of this name.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if said := misfit(content, shape or SHAPES.get(path.name, object)):
            raise ValueError(said)
        return content
    except (ValueError, RecursionError) as error:  # of JSON and of UTF-8
        again = f", or compute it again: attest evidence --run {path.parent} FORCE=1" if path.name == "summary.json" else ""
        raise _damaged(path, "JSON", error, again) from error


def read_yaml(path: Path) -> Any:
    """Return the content of a configuration file in a run folder."""
    try:
        return yaml.load(bounded(path.read_text(encoding="utf-8")), YAML)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise _damaged(path, "YAML", error) from error


def read_table(path: Path, columns: Sequence[str] | None = None, ids: Sequence[int] | None = None) -> "pd.DataFrame":
    """Read a table that ``write_table`` wrote, or only some of its columns or rows."""
    import pandas as pd  # takes a second to import, for which commands that read no table do not wait

    with _readable(path):
        chosen = None if columns is None else list(columns)
        return pd.read_parquet(path, columns=chosen, filters=None if ids is None else [("id", "in", [*ids])])


def columns_in(path: Path) -> list[str]:
    """Return the names of the columns of a table without reading its rows."""
    import pyarrow.parquet as pq

    with _readable(path):
        return list(pq.read_schema(path).names)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        again = f", or compute it again: attest evidence --run {path.parent.parent} {path.stem} FORCE=1"
        raise _damaged(path, "a Parquet table", error, again) from error


def _damaged(path: Path, kind: str, error: Exception, again: str = "") -> AttestError:
    reason = " ".join(str(error).split())[:200]
    return AttestError(
        f"{path} cannot be read as {kind} ({reason}); expected the complete file that Attest wrote. Replace it by a complete "
        f"copy{again}"
    )


def write_table(path: Path, rows: "pd.DataFrame", made_from: Mapping[str, str] | None = None) -> None:
    """Write a Parquet table completely or not at all; its metadata contain the digests and versions ``made_from``."""
    rows = rows.copy(deep=False)
    rows.attrs = {MADE_FROM: dict(made_from)} if made_from else {}
    write_atomically(path, lambda temporary: rows.to_parquet(temporary, index=False))


def made_from(path: Path) -> dict[str, str]:
    """Return the digests and versions in the metadata of a table; empty if there are none."""
    import pyarrow.parquet as pq

    with _readable(path):
        kept = (pq.read_schema(path).metadata or {}).get(ATTRIBUTES, b"{}")
    try:
        attributes = json.loads(kept)
        if said := misfit(attributes, Entries(known={MADE_FROM: Entries(others=str)})):
            raise ValueError(said)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, "a Parquet table", error) from error
    return attributes.get(MADE_FROM, {})
