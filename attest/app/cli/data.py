"""``attest data --check``: our counts of every corpus beside the published ones, and why they differ."""

from collections.abc import Iterable, Sequence

from attest.app.cli.main import CommandParser
from attest.core.errors import AttestError, unknown_choice
from attest.datamodules.published import CLAIMS, UNEXPLAINED, PublishedCount
from attest.datamodules.sources import CATALOGUE

HEADER = ("corpus", "protocol", "quantity", "published", "reproduced", "source", "equal, or why not")
OUT_OF_REACH = "not checked"


def main(arguments: Sequence[str]) -> int:
    """Compare the counts of corpora with the published counts; return 1 if one is unexplained or a corpus is missing."""
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
    """Return the rows of the table of counts for one corpus; one row with the reason if the corpus cannot be read."""
    from attest.datamodules.labelled import STORED_CORPORA  # with Lightning, which no mistake waits for

    claims = [claim for claim in CLAIMS if claim.corpus == name]
    try:
        protocols = dict.fromkeys(claim.protocol for claim in claims)
        corpora = {protocol: STORED_CORPORA[name](protocol=protocol).corpus for protocol in protocols}
        return [_row(claim, claim.count(corpora[claim.protocol])) for claim in claims]
    except AttestError as error:
        return [(name, "", "", "", OUT_OF_REACH, "", str(error))]


def _row(claim: PublishedCount, counted: str) -> tuple[str, ...]:
    known = (claim.corpus, claim.protocol, claim.quantity, claim.published)
    return (*known, counted, claim.source, claim.verdict(counted))


def aligned(rows: Iterable[tuple[str, ...]]) -> str:
    """Return the rows of a table as lines of text, in which each column is as wide as its longest cell."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
