"""``attest sync``: send offline W&B runs to W&B, also from a copy of their folders on another machine.

    attest sync runs/sst/jw-bilstm-additive-softmax/seed0
    attest sync runs

W&B notes where the files of a run lie as absolute paths, so `wandb sync` finds them only at the place where the run was made.
This command writes into the files of W&B where they lie now, and calls `wandb sync`. A run that was stopped and resumed is
sent with all its sittings. `wandb login` is needed before. The page "What may be trusted" lists what is sent.
"""

import subprocess
import sys
from itertools import groupby
from pathlib import Path

from attest.app.cli.main import CommandParser
from attest.core.errors import AttestError


def main(arguments: list[str]) -> int:
    parser = CommandParser("attest sync", __doc__)
    parser.add_argument("folder", type=Path, nargs="+", help="the folder of a run or of a trial, or one with several of them")
    parser.add_argument("--project", help="the W&B project; by default that of the runs, attest")
    typed = parser.parse_args(arguments)
    from attest.report.tracking.wandb_file import point_here, sittings
    from attest.report.tracking.wandb_report import logged_in

    found = [path for folder in typed.folder for path in sittings(folder)]
    if not found:
        named = ", ".join(map(str, typed.folder))
        raise AttestError(f"{named} contains no offline run of W&B; expected wandb/offline-run-… in the folder of a run.")
    for path in found:
        point_here(path)
    if not logged_in():
        raise AttestError("nobody is logged in to W&B here; expected a login. Type wandb login, then the same command.")
    project = [] if typed.project is None else ["--project", typed.project]
    codes = []
    for _, same in groupby(found, key=lambda path: path.absolute().parents[1]):
        sent = [str(path.parent) for path in same]  # the sittings of a run, oldest first
        codes.append(subprocess.run([sys.executable, "-m", "wandb", "sync", *project, *sent], check=False).returncode)
    return int(any(codes))
