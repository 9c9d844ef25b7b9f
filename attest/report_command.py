"""``attest report``: the page of one run, made anew, or one page that compares several.

attest report runs/sst/jw-bilstm-additive-softmax/seed0
attest report runs/sst/*softmax runs/sst/*sparsemax --out softmax-and-sparsemax.html
"""

import os
from pathlib import Path

from attest.command_parser import CommandParser
from attest.report import write_report
from attest.report.collection import find_runs
from attest.report.comparison import write_comparison

PAGE = "comparison.html"


def main(arguments: list[str]) -> int:
    """Run the command; returns the exit code.

    Args:
        arguments: what follows ``attest report``.
    Raises:
        AttestError: a folder holds no finished run.
    """
    typed = _parser().parse_args(arguments)
    runs = find_runs(typed.runs)
    for run in runs:
        write_report(run)
        print(f"Report:     {run.report}", flush=True)
    if len(runs) > 1:
        page = typed.out or Path(os.path.commonpath([run.path.parent for run in runs])) / PAGE
        write_comparison(page, runs)
        print(f"Comparison: {page}")
    return 0


def _parser() -> CommandParser:
    parser = CommandParser("attest report", __doc__)
    parser.add_argument("runs", nargs="+", type=Path, help="run folders, or folders that hold some")
    parser.add_argument("--out", type=Path, help=f"where a comparison goes; {PAGE} in the folder that the runs share")
    return parser
