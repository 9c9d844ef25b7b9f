"""``attest evidence``: any experiment on a trained run or a checkpoint.

    attest evidence --run runs/sst/jw-bilstm-additive-softmax/seed0 E3 E12
    attest evidence --ckpt model.ckpt DATA=sst MODEL=bilstm PROJECTION=sparsemax
    attest evidence --run runs/sst/jw-bilstm-additive-softmax/seed0 --reading integrated-gradients E1 E14
    attest evidence --run runs/imdb/jw-bilstm-additive-softmax/seed0 --until=0.02 E2

If you name no experiment, the command computes all. Existing tables stay, unless you type FORCE=1. The command writes the
summary and the report of the run again.

With --until=0.02 the command reads texts in random order, and an experiment stops when it knows the means for the verdict to
± 0.02 at 95 %, by a betting confidence sequence without replacement. An experiment that would need more than three quarters
of the texts reads all texts. Without --until, or with a smaller value, the command computes stopped experiments again.
"""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from attest.app.cli.main import TRUST, CommandParser
from attest.core.errors import AttestError, unknown_choice
from attest.core.spelled import spelled
from attest.runs.folder import RunFolder
from attest.runs.identity import require_no_trial

EXPERIMENT = re.compile(r"E\d+|instances|maps|tagged", re.IGNORECASE)


def main(arguments: list[str]) -> int:
    parser = _parser()
    typed, rest = parser.parse_known_args(arguments)
    if typed.run is None and typed.ckpt is None:
        parser.lacks("--run", "--ckpt", joined=" or ")
    named = [argument for argument in rest if EXPERIMENT.fullmatch(argument)]
    options = [argument for argument in rest if argument not in named]
    options += [] if typed.until is None else [f"--run.until={typed.until}"]
    wanted = list(dict.fromkeys(argument.upper() if argument[1:].isdigit() else argument.lower() for argument in named))
    wanted = wanted if typed.reading is None else _of_reading(typed.reading, wanted)
    checkpoint, run = _on_trial(typed)
    from attest.app.evaluating import RunOnTrial, configuration_of, evaluate

    apart = run is None or any(option is not None for option in (typed.out, typed.ckpt, typed.reading))
    if run is not None:
        _require_no_choice(run, options)
    words = [*configuration_of(run, typed.trust), *options]
    evaluate(RunOnTrial(words, run, checkpoint, wanted, apart, typed.out, typed.reading))
    return 0


def _of_reading(reading: str, wanted: list[str]) -> list[str]:
    from attest.experiments.readings import READINGS
    from attest.experiments.registry import EXPERIMENTS

    if reading not in READINGS:
        raise unknown_choice("The reading", reading, READINGS, "attest evidence --run <folder> --reading {}")
    known = [name for name, spec in EXPERIMENTS.items() if spec.any_reading]
    if other := [name for name in wanted if name not in known]:
        raise AttestError(
            f"{other[0]} tests only the attention weights, and --reading was typed; expected one or more of: "
            f"{', '.join(known)}. Type: attest evidence --run <folder> {other[0]}"
        )
    return wanted or known


def _parser() -> CommandParser:
    parser = CommandParser("attest evidence", __doc__)
    parser.usage = "attest evidence (--run=<folder> | --ckpt=<file> [CHOICE=value …]) [options] [E1 E2 …] [FORCE=1]"
    parser.epilog = (
        "E1 E2 …: experiments, such as E2; all that suit the model if none is named. FORCE=1 computes them again.\n"
        "Options of attest fit may follow; choices as well, for a checkpoint outside a run folder."
    )
    parser.add_argument("--run", type=Path, help="a run folder; the experiments run on its best checkpoint")
    parser.add_argument(
        "--ckpt", type=Path, help="a checkpoint file; if the file is outside a run folder, add DATA=… MODEL=… or --config"
    )
    parser.add_argument(
        "--out", type=Path, help="the folder for tables; by default the folder of the run or of the checkpoint"
    )
    parser.add_argument("--trust", action="append", default=[], metavar="MODULE", help=TRUST)
    parser.add_argument("--reading", help="test this explanation instead of attention: norm, rollout, integrated-gradients, …")
    parser.add_argument(
        "--until",
        type=float,
        help="stop an experiment when its means over texts are known to ± this number, such as 0.01 (95 %% confidence)",
    )
    return parser


OF_A_RUN = ("DATA", "MODEL", "SCORING", "PROJECTION", "RECIPE", "EMBEDDINGS", "CUT", "EXPERIMENTS", "TRAINER")
"""The choices, such as ``DATA=sst``, that the configuration of a trained run already fixes. ``attest evidence --run`` refuses
a value that differs from the run's own."""


def _require_no_choice(run: RunFolder, options: Sequence[str]) -> None:
    """Refuse a choice that would change nothing, because the configuration of the run decides; its own words may be typed."""
    known = run.settings().get("run", {})
    for option in options:
        name, _, value = option.partition("=")
        if name in OF_A_RUN and str(known.get(name.lower())) != value:
            instead = "Name experiments instead, such as E11." if name == "EXPERIMENTS" else f"Leave {name} out."
            raise AttestError(
                f"{option} was typed for {run.path}, which has settings of its own; expected no other choices than those it "
                f"was trained with, because evidence is about the model as it is. {instead}"
            )


def _on_trial(typed: argparse.Namespace) -> tuple[Path, RunFolder | None]:
    if typed.run is not None and typed.ckpt is not None:
        raise AttestError(
            "attest evidence was given two things, a run and a checkpoint; expected either --run or --ckpt. Type for example: "
            "attest evidence --run runs/sst/jw-bilstm-additive-softmax/seed0 E3"
        )
    run = RunFolder(typed.run if typed.run is not None else typed.ckpt.parent.parent)
    checkpoint = typed.ckpt or run.best
    require_no_trial(run)
    if not checkpoint.is_file():
        raise AttestError(f"{checkpoint} does not exist; expected a checkpoint. Train one first: {spelled('fit')}")
    if typed.run is not None and not run.config.is_file():
        raise AttestError(f"{run.config} does not exist; expected the folder of a run. Train one first: {spelled('fit')}")
    return checkpoint, run if run.config.is_file() else None
