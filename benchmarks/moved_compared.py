"""What differs between two folders of the same runs and trials: tables, numbers and weights to the bit, pages as text.

Times, memory, versions and pictures are left out: they differ, or may differ, without a decision of anybody's.
"""

import csv
import html
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import yaml

LEFT_OUT = ("timing.json", "base.json", "hparams.yaml", "drawn.txt", "said.txt")
"""Times; digests of whole checkpoints, which hold paths; copies of settings; names of figures; what was printed on the way."""
VARIANT = re.compile(r"-[0-9a-f]{8}\b")
"""The end of a run's name, which stands for its settings: they are compared where they are written in full."""
UNREAD = re.compile(
    r"<(script|style|svg|footer|pre)\b.*?</\1>"  # pictures, versions, and settings, which are compared as a file
    r"|<table class=\"(bars|made)\">.*?</table>",  # times, memory and versions
    flags=re.DOTALL,
)
TIMED = re.compile(r"<th[^>]*>seconds[^<]*</th>\s*</tr>\s*</thead>.*?</table>", flags=re.DOTALL)
"""From the heading of a table's last column, if that has times, to the end of the table."""
NUMBER = re.compile(r"[−-]?\d[\d.,]*(e[−+-]?\d+)?")
SHOWN = 90
"""Characters of a value, or of a line of a page."""


@dataclass(frozen=True)
class Move:
    """A number, a line or a file that differs.

    Attributes:
        where: the file, and the column if it is a table.
        what: how it differs.
    """

    where: str
    what: str


@dataclass
class Compared:
    """What two folders have in common, and all that differs."""

    columns: int = 0
    """Of tables that both have."""
    pages: int = 0
    moves: list[Move] = field(default_factory=list)


def compare(before: Path, after: Path) -> Compared:
    """Compare all files of two folders, each with the file of the same path."""
    compared = Compared()
    theirs, ours = files(before), files(after)
    compared.moves += [Move("files", said) for said in apart(theirs, ours, "files")]
    for name in sorted({*theirs} & {*ours}):
        read = READERS.get(Path(name).suffix)
        if read is None:
            continue
        old, new = read(theirs[name], before), read(ours[name], after)
        if read is parquet:
            compared.columns += len({*old} & {*new})
            compared.moves += table_moves(shortened(name), old, new)
        elif read is lines:
            compared.pages += 1
            compared.moves += page_moves(shortened(name), old, new)
        else:
            compared.moves += value_moves(shortened(name), old, new)
    return compared


def files(folder: Path) -> dict[str, Path]:
    """Return the files of a folder by their paths in it, in which runs are called by their readable names alone."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name not in LEFT_OUT]
    return {VARIANT.sub("", str(path.relative_to(folder))): path for path in found}


def shortened(name: str) -> str:
    """Return a path without what is the same everywhere: the folder and corpus of runs, seed 0, the folder of tables."""
    return re.sub(r"^runs/[^/]+/|^trial/|\bseed0/|\bevidence/|\bcsv/version_0/", "", name)


# Reading. Each function takes a file and the folder of all files, which is not named in what it returns.


def parquet(path: Path, folder: Path) -> dict[str, list[Any]]:
    """Return the columns of a table, plain values in rows."""
    import pyarrow.parquet as pq

    return pq.read_table(path).to_pydict()


def csv_values(path: Path, folder: Path) -> dict[str, Any]:
    """Return the cells of a CSV file by row and column; numbers as numbers."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [{column: _number(cell) for column, cell in row.items()} for row in csv.DictReader(file)]
    return flat(rows)


def json_values(path: Path, folder: Path) -> dict[str, Any]:
    """Return the values of a JSON file, each by the way to it."""
    return flat(json.loads(text(path, folder)))


def yaml_values(path: Path, folder: Path) -> dict[str, Any]:
    """Return the values of a YAML file, each by the way to it."""
    return flat(yaml.safe_load(text(path, folder)))


def weights(path: Path, folder: Path) -> dict[str, Any]:
    """Return the weights of a checkpoint by the names of their tensors."""
    import torch

    return {name: each.flatten().tolist() for name, each in torch.load(path, weights_only=True)["state_dict"].items()}


def lines(path: Path, folder: Path) -> list[str]:
    """Return the lines of text of a page, without pictures, times and versions."""
    page = VARIANT.sub("", UNREAD.sub(" ", text(path, folder)))
    page = TIMED.sub(lambda table: re.sub(r"<td>[^<]*</td>\s*</tr>", "</tr>", table[0]), page)
    told = html.unescape(re.sub(r"<[^>]+>", " ", page)).splitlines()
    return [line for line in (" ".join(line.split()) for line in told) if line]


READERS: dict[str, Callable[[Path, Path], Any]] = {
    ".parquet": parquet, ".csv": csv_values, ".json": json_values, ".yaml": yaml_values, ".ckpt": weights, ".html": lines,
}  # fmt: skip
"""By the ends of names; other files are compared by their names alone."""


def text(path: Path, folder: Path) -> str:
    """Return the text of a file."""
    return path.read_text(encoding="utf-8").replace(str(folder), "…")


def flat(content: Any, name: str = "") -> dict[str, Any]:
    """Return the leaves of nested dictionaries and lists, each by the way to it."""
    if not isinstance(content, dict | list):
        return {name: content}
    pairs = content.items() if isinstance(content, dict) else enumerate(content)
    return {way: leaf for key, value in pairs for way, leaf in flat(value, f"{name} {key}".strip()).items()}


def _number(typed: str) -> float | str:
    try:
        return float(typed)
    except ValueError:
        return typed


# Comparing.


def table_moves(name: str, before: Mapping[str, list[Any]], after: Mapping[str, list[Any]]) -> Iterator[Move]:
    """Compare two tables, given as columns."""
    name = name.removesuffix(".parquet")
    yield from (Move(name, said) for said in apart(before, after, "columns"))
    for column in before:
        if column not in after:
            continue
        theirs, ours = before[column], after[column]
        if len(theirs) != len(ours):
            yield Move(name, f"{len(theirs)} rows are now {len(ours)}")
            return
        if said := moved(dict(enumerate(theirs)), dict(enumerate(ours)), "rows", "row "):
            yield Move(f"{name} · {column}", said)


def value_moves(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Move]:
    """Compare two files of named values, such as numbers, settings or weights; a line for all that moved."""
    unit = "tensors" if name.endswith(".ckpt") else "values"
    yield from (Move(name, said) for said in apart(before, after, unit))
    if said := moved(before, after, unit):
        yield Move(name, said)


def page_moves(name: str, before: list[str], after: list[str]) -> Iterator[Move]:
    """Compare the lines of two pages; those in which only numbers moved are counted, as the numbers are in the tables."""
    if before == after:
        return
    numbers = 0
    for kind, *places in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        theirs, ours = before[places[0] : places[1]], after[places[2] : places[3]]
        if kind == "equal":
            continue
        alike = len(theirs) == len(ours)
        for old, new in zip(theirs, ours, strict=True) if alike else [(" ⏎ ".join(theirs), " ⏎ ".join(ours))]:
            if alike and NUMBER.sub("#", old) == NUMBER.sub("#", new):
                numbers += old != new
            else:
                yield Move(name, line_moved(old, new))
    if numbers:
        yield Move(name, f"in {numbers} of {len(after)} lines numbers alone moved")


def line_moved(old: str, new: str) -> str:
    """Say how a line of a page reads now, from shortly before the place where it differs."""
    if not old or not new:
        return f"gone: “{cut(old)}”" if old else f"new: “{cut(new)}”"
    same = next(
        (at for at, (ours, theirs) in enumerate(zip(old, new, strict=False)) if ours != theirs), min(len(old), len(new))
    )
    begin = 0 if max(len(old), len(new)) <= SHOWN else max(0, same - SHOWN // 3)
    return f"“{cut(old, begin)}” is now “{cut(new, begin)}”"


def apart(before: Iterable[str], after: Iterable[str], unit: str) -> Iterator[str]:
    """Say what only one side has."""
    theirs, ours = dict.fromkeys(before), dict.fromkeys(after)
    for said, names in (("gone", [name for name in theirs if name not in ours]), ("new", [*(ours.keys() - theirs.keys())])):
        if names:
            yield f"{len(names)} {unit if len(names) > 1 else unit.removesuffix('s')} {said}: {cut(', '.join(sorted(names)))}"


def moved(before: Mapping[Any, Any], after: Mapping[Any, Any], unit: str, first: str = "") -> str | None:
    """Say how many of the values that both sides have moved, by how much, and how the first did; None if none did.

    Two values are the same if they are written the same: with all digits of their floats, the sign of a zero, and NaN as NaN.

    Args:
        unit: what they are: rows, say.
        first: a word before the name of the first.
    """
    shared = [key for key in before if key in after]
    others = [key for key in shared if repr(before[key]) != repr(after[key])]
    if not others:
        return None
    said = f"{len(others):,} of {len(shared):,} {unit}"
    gaps = [gap for key in others for gap in gaps_of(before[key], after[key])]
    if gaps:
        largest, share = (max(each) for each in zip(*gaps, strict=True))
        said += f", by at most {largest:.3g} ({100 * share:.2g} %)"
    return f"{said}; {first}{others[0]}: {first_gap(before[others[0]], after[others[0]])}"


def leaves(value: Any) -> list[Any]:
    """Return what a value has in it, in order."""
    return [*flat(value).values()]


def gaps_of(before: Any, after: Any) -> Iterator[tuple[float, float]]:
    """Return the distance of each two numbers that differ, and its share of the larger one."""
    theirs, ours = leaves(before), leaves(after)
    for old, new in zip(theirs, ours, strict=False) if len(theirs) == len(ours) else ():
        if all(isinstance(each, int | float) and math.isfinite(each) for each in (old, new)) and old != new:
            yield abs(new - old), abs(new - old) / max(abs(new), abs(old))


def first_gap(before: Any, after: Any) -> str:
    """Say how a value was and is, by the first of its parts that differs."""
    theirs, ours = leaves(before), leaves(after)
    if len(theirs) != len(ours):
        return f"{len(theirs)} values are now {len(ours)}"
    old, new = next(pair for pair in zip(theirs, ours, strict=True) if repr(pair[0]) != repr(pair[1]))
    if isinstance(old, float) and isinstance(new, float) and f"{old:.6g}" != f"{new:.6g}":
        return f"{old:.6g} is now {new:.6g}"
    return f"{cut(repr(old))} is now {cut(repr(new))}"


def cut(text: str, begin: int = 0) -> str:
    """Return a text, or as much of it as is shown."""
    end = begin + SHOWN
    return f"{'…' if begin else ''}{text[begin:end]}{'…' if len(text) > end else ''}"
