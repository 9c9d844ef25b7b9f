"""``attest evidence``: any experiment on something already trained, a run or a bare checkpoint.

    attest evidence --run runs/sst/jw-bilstm-additive-softmax/seed0 E3 E12
    attest evidence --ckpt model.ckpt DATA=sst MODEL=bilstm PROJECTION=sparsemax
    attest evidence --run runs/sst/jw-bilstm-additive-softmax/seed0 --reading integrated-gradients E1 E14

If you name no experiment, all are computed. Tables that exist are kept, unless you type FORCE=1. The summary and the report
of the run are then written again from all its tables.
"""

import argparse
import re
from pathlib import Path

from attest.cli.command_parser import CommandParser
from attest.errors import AttestError
from attest.runs.choices import expand
from attest.runs.folder import RunFolder

EXPERIMENT = re.compile(r"E\d+|instances|maps|tagged", re.IGNORECASE)


def main(arguments: list[str]) -> int:
    """Run the command; returns the exit code.

    Args:
        arguments: what follows ``attest evidence``.
    Raises:
        AttestError: there is no such run, checkpoint, configuration or experiment.
    """
    typed, rest = _parser().parse_known_args(arguments)
    named = [argument for argument in rest if EXPERIMENT.fullmatch(argument)]
    options = [argument for argument in rest if argument not in named]
    wanted = list(dict.fromkeys(argument.upper() if argument[1:].isdigit() else argument.lower() for argument in named))
    checkpoint, run = _on_trial(typed)
    from attest.runs.evaluating import Apart, RunOnTrial, configuration_of, evaluate, of_reading  # takes seconds

    wanted = wanted if typed.reading is None else of_reading(typed.reading, wanted)
    own = run is not None and typed.out is None and typed.ckpt is None and typed.reading is None
    with configuration_of(run) as configuration:
        apart = None if own else Apart(checkpoint, typed.out, typed.reading)
        evaluate(RunOnTrial(expand([*configuration, *options]), run, checkpoint, wanted, apart))
    return 0


def _parser() -> CommandParser:
    parser = CommandParser("attest evidence", __doc__)
    parser.add_argument("--run", type=Path, help="a run folder; its best checkpoint is put on trial")
    parser.add_argument("--ckpt", type=Path, help="a checkpoint; outside a run folder, say what it is by choices or --config")
    parser.add_argument("--out", type=Path, help="where tables go; the run's own folder, or beside the checkpoint")
    parser.add_argument("--reading", help="what stands in the attention's place: norm, rollout, integrated-gradients, …")
    return parser


def _on_trial(typed: argparse.Namespace) -> tuple[Path, RunFolder | None]:
    """The checkpoint, and the run that it belongs to if that is known."""
    if (typed.run is None) == (typed.ckpt is None):
        found = "nothing trained" if typed.run is None else "two things, a run and a checkpoint"
        raise AttestError(
            f"attest evidence was told of {found}; expected either --run or --ckpt. Type for example: attest evidence --run "
            "runs/sst/jw-bilstm-additive-softmax/seed0 E3"
        )
    run = RunFolder(typed.run if typed.run is not None else typed.ckpt.parent.parent)
    checkpoint = typed.ckpt or run.best
    if not checkpoint.is_file():
        raise AttestError(f"{checkpoint} does not exist; expected a checkpoint. Train one first: make train")
    if typed.run is not None and not run.config.is_file():
        raise AttestError(f"{run.config} does not exist; expected the folder of a run. Train one first: make train")
    return checkpoint, run if run.config.is_file() else None
