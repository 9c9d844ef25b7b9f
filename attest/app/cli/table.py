"""``attest table``: many runs as one table, mean ± standard deviation over seeds.

    attest table runs/sst
    attest table runs/sst/*softmax runs/sst/*sparsemax --format latex --columns "test/*" "E1/tau_*_inputs"
    attest table runs/sst --out sst.csv

The table sorts a sweep by its numbers. Its rows are settings, or measures if fewer lines result. Without --columns a table
has the first three measures of each experiment; a CSV has all measures of the report.
"""

import shutil
import sys
from pathlib import Path

from attest.app.cli.main import CommandParser, require_own
from attest.core.errors import AttestError
from attest.report.collection import leading, notes, settings_of, shared_keys
from attest.report.run_tables import BEGINNINGS, FORMATS, PAGE, SUFFIXES
from attest.runs.folder import write_text
from attest.runs.identity import find_runs


def main(arguments: list[str]) -> int:
    typed = _parser().parse_args(arguments)
    chosen = _format(typed.format, typed.out)
    settings = settings_of(find_runs(typed.runs))
    keys = shared_keys(settings, typed.columns)
    if not typed.columns and chosen != "csv":
        keys = leading(keys)
    width = typed.width or (PAGE if typed.out is not None else shutil.get_terminal_size((PAGE, 1)).columns)
    table = FORMATS[chosen](settings, keys, width)
    if typed.out is None:
        print(table, end="")
    else:
        write_text(typed.out, table)
        print(f"Table: {typed.out}")
    for note in notes(settings, keys) if typed.out is not None or chosen == "csv" else ():
        print(f"Note: {note}", file=sys.stderr)
    return 0


def _format(typed: str | None, out: Path | None) -> str:
    if out is None:
        return typed or "markdown"
    require_own(out, {suffix: BEGINNINGS[name] for suffix, name in SUFFIXES.items()})
    by_suffix = SUFFIXES[out.suffix.lower()]
    if typed not in (None, by_suffix):
        raise AttestError(
            f"--format {typed} and --out {out} contradict one another; expected a file name with the suffix of the format. "
            f"Type --format {by_suffix}, or leave --format out."
        )
    return by_suffix


def _parser() -> CommandParser:
    parser = CommandParser("attest table", __doc__)
    parser.add_argument("runs", nargs="+", type=Path, help="run folders, or folders that contain run folders")
    parser.add_argument(
        "--format", choices=FORMATS, help="the format of the table; by default the format of the file in --out, or markdown"
    )
    parser.add_argument(
        "--columns",
        "--keys",
        nargs="+",
        default=[],
        metavar="NAME",
        help="the numbers that the table shows: keys of summary.json, with * for any characters; by default the first three "
        "numbers of each experiment",
    )
    parser.add_argument(
        "--width",
        type=int,
        help=f"the largest number of characters on a line; by default the width of the terminal, or {PAGE} with --out",
    )
    parser.add_argument(
        "--out", type=Path, help="write the table to this file; the suffix gives the format: .md, .tex or .csv"
    )
    return parser
