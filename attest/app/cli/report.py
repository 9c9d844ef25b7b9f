"""``attest report``: write the page of one run, or one page that compares several runs.

    attest report runs/sst/jw-bilstm-additive-softmax/seed0
    attest report runs/sst/*softmax runs/sst/*sparsemax --out softmax-and-sparsemax.html

The page is report.html in the folder of the run.
"""

import os
from pathlib import Path

from attest.app.cli.main import CommandParser, require_own

PAGE = "comparison.html"


def main(arguments: list[str]) -> int:
    parser = CommandParser("attest report", __doc__)
    parser.add_argument("runs", nargs="+", type=Path, help="run folders, or folders that contain run folders")
    out = f"write the page to this .html file; for several runs, the default is {PAGE} in their common folder"
    parser.add_argument("--out", type=Path, help=out)
    typed = parser.parse_args(arguments)
    from attest.report.comparison import write_comparison  # seconds that no mistake waits for
    from attest.report.findings import Findings
    from attest.report.page import write_report
    from attest.report.templating import OURS
    from attest.runs.folder import write_text
    from attest.runs.identity import find_runs

    if typed.out is not None:
        require_own(typed.out, {".html": OURS})
    runs = find_runs(typed.runs)
    for run in runs:
        with run.claimed():
            write_report(Findings(run))
        print(f"Report:     {run.report}", flush=True)
    if len(runs) > 1:
        page = typed.out or Path(os.path.commonpath([run.path.parent for run in runs])) / PAGE
        write_comparison(page, runs)
        print(f"Comparison: {page}")
    elif typed.out is not None:
        write_text(typed.out, runs[0].report.read_text(encoding="utf-8"))
        print(f"Copy:       {typed.out}")
    return 0
