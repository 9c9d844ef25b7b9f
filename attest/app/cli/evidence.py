"""``attest evidence``: any experiment on something already trained, a run or a bare checkpoint.

    attest evidence --run runs/sst/jw-bilstm-additive-softmax/seed0 E3 E12
    attest evidence --ckpt model.ckpt DATA=sst MODEL=bilstm PROJECTION=sparsemax
    attest evidence --run runs/sst/jw-bilstm-additive-softmax/seed0 --reading integrated-gradients E1 E14
    attest evidence --run runs/imdb/jw-bilstm-additive-softmax/seed0 --until=0.02 E2
    attest evidence --run runs/imdb/jw-bilstm-additive-softmax/seed0 --shards=8 E1 PROFILE=slurm

If you name no experiment, all are computed. Tables that exist are kept, unless you type FORCE=1. The summary and the report
of the run are then written again from all its tables.

With --until=0.02 texts are read in random order, and an experiment stops when the means of its verdict are known to ± 0.02
at 95 %, by a betting confidence sequence without replacement. An experiment that would need more than three quarters of the
texts reads all of them. Without --until, or with a smaller value, stopped experiments are computed again.

--shards=8 splits the test texts into eight jobs. JOBS of them run at once on this machine; with GPUS=<n> each job has one of
the first n GPUs to itself. PROFILE=slurm or kubernetes runs them on a cluster. Then their tables are put together; they
equal those of one job bit for bit. --shard=3/8 is one such job.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attest.app.cli.main import TRUST, CommandParser
from attest.core.errors import AttestError, unknown_choice
from attest.core.memory import cores
from attest.runs.choices import TypedWords, take_words
from attest.runs.folder import RunFolder, write_json
from attest.runs.identity import require_no_trial

ATTEST = (sys.executable, "-m", "attest")
SHARDS = Path(__file__).parents[1] / "reproduce" / "shards.smk"
EXPERIMENT = re.compile(r"E\d+|instances|maps|tagged", re.IGNORECASE)


def main(arguments: list[str]) -> int:
    """Run the command and return the exit code."""
    typed, rest = _parser().parse_known_args(arguments)
    if typed.shards or typed.shard:
        _refuse_apart(typed)
    words, rest = take_words(rest, ("JOBS", "GPUS", "PROFILE") if typed.shards else ())
    named = [argument for argument in rest if EXPERIMENT.fullmatch(argument)]
    options = [argument for argument in rest if argument not in named]
    options += [] if typed.until is None else [f"--run.until={typed.until}"]
    wanted = list(dict.fromkeys(argument.upper() if argument[1:].isdigit() else argument.lower() for argument in named))
    wanted = wanted if typed.reading is None else _of_reading(typed.reading, wanted)
    checkpoint, run = _on_trial(typed)
    from attest.app.evaluating import WHOLE, Apart, RunOnTrial, configuration_of, evaluate, read_shard, shard_folder

    if typed.shards and run is not None:
        return _in_shards(run, typed, wanted, options, words)
    shard, out = WHOLE, typed.out
    if typed.shard and run is not None:
        shard = read_shard(typed.shard)
        out = shard_folder(run, shard).path
    own = run is not None and out is None and typed.ckpt is None and typed.reading is None
    apart = None if own else Apart(checkpoint, out, typed.reading)
    evaluate(RunOnTrial([*configuration_of(run, typed.trust), *options], run, checkpoint, wanted, apart, shard))
    return 0


def _of_reading(reading: str, wanted: list[str]) -> list[str]:
    """Return the ids of the experiments to run with a reading in place of attention: the typed ids, or all that accept one."""
    from attest.experiments.readings import READINGS
    from attest.experiments.registry import EXPERIMENTS

    if reading not in READINGS:
        raise unknown_choice("The reading", reading, READINGS, "attest evidence --run <folder> --reading {}")
    known = [name for name, spec in EXPERIMENTS.items() if spec.any_reading]
    if other := [name for name in wanted if name not in known]:
        raise AttestError(
            f"{other[0]} is about attention itself; expected some of {', '.join(known)} with --reading. Type: attest "
            f"evidence --run <folder> {other[0]}"
        )
    return wanted or known


def _refuse_apart(typed: argparse.Namespace) -> None:
    """Refuse options that conflict with ``--shard`` or ``--shards``, because a shard is a part of the tables of a run."""
    others = [f"--{name}" for name in ("ckpt", "out", "reading", "until") if getattr(typed, name) is not None]
    if typed.shards and typed.shard:
        others = ["--shard"]
    if others:
        raise AttestError(
            f"{others[0]} was given beside --shard{'s' if typed.shards else ''}; expected --run alone. Leave one of the two "
            "out."
        )


def _in_shards(run: RunFolder, typed: argparse.Namespace, wanted: list[str], options: list[str], words: TypedWords) -> int:
    """Measure the missing tables in shards by a workflow, join the shards if none has failed, and return the exit code."""
    from attest.app.evaluating import RunOnTrial, configuration_of, evaluate

    trusting = [f"--trust={module}" for module in typed.trust]
    configuration = configuration_of(run, typed.trust)
    on_trial = RunOnTrial([*configuration, *options], run, run.best, wanted, None)  # mistakes end it here
    missing = on_trial.missing_tables()
    if missing and (code := _gather(run, typed.shards, missing, [*options, *trusting], words)):
        logs = f"{run.path / 'shards' / '*' / 'evidence.log'} and Snakemake's {run.path / 'shards' / 'workflow.log'}"
        print(f"attest: a shard has failed; the logs are {logs}", file=sys.stderr)
        return code
    evaluate(on_trial, typed.shards)
    return 0


def _gather(run: RunFolder, shards: int, tables: list[str], options: list[str], words: TypedWords) -> int:
    """Start the workflow that measures tables in shards, and return its exit code."""
    from attest.app.reproduce.progress import Watched
    from attest.app.reproduce.workflow import carry_out, on_one_gpu, snakemake_command

    folder, jobs, profile = RunFolder(run.path / "shards"), words.count("JOBS", 1), words.text("PROFILE")
    gpus = words.count("GPUS", 0, least=0)
    share = [] if profile else [f"--run.processes={max(1, cores() // jobs)}"]
    with folder.claimed():
        file = folder.path / "workflow.json"
        attest = [*(on_one_gpu(gpus) if gpus and not profile else []), *ATTEST]
        configuration = workflow_configuration(run, shards, tables, [*share, *options], attest, int(gpus > 0))
        write_json(file, configuration)
        command, again = snakemake_command(SHARDS, file, jobs, gpus, profile), "FORCE=1" in options
        parts = {part: folder.path / part for part in configuration["jobs"]}
        shares = [Watched(f"shard {part}", at / "evidence.log", at / configuration["done"]) for part, at in parts.items()]
        watched = [share for share in shares if again or not share.done.exists()]
        return carry_out([*command, *(["--forceall"] if again else [])], folder.path / "workflow.log", watched)


def workflow_configuration(
    run: RunFolder, shards: int, tables: list[str], options: list[str], attest: Sequence[str] = ATTEST, gpus_a_job: int = 0
) -> dict[str, Any]:
    """Return the configuration of the workflow: the command of every shard, and the file that marks it as done."""

    def command(shard: int) -> list[str]:
        return [*attest, "evidence", f"--run={run.path}", f"--shard={shard}/{shards}", *tables, *options]

    return {
        "folder": str(run.path / "shards"),
        "done": f"{'-'.join(tables)}.done",
        "gpus_a_job": gpus_a_job,
        "jobs": {f"{shard}-of-{shards}": command(shard) for shard in range(1, shards + 1)},
    }


def _parser() -> CommandParser:
    parser = CommandParser("attest evidence", __doc__)
    parser.usage = "attest evidence (--run=<folder> | --ckpt=<file> [CHOICE=value …]) [options] [E1 E2 …] [FORCE=1]"
    parser.epilog = (
        "E1 E2 …: experiments, such as E2; all that suit the model if none is named. FORCE=1 computes them again. "
        "Choices and options of attest fit may follow."
    )
    parser.add_argument("--run", type=Path, help="a run folder; its best checkpoint is put on trial")
    parser.add_argument("--ckpt", type=Path, help="a checkpoint; outside a run folder, add its choices or --config")
    parser.add_argument("--out", type=Path, help="the folder for tables; by default the run folder, or that of the checkpoint")
    parser.add_argument("--trust", action="append", default=[], metavar="MODULE", help=TRUST)
    parser.add_argument("--reading", help="a reading in the place of attention: norm, rollout, integrated-gradients, …")
    parser.add_argument(
        "--until", type=float, help="stop an experiment when its means are known to this precision at 95 %%, such as 0.01"
    )
    parser.add_argument("--shards", type=int, help="how many jobs share the test texts of a run")
    parser.add_argument("--shard", help="one of these jobs, 3/8")
    return parser


def _on_trial(typed: argparse.Namespace) -> tuple[Path, RunFolder | None]:
    """Return the checkpoint on trial, and the run that the checkpoint belongs to; None in place of an unknown run."""
    if (typed.run is None) == (typed.ckpt is None):
        found = "no trained model" if typed.run is None else "two things, a run and a checkpoint"
        raise AttestError(
            f"attest evidence was given {found}; expected either --run or --ckpt. Type for example: attest evidence --run "
            "runs/sst/jw-bilstm-additive-softmax/seed0 E3"
        )
    run = RunFolder(typed.run if typed.run is not None else typed.ckpt.parent.parent)
    checkpoint = typed.ckpt or run.best
    require_no_trial(run)
    if not checkpoint.is_file():
        raise AttestError(f"{checkpoint} does not exist; expected a checkpoint. Train one first: make train")
    if typed.run is not None and not run.config.is_file():
        raise AttestError(f"{run.config} does not exist; expected the folder of a run. Train one first: make train")
    return checkpoint, run if run.config.is_file() else None
