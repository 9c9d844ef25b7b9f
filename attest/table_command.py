"""``attest table``: many runs as one table, mean ± standard deviation over seeds.

attest table runs/sst
attest table runs/sst/*softmax runs/sst/*sparsemax --format latex --keys "test/*" "E1/tau_*_inputs"
"""

from pathlib import Path

from attest.command_parser import CommandParser
from attest.report.collection import find_runs, settings_of, shared_keys
from attest.report.tables import FORMATS
from attest.run_folder import write_text


def main(arguments: list[str]) -> int:
    """Run the command; returns the exit code.

    Args:
        arguments: what follows ``attest table``.
    Raises:
        AttestError: a folder holds no run, or no number has such a name.
    """
    typed = _parser().parse_args(arguments)
    settings = settings_of(find_runs(typed.runs))
    table = FORMATS[typed.format](settings, shared_keys(settings, typed.keys))
    if typed.out is None:
        print(table, end="")
    else:
        write_text(typed.out, table)
        print(f"Table: {typed.out}")
    return 0


def _parser() -> CommandParser:
    parser = CommandParser("attest table", __doc__)
    parser.add_argument("runs", nargs="+", type=Path, help="run folders, or folders that hold some")
    parser.add_argument("--format", choices=FORMATS, default="markdown")
    parser.add_argument("--keys", nargs="+", default=[], metavar="KEY", help="numbers of summary.json, with * for any part")
    parser.add_argument("--out", type=Path, help="a file instead of the terminal")
    return parser
