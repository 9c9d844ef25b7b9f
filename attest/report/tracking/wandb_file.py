"""Read and write the file in which W&B keeps an offline run, and point it to where the folder of the run lies now.

W&B writes absolute paths of staged files into this file, so that a copy of the folder on another machine could not be synced.

The file is a log as LevelDB has it: a head of 7 bytes, then blocks of 32 KiB. A record is cut into chunks that each lie in one
block, and each chunk begins with its checksum, its length and its kind.
"""

import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from wandb.proto.wandb_internal_pb2 import Record  # type: ignore[attr-defined]  # made when it is imported

from attest.core.errors import AttestError
from attest.runs.folder import write_atomically

BLOCK, HEAD = 32768, struct.Struct("<IHB")
"""The format of the file: the size of a block in bytes, and the structure of the header before each chunk (checksum, length,
kind). The file itself begins with as many bytes as such a header has."""
WHOLE, FIRST, MIDDLE, LAST = 1, 2, 3, 4
"""The number in a chunk's header that says which part of a record the chunk holds: all of it, the first part, a middle part,
or the last part."""


def records(path: Path) -> Iterator[Record]:
    """Yield the records of a W&B file; a record that was cut off at the end, as by a kill, is left out."""
    content = path.read_bytes()
    place, parts = HEAD.size, b""
    while place + HEAD.size <= len(content):
        if BLOCK - place % BLOCK < HEAD.size:
            place += BLOCK - place % BLOCK
            continue
        checksum, length, kind = HEAD.unpack_from(content, place)
        chunk = content[place + HEAD.size : place + HEAD.size + length]
        if len(chunk) < length or checksum != _checksum(kind, chunk):
            return
        parts += chunk
        place += HEAD.size + length
        if kind in (WHOLE, LAST):
            yield Record.FromString(parts)
            parts = b""


def write_records(path: Path, found: Iterable[Record]) -> None:
    """Replace the records of an existing W&B file, whole or not at all."""
    content = bytearray(path.read_bytes()[: HEAD.size])
    for record in found:
        _append(content, record.SerializeToString())
    write_atomically(path, lambda temporary: temporary.write_bytes(content))


def _append(content: bytearray, record: bytes) -> None:
    begun = False
    while True:
        room = BLOCK - len(content) % BLOCK
        if room < HEAD.size:
            content.extend(bytes(room))
            room = BLOCK
        chunk, record = record[: room - HEAD.size], record[room - HEAD.size :]
        kind = (LAST if begun else WHOLE) if not record else (MIDDLE if begun else FIRST)
        content.extend(HEAD.pack(_checksum(kind, chunk), len(chunk), kind) + chunk)
        if not record:
            return
        begun = True


def _checksum(kind: int, chunk: bytes) -> int:
    return zlib.crc32(chunk, zlib.crc32(bytes([kind])))


def sittings(folder: Path) -> list[Path]:
    """Return the W&B files of the offline runs in a folder and in all folders below, oldest first.

    A run that was stopped and resumed has one file for each sitting. ``folder`` may also be an ``offline-run-…`` itself.
    """
    inside = [*folder.rglob("offline-run-*/run-*.wandb")]
    if folder.absolute().name.startswith("offline-run-"):
        inside += folder.glob("run-*.wandb")
    return sorted(inside, key=lambda path: (path.absolute().parents[1], path.parent.name))


def steps_taken(folder: Path, wandb_id: str) -> int:
    """Return how many steps the offline sittings of a run have taken: the first step of the next sitting."""
    files = folder.glob(f"wandb/offline-run-*-{wandb_id}/run-*.wandb")
    steps = (record.history.step.num for path in files for record in records(path) if record.HasField("history"))
    return max(steps, default=-1) + 1


def point_here(path: Path) -> int:
    """Make a W&B file name the staged files in its own folder, where that folder lies now; return how many it names.

    Raises:
        AttestError: a file that W&B would upload is missing or has another size.
    """
    found, named, moved = [*records(path)], 0, False
    for record in found:
        for entry in record.artifact.manifest.contents if record.HasField("artifact") else ():
            if entry.local_path:
                here, named = str(_inside(path.parent, entry.local_path, entry.size)), named + 1
                moved, entry.local_path = moved or entry.local_path != here, here
    if moved:
        write_records(path, found)
    return named


def _inside(folder: Path, noted: str, size: int) -> Path:
    """Return the file in ``folder`` whose path ends as the noted one, which may be of another machine or system."""
    folder, parts = folder.absolute(), [part for part in re.split(r"[/\\]", noted) if part]
    for start in range(len(parts)):
        path = folder.joinpath(*parts[start:])
        if path.is_file() and path.stat().st_size == size:
            return path
    raise AttestError(
        f"{folder} lacks a file that W&B would upload, {parts[-1]} with {size} bytes; expected the whole folder. Copy it "
        "again, with all files in it."
    )
