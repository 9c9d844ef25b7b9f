"""``attest data --check``: our counts of every corpus beside the published ones, and why they differ."""

import io
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from typing import NamedTuple

from attest.app.cli.main import CommandParser
from attest.core.errors import AttestError, unknown_choice
from attest.datamodules.published import CLAIMS, UNEXPLAINED, Claim
from attest.datamodules.sources import CATALOGUE

HEADER = ("corpus", "protocol", "quantity", "published", "reproduced", "source", "equal, or why not")
OUT_OF_REACH = "not checked"


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
        counts, said = _counted(name)
    except AttestError as error:
        return [(name, "", "", "", OUT_OF_REACH, "", str(error))]
    print(said, end="")
    return [_row(claim, count) for claim, count in zip(_claims(name), counts, strict=True)]


def _claims(name: str) -> list[Claim]:
    return [claim for claim in CLAIMS if claim.corpus == name]


def _counted(name: str) -> Counted:
    from attest.datamodules.labelled import READERS  # with Lightning, which no mistake waits for

    claims, reader = _claims(name), READERS[name]
    with redirect_stdout(io.StringIO()) as said:
        corpora = {protocol: reader(protocol=protocol).corpus for protocol in dict.fromkeys(c.protocol for c in claims)}
    return Counted([claim.count(corpora[claim.protocol]) for claim in claims], said.getvalue())


def _row(claim: Claim, counted: str) -> tuple[str, ...]:
    known = (claim.corpus, claim.protocol, claim.quantity, claim.published)
    return (*known, counted, claim.source, claim.verdict(counted))


def aligned(rows: Iterable[tuple[str, ...]]) -> str:
    """Columns as wide as their longest cell, the last as it is."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
