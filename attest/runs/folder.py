"""Where one run keeps its files, how they are written, and whether it is complete.

A file is written whole or not at all: into a temporary sibling first, then renamed over its name. So a file that exists is a
good one, and completeness is judged file by file.
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

from attest.core.bounded_yaml import bounded
from attest.core.errors import AttestError, chain, unwritable
from attest.runs.versions import made_by

if TYPE_CHECKING:
    import pandas as pd

INSTANCES, MAPS = "instances", "maps"
"""The table of the texts themselves, which every table of evidence can be joined to by ``id``, and that of attention maps."""
TAGGED = "tagged"
"""The table of a tagger's sentences, as ``INSTANCES`` is that of a classifier's texts."""
TRIAL = "trial"
"""The section that stands in the settings of a model which was put on trial and not trained by us."""
NAMELESS = ("", "..")
"""Names of paths, such as that of ``.``, that do not say what the folder is called."""
ROWS_AT_ONCE, BUFFER = 16, 2**20
"""Rows of a table of which some are read, and bytes of each of its columns, that are in memory at once."""
MADE_FROM, ATTRIBUTES = "made from", b"PANDAS_ATTRS"
"""The attribute of a table that names its origin, and where pandas puts attributes in a file."""
SECTIONS = (
    *("", "run", TRIAL, "trainer", "experiments", "experiments.instances.init_args"),
    *("data.init_args", "model.init_args.network.init_args"),
)
"""Places in a configuration that hold settings by name, as do all above them."""
UNFINISHED = "unfinished"
"""The file that lies in a folder which is written as a whole, until it is."""
TEMPORARY = ".unfinished"
"""How the name of a file ends while it is written."""


YAML = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Ten times as fast where the library was built with it."""


@dataclass(frozen=True)
class Stopped:
    """An experiment that stopped when it knew its means.

    Args:
        precision: half the width of their intervals at most.
        summary: what it adds to the summary of its table: how many texts of how many were read, and these intervals.
    """

    precision: float
    summary: dict[str, float]


class RunFolder:
    """The folder of one run: ``runs/<data>/<readable name>/seed<n>/``.

    Files: ``run.json`` (what the run is), ``config.yaml``, ``data.json`` (vocabulary, classes and fingerprints of the texts),
    ``checkpoints/{best,last}.ckpt``, ``curves.json`` (written when training has ended),
    ``evidence/<id>.parquet`` (one row per instance), ``summary.json`` (nothing that changes from run to run), ``timing.json``
    (everything that does), ``stopped.json`` (experiments that read no more texts than they needed), ``report.html``,
    ``figures/``, ``wandb/``.
    """

    def __init__(self, path: Path) -> None:
        if path.name in NAMELESS:
            path = Path(os.path.abspath(path))
        self.path = path
        self.config = path / "config.yaml"
        self.identity = path / "run.json"
        self.data = path / "data.json"
        self.best = path / "checkpoints" / "best.ckpt"
        self.last = path / "checkpoints" / "last.ckpt"
        self.curves = path / "curves.json"
        self.summary = path / "summary.json"
        self.timing = path / "timing.json"
        self.stopped = path / "stopped.json"
        self.report = path / "report.html"
        self.figures = path / "figures"
        self.made_from: Callable[[], dict[str, str]] = made_by
        """What tables that are written now are made from, and by which version; see ``attest.runs.belonging``."""

    @property
    def setting(self) -> Path:
        """Where the runs lie that differ in their seed alone, however the path of this one was typed."""
        return Path(os.path.abspath(self.path)).parent

    @property
    def corpus(self) -> Path:
        """Where the runs on the same corpus lie, by setting."""
        return self.setting.parent

    def settings(self) -> dict[str, Any]:
        """What ``config.yaml`` says, with class paths as they are now.

        Raises:
            AttestError: it cannot be read, or a section of it holds no settings by name.
        """
        settings = read_yaml(self.config)
        if not all(isinstance(_section(settings, place), dict) for place in SECTIONS):
            raise no_configuration(self.config)
        return settings

    def evidence(self, identity: str) -> Path:
        """The table of one experiment."""
        return self.path / "evidence" / f"{identity}.parquet"

    @property
    def base(self) -> Path:
        """What run it was trained against or beside, of a dependent run: ``base.json``."""
        return self.path / "base.json"

    @property
    def trained(self) -> bool:
        """Whether training has ended."""
        return self.curves.is_file() and self.best.is_file()

    def missing_evidence(self, identities: Iterable[str], until: float | None = None) -> list[str]:
        """The experiments whose tables are not there yet, or stopped before their means were known as well as they are to be.

        Args:
            identities: of experiments.
            until: how well means are to be known; None for as well as all texts tell.
        """
        coarse = [name for name, stopped in self.stopped_evidence().items() if until is None or stopped.precision > until]
        return [identity for identity in identities if identity in coarse or not self.evidence(identity).is_file()]

    def complete(self, identities: Iterable[str], until: float | None = None) -> bool:
        """Whether nothing is left to do: trained, every table written, summed up and reported."""
        there = self.trained and self.config.is_file() and self.last.is_file()
        return there and not self.missing_evidence(identities, until) and self.reported

    @property
    def summed_up(self) -> bool:
        """Whether the summary is there and no older than any table."""
        tables = [_written(table) for table in self.evidence("E1").parent.glob("*.parquet")]
        return self.summary.is_file() and max(tables, default=0) <= _written(self.summary)

    @property
    def reported(self) -> bool:
        """Whether all is summed up, and the report of a run that was trained is no older than the summary."""
        return self.summed_up and (not self.trained or _written(self.summary) <= _written(self.report))

    def stopped_evidence(self) -> dict[str, Stopped]:
        """The experiments that read a part of the texts, by id."""
        known = read_json(self.stopped) if self.stopped.is_file() else {}
        return {identity: Stopped(**stopped) for identity, stopped in known.items()}

    def write_evidence(self, identity: str, rows: "pd.DataFrame", stopped: Stopped | None = None) -> None:
        """Write the table of an experiment.

        Killed at any point this leaves no table that passes for one of all texts and is not.

        Args:
            identity: of the experiment.
            rows: one a text.
            stopped: why it has not a row for every text; None where it has.
        Raises:
            AttestError: what it is made from has changed since it was read.
        """
        made_from = self.made_from()
        known = {name: asdict(each) for name, each in self.stopped_evidence().items()}
        if stopped is not None:
            self.evidence(identity).unlink(missing_ok=True)
            write_json(self.stopped, known | {identity: asdict(stopped)})
        write_table(self.evidence(identity), rows, made_from)
        if stopped is None and known.pop(identity, None) is not None:
            write_json(self.stopped, known)

    def remove(self) -> None:
        """Delete the folder and all that is in it; stopped in the middle, it leaves nothing that looks like a run."""
        if self.path.is_dir():
            doomed = Path(tempfile.mkdtemp(dir=self.path.parent, prefix=f".{self.path.name}.", suffix=TEMPORARY))
            self.path.replace(doomed)
        for doomed in self.path.parent.glob(f".{self.path.name}.*{TEMPORARY}"):
            shutil.rmtree(doomed, ignore_errors=True)

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep other processes out for as long as this lasts; a process that dies, however it dies, lets go of its folder.

        What it was writing then is deleted by the next that claims the folder.

        Raises:
            AttestError: another process is at work in it, it cannot be made, or a folder in it is a link.
        """
        made = not self.path.exists()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDONLY)
        except OSError as error:
            raise unwritable(self.path, error) from error
        try:
            with suppress(OSError):  # a file system without locks
                _lock(descriptor, self.path)
            self.require_no_links()
            self._sweep()
            yield
        finally:
            os.close(descriptor)
            if made:
                with suppress(OSError):  # something came of it
                    self.path.rmdir()

    @contextmanager
    def claimed_anew(self) -> Iterator[None]:
        """Claim a folder that is new or empty, or that a process has left half written; what lies in that one is deleted.

        Until ``UNFINISHED`` is deleted the folder is one of the last kind.

        Raises:
            AttestError: there is something else in it, or as ``claimed``.
        """
        if self.path.exists() and not self.path.is_dir():
            raise self._there_already()
        with self.claimed():
            unfinished = self.path / UNFINISHED
            if unfinished.is_file():
                for each in {*self.path.iterdir()} - {unfinished}:
                    shutil.rmtree(each) if each.is_dir() else each.unlink()
            elif any(self.path.iterdir()):
                raise self._there_already()
            yield

    def _there_already(self) -> AttestError:
        return AttestError(f"{self.path} is there already; expected a new folder or an empty one. Type --out=<another folder>")

    def require_no_links(self) -> None:
        """Refuse a folder in which another is a link: whoever sent it says with that where we write and delete.

        Raises:
            AttestError: one is.
        """
        if link := next((each for each in sorted(self.path.glob("*")) if each.is_symlink() and each.is_dir()), None):
            raise AttestError(
                f"{link} is a link to the folder {link.resolve()}, into which this command would write; expected a folder of "
                "the run's own. Put a copy in its place, or remove the link."
            )

    def _sweep(self) -> None:
        """Delete what a killed process was writing."""
        for folder in (self.path, self.best.parent, self.path / "evidence", self.figures):
            for unfinished in folder.glob(f".*{TEMPORARY}"):
                unfinished.unlink(missing_ok=True)

    def note(self, **facts: Any) -> None:
        """Add facts to ``timing.json``; dictionaries are merged one level deep."""
        known = read_json(self.timing) if self.timing.is_file() else {}
        for name, fact in facts.items():
            known[name] = known.get(name, {}) | fact if isinstance(fact, dict) else fact
        write_json(self.timing, known)


def no_configuration(path: Path) -> AttestError:
    """The error for a ``config.yaml`` that is something else."""
    return AttestError(f"{path} is not the configuration of a run; expected the file that `attest fit` wrote there.")


def _section(settings: Any, place: str) -> Any:
    """What stands at a place of the settings; an empty section where there is nothing."""
    for name in place.split(".") if place else ():
        settings = (settings.get(name) or {}) if isinstance(settings, dict) else settings
    return settings


def _written(path: Path) -> int:
    """When a file was written, in nanoseconds; 0 if it is not there."""
    return path.stat().st_mtime_ns if path.is_file() else 0


def _lock(descriptor: int, path: Path) -> None:
    """Where the system offers it; Windows does not, and there nothing keeps two processes apart."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise AttestError(
            f"another process is at work in {path}; expected one at a time. Wait for it, or give another folder: "
            "--run.root= for a run, --out= for a trial, --results= for tables"
        ) from None


def write_atomically(path: Path, write: Callable[[Path], Any]) -> None:
    """Let ``write`` fill a temporary sibling of ``path``, then rename it; on failure nothing is left behind.

    File and name are on the disk when this returns, so that files are there in the order in which they were written, also
    after a power cut.

    Raises:
        AttestError: the folder cannot be written, or the disk is full.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{TEMPORARY}")
        temporary.touch(exist_ok=False)  # readable by whom the umask lets read
        write(temporary)
        _sync(temporary)
        temporary.replace(path)
        _sync(path.parent)
    except (OSError, RuntimeError) as error:  # torch wraps what the system says
        refusal = next((each for each in chain(error) if isinstance(each, OSError)), None)
        if refusal is None:
            raise
        raise unwritable(path, refusal) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Have the system put a file, or the names in a folder, on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def write_json(path: Path, content: Any) -> None:
    """Write JSON whole or not at all; NaN and infinities, which JSON does not know, become null."""
    write_text(path, json.dumps(_json_numbers(content), indent=2, sort_keys=True, allow_nan=False) + "\n")


def _json_numbers(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _json_numbers(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_json_numbers(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def read_json(path: Path) -> Any:
    """Read JSON that ``write_json`` wrote.

    Raises:
        AttestError: it is no longer as it was written.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # of JSON and of UTF-8
        again = f", or compute it again: attest evidence --run {path.parent} FORCE=1" if path.name == "summary.json" else ""
        raise _damaged(path, "JSON", error, again) from error


def read_yaml(path: Path) -> Any:
    """Read a configuration that a run has kept, with class paths as they are now.

    Raises:
        AttestError: it is no longer as it was written.
    """
    try:
        return yaml.load(bounded(path.read_text(encoding="utf-8")), YAML)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise _damaged(path, "YAML", error) from error


def read_table(path: Path, columns: Sequence[str] | None = None) -> "pd.DataFrame":
    """Read a table that ``write_table`` wrote, or some of its columns.

    Raises:
        AttestError: it is no longer as it was written.
    """
    import pandas as pd  # a second that commands which read no table do not wait for

    with _readable(path):
        return pd.read_parquet(path, columns=None if columns is None else list(columns))


def columns_in(path: Path) -> list[str]:
    """The names of the columns of a table, which are read alone.

    Raises:
        AttestError: as of ``read_table``.
    """
    import pyarrow.parquet as pq

    with _readable(path):
        return list(pq.read_schema(path).names)


def read_rows(path: Path, ids: Sequence[int]) -> "pd.DataFrame":
    """Some rows of a table, in its order; of the others no more is in memory at once than of a few.

    Args:
        path: of a table with ``id``.
        ids: of the rows.
    Raises:
        AttestError: as of ``read_table``.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    with _readable(path), pq.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False) as file:
        parts = (part.filter(pc.is_in(part["id"], pa.array(ids))) for part in file.iter_batches(ROWS_AT_ONCE))
        kept = pa.Table.from_batches([part for part in parts if part.num_rows], file.schema_arrow)
        rows: pd.DataFrame = kept.to_pandas()
        return rows


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
        f"{path} cannot be read as {kind} ({reason}); expected the whole file as attest wrote it. Put a whole copy in its "
        f"place{again}"
    )


def write_table(path: Path, rows: "pd.DataFrame", made_from: Mapping[str, str] | None = None) -> None:
    """Write a parquet table whole or not at all, and into its metadata what it was made from."""
    rows = rows.copy(deep=False)
    rows.attrs = {MADE_FROM: dict(made_from)} if made_from else {}
    write_atomically(path, lambda temporary: rows.to_parquet(temporary, index=False))


def made_from(path: Path) -> dict[str, str]:
    """What a table says that it was made from; empty where it does not say.

    Raises:
        AttestError: as of ``read_table``.
    """
    import pyarrow.parquet as pq

    with _readable(path):
        kept = (pq.read_schema(path).metadata or {}).get(ATTRIBUTES, b"{}")
    return json.loads(kept).get(MADE_FROM, {})
