"""Whether a page is up to date: it ends with a digest of the state of all files that it was made from."""

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import attest
from attest.runs.folder import MAPS, RunFolder

READ = {".json", ".yaml", ".parquet"}
WRITING = {".py", ".html", ".yaml"}
TAIL = 200
"""Bytes at the end of a page in which the stamp is looked for."""


def stamp(folder: RunFolder) -> str:
    """The comment that ends the page of a run: equal until a file that the page reads, or one of Attest, changes."""
    files = sorted({*_sources(RunFolder(folder.path.absolute()))})
    return f"<!-- made from {_digest([str(folder.path), _package(), *map(_state, files)])} -->\n"


def drawn_from(folder: RunFolder) -> str:
    """The comment that ends a figure of a run: equal until evidence, a learning curve, a class name or Attest changes."""
    whole = RunFolder(folder.path.absolute())
    own = {whole.curves, whole.config, whole.data}
    files = sorted(path for path in {*_sources(whole)} if path.suffix == ".parquet" or path in own)
    return f"<!-- drawn from {_digest([_package(), *map(_state, files)])} -->\n"


def is_current(folder: RunFolder) -> bool:
    """Whether the page of a run is there and would be the same if it were made now."""
    if not folder.report.is_file() or not any(folder.figures.glob("*.svg")):
        return False
    with folder.report.open("rb") as page:
        page.seek(max(0, folder.report.stat().st_size - TAIL))
        return page.read().decode(errors="replace").endswith(stamp(folder))


def _sources(folder: RunFolder) -> Iterator[Path]:
    """Files of the run and of its relatives: seeds, twins under uniform attention or another projection, and its base."""
    yield from _below(folder.path, READ)
    yield from folder.setting.glob("seed*/summary.json")
    for twin in folder.corpus.glob(f"*-uniform*/{folder.path.name}"):
        yield from _below(twin, READ)
    yield from folder.corpus.glob(f"*/{folder.path.name}/evidence/{MAPS}.parquet")
    if folder.base.is_file():
        yield from _sources(RunFolder(folder.corpus))


def _below(folder: Path, endings: set[str]) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.suffix in endings and path.is_file())


@cache
def _package() -> str:
    """The state of Attest itself."""
    return _digest(map(_state, sorted(_below(Path(attest.__file__).parent, WRITING))))


def _state(path: Path) -> str:
    seen = path.stat()
    return f"{path} {seen.st_size} {seen.st_mtime_ns}"


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
