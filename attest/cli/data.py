"""``attest data --check``: our counts of every corpus beside the published ones, and why they differ.

Counts of files on this machine are remembered by the files' content, so that the second check neither reads a corpus nor
imports Lightning.
"""

import hashlib
import io
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from attest.cli.command_parser import CommandParser
from attest.datamodules.catalogue import CATALOGUE
from attest.datamodules.published import CLAIMS, UNEXPLAINED, Claim
from attest.datamodules.sources import DATA_VARIABLE
from attest.errors import AttestError, unknown_choice
from attest.runs.lightly import import_lightly
from attest.runs.remembered import Remembered

if TYPE_CHECKING:
    from attest.datamodules import TextDataModule

HEADER = ("corpus", "protocol", "quantity", "published", "reproduced", "source", "equal, or why not")
OUT_OF_REACH = "not checked"
PREPARING = ("pyarrow", "scikit-learn", "spacy")
"""Packages that prepare a corpus, beside those that every ``Remembered`` depends on."""


class Counted(NamedTuple):
    """Of one corpus."""

    counts: list[str]
    """One a claim, in the order of ``CLAIMS``."""
    said: str
    """What was printed while the corpus was read: how it differs from the known one."""


def main(arguments: Sequence[str]) -> int:
    """Check the corpora that are named, or all; returns 1 where a count differs and we do not know why, else 0.

    Args:
        arguments: what follows ``attest data``.
    """
    parser = CommandParser("attest data", __doc__)
    parser.add_argument("--check", action="store_true", required=True, help="print the table of counts")
    parser.add_argument("corpora", nargs="*", help=f"any of {', '.join(CATALOGUE)}; all of them if none is named")
    names = parser.parse_args(list(arguments)).corpora or list(CATALOGUE)
    for name in names:
        if name not in CATALOGUE:
            raise unknown_choice("The corpus", name, CATALOGUE, "attest data --check {}")
    rows = [row for name in names for row in checked(name)]
    print(aligned([HEADER, *rows]))
    return int(any(row[-1] == UNEXPLAINED or row[-3] == OUT_OF_REACH for row in rows))


def checked(name: str) -> list[tuple[str, ...]]:
    """The rows of the table for one corpus; one row with the reason where it cannot be read."""
    try:
        counts, said = _remembered(name)
    except AttestError as error:
        return [(name, "", "", "", OUT_OF_REACH, "", str(error))]
    print(said, end="")
    return [_row(claim, count) for claim, count in zip(_claims(name), counts, strict=True)]


def _claims(name: str) -> list[Claim]:
    return [claim for claim in CLAIMS if claim.corpus == name]


def _remembered(name: str) -> Counted:
    """As ``_counted``; what was counted before in files of the same content."""
    files = _content(name)
    if files is None:
        return _counted(name)
    remembered = Remembered("counts.json")
    if files not in remembered:
        remembered[files] = _counted(name)
        remembered.keep()
    return Counted(*remembered[files])


def _content(name: str) -> str | None:
    """What a corpus on this machine is prepared from, in 64 hex digits; None where a file is missing, or it is elsewhere."""
    found = CATALOGUE[name].found(Path(os.environ.get(DATA_VARIABLE, "")).expanduser() / name)
    if not os.environ.get(DATA_VARIABLE) or not all(found.values()):
        return None
    digest = hashlib.sha256(" ".join([name, *map(version, PREPARING)]).encode())
    for file in [file for files in found.values() for file in files]:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _counted(name: str) -> Counted:
    claims, module = _claims(name), _modules()[name]
    with redirect_stdout(io.StringIO()) as said:
        corpora = {protocol: module(protocol=protocol).corpus for protocol in dict.fromkeys(c.protocol for c in claims)}
    return Counted([claim.count(corpora[claim.protocol]) for claim in claims], said.getvalue())


def _modules() -> dict[str, Callable[..., "TextDataModule"]]:
    """The DataModules by corpus; Lightning comes with them."""
    import_lightly(())
    from attest import datamodules
    from attest.datamodules.labelled import CORPORA, WITH_QUESTIONS

    return {name: getattr(datamodules, module) for name, module in (CORPORA | WITH_QUESTIONS).items()}


def _row(claim: Claim, counted: str) -> tuple[str, ...]:
    known = (claim.corpus, claim.protocol, claim.quantity, claim.published)
    return (*known, counted, claim.source, claim.verdict(counted))


def aligned(rows: Iterable[tuple[str, ...]]) -> str:
    """Columns as wide as their longest cell, the last as it is."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
