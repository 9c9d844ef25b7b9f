"""``attest gate``: an exit code for CI that says whether a run or a trial meets your requirements.

    attest gate runs/sst/jw-bilstm-additive-softmax/seed0 --require "tokens=yes|in part"
    attest gate trial-of-mine --require "E19/right>0.5" --require "E2/tvd_median>0.1" --require "test/accuracy>=0.8" --json

A requirement is an answer of the verdict, or a measure with a bound; summary.json of the run lists the measures. Put a
requirement in quotes, because a shell reads > as a redirection to a file. The gate treats the texts as a random sample of all
such texts, and computes a confidence interval for the mean over all of them. A bound passes if the whole interval lies on its
right side, and fails if the whole interval lies on its wrong side. Otherwise the bound is undecided. A false requirement
passes in at most 5 of 100 cases, and a true requirement fails in at most 5 of 100. These rates also hold if you gather
evidence with --until and ask the gate after each further text.

Exit codes: 0 every requirement passes, 1 one fails, 2 none fails and one is undecided, 64 a mistake, such as a wrong folder.
"""

import json
from pathlib import Path

from attest.app.cli.main import CommandParser


def main(arguments: list[str]) -> int:
    parser = CommandParser("attest gate", __doc__)
    parser.add_argument("folder", type=Path, help="the folder of a run or of a trial")
    require = '"tokens=yes|in part", "E19/right>0.5", "E2/tvd_median>0.1" or "test/accuracy>=0.8"; may be given several times'
    parser.add_argument("--require", action="append", required=True, metavar="REQUIREMENT", help=require)
    parser.add_argument(
        "--json", action="store_true", help="print one line of JSON; its schema is configs/schemas/gate.schema.json"
    )
    typed = parser.parse_args(arguments)
    from attest.report.findings import Findings
    from attest.report.gate import EXIT_CODES, as_json, overall, requirement, rule
    from attest.runs.belonging import finished
    from attest.runs.folder import RunFolder

    required = [requirement(each) for each in typed.require]
    found = Findings(finished(RunFolder(typed.folder)))
    rulings = [rule(found, each) for each in required]
    if typed.json:
        print(json.dumps(as_json(found, rulings), allow_nan=False))
    else:
        for ruling in rulings:
            print(f"{ruling.outcome:<10} {ruling.require}   {ruling.said}")
        print(f"Gate: {overall(rulings)}")
    return EXIT_CODES[overall(rulings)]
