"""``attest data --check``: our counts of every corpus beside the published ones, and why they differ."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from attest.cli.command_parser import CommandParser
from attest.datamodules.catalogue import CATALOGUE
from attest.datamodules.corpus import Corpus
from attest.datamodules.published import CLAIMS, UNEXPLAINED, Claim
from attest.errors import AttestError, unknown_choice

if TYPE_CHECKING:
    from attest.datamodules import TextDataModule

HEADER = ("corpus", "protocol", "quantity", "published", "reproduced", "source", "equal, or why not")
OUT_OF_REACH = "not checked"


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
    claims = [claim for claim in CLAIMS if claim.corpus == name]
    module = _modules()[name]
    try:
        corpora = {protocol: module(protocol=protocol).corpus for protocol in dict.fromkeys(c.protocol for c in claims)}
    except AttestError as error:
        return [(name, "", "", "", OUT_OF_REACH, "", str(error))]
    return [_row(claim, corpora[claim.protocol]) for claim in claims]


def _modules() -> dict[str, Callable[..., "TextDataModule"]]:
    """The DataModules by corpus; Lightning comes with them."""
    from attest import datamodules
    from attest.datamodules.labelled import CORPORA, WITH_QUESTIONS

    return {name: getattr(datamodules, module) for name, module in (CORPORA | WITH_QUESTIONS).items()}


def _row(claim: Claim, corpus: Corpus) -> tuple[str, ...]:
    counted = claim.count(corpus)
    known = (claim.corpus, claim.protocol, claim.quantity, claim.published)
    return (*known, counted, claim.source, claim.verdict(counted))


def aligned(rows: Iterable[tuple[str, ...]]) -> str:
    """Columns as wide as their longest cell, the last as it is."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
