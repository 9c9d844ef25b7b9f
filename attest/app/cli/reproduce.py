"""``attest reproduce``: train the runs of a published table and write our numbers beside the published ones.

    attest reproduce TABLE=jw-2 DATA=sst SEEDS=3 JOBS=2
    attest reproduce TABLE=all SMOKE=1
    attest reproduce TABLE=me-6 DRY=1

TABLE    a table, several with commas between them, all, or <file>.yaml for one of your own
DATA     corpora of the table, with commas between them; all if not given
MODEL    runs only the rows of this model. SCORING, PROJECTION, RECIPE and the words of dependent runs (VARIANT,
         DIVERGENCE, CONVENTION, LAMBDA, GUIDE, PROBE, ATTACK) select rows in the same way. Tables also
         show other existing runs
SEEDS    the number of seeds, from 0; by default 3, and 1 with SMOKE=1
SMOKE=1  tries everything with tiny cuts, two steps of training and three values of every sweep
DRY=1    only prints what would run
RUN=0    writes the tables from existing runs, and trains nothing
JOBS     the number of runs at once, which share the cores of this machine; by default 1
GPUS     the number of GPUs, one for each run; by default 0
PROFILE  slurm or kubernetes: runs the workflow on a cluster

The command passes all other words (LOGGER=csv, --trainer.accelerator=gpu, --run.root=<folder>) to every run. It does not
repeat finished runs, and continues stopped runs.
"""

import shlex
import sys
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from attest.app.cli.main import with_examples
from attest.core.errors import AttestError, install_command
from attest.core.spelled import spelled
from attest.replication.plan import Job, Plan, as_json, make_plan, missing_runs
from attest.replication.workflow import Progress, on_one_gpu, profile_folder, run_as_group
from attest.runs.asked import folder_of_words
from attest.runs.choices import SMALL_CHOICE, plain_help, stray_word, take_words
from attest.runs.folder import RunFolder, write_json
from attest.runs.published_tables import read_published, shorten_sweeps, table_file, table_names

WORDS = ("TABLE", "DATA", "SEEDS", "SMOKE", "DRY", "RUN", "JOBS", "GPUS", "PROFILE")
SELECTORS = (
    "MODEL",
    "SCORING",
    "PROJECTION",
    "RECIPE",
    "VARIANT",
    "DIVERGENCE",
    "CONVENTION",
    "LAMBDA",
    "GUIDE",
    "PROBE",
    "ATTACK",
)
"""The choices, such as ``MODEL=bilstm``, by which ``attest reproduce`` selects rows of a published table; they do not change
what these rows train."""
ROOT, RESULTS = "--run.root=", "--results="
ATTEST = (sys.executable, "-m", "attest")
SMOKE_CHOICE = "CUT=smoke"
SNAKEFILE = Path(__file__).parents[2] / "replication" / "Snakefile"
LOG_LINES = 3


@dataclass(frozen=True)
class Request:
    """The tables, corpora, seeds and options that a user typed after ``attest reproduce``."""

    tables: tuple[Path, ...]
    corpora: tuple[str, ...]
    seeds: int
    smoke: bool
    dry: bool
    run: bool
    jobs: int
    gpus: int
    profile: Path | None
    root: Path
    results: Path
    selected: dict[str, tuple[str, ...]]
    options: tuple[str, ...]
    command: str

    @property
    def suffix(self) -> str:
        """Return the suffix of a result folder's name: the chosen corpora, or an empty text if none were chosen."""
        return "".join(f"-{corpus}" for corpus in self.corpora)

    @property
    def settings(self) -> list[str]:
        """Return the user's options that change the training runs of a table (not ``LOGGER=`` or ``--run.``)."""
        return [option for option in self.options if not option.startswith(("LOGGER=", "--run."))]

    @property
    def configuration(self) -> Path:
        """Return the path of the file with all settings of the workflow."""
        return self.results / "workflow.json"


def main(arguments: list[str]) -> int:
    if arguments[:1] in (["-h"], ["--help"]):
        print(plain_help(__doc__))
        return 0
    request = parse_request(arguments)
    plan = _plan(request)
    if request.dry:
        print(missing_runs(plan, request.root))
        return 0
    with RunFolder(request.results).claimed():
        outcome = _carry_out(request, plan) if request.run else 0
        if outcome or not request.run:  # else the workflow has written the tables
            from attest.replication.write import write_results  # seconds that a plan does not wait for

            for table in plan.tables:
                write_results(workflow_configuration(request, plan), table)
        for table in plan.tables:
            print(f"{table:<10} {request.results / (table + request.suffix) / 'table.md'}")
    return int(bool(outcome))


def _plan(request: Request) -> Plan:
    experiments = [read_published(file) for file in request.tables]
    if request.smoke:
        experiments = [shorten_sweeps(experiment, but=request.selected) for experiment in experiments]
    return make_plan(experiments, request.seeds, folder_of_words, request.corpora, request.options, request.selected)


def parse_request(arguments: list[str]) -> Request:
    """Return the request that the command's arguments describe."""
    words, rest = take_words(arguments, WORDS)
    wanted = table_names() if words.text("TABLE") == "all" else words.listed("TABLE")
    if "all" in wanted:
        raise AttestError(f"TABLE={words.text('TABLE')} names all tables and others; expected TABLE=all, or names of tables.")
    if not wanted:
        known = ", ".join(table_names())
        raise with_examples(
            "reproduce", __doc__, f"{spelled('reproduce')} lacks TABLE=<a published table>; expected one of: all, {known}."
        )
    selectors, rest = take_words(rest, SELECTORS)
    if seed := next((argument for argument in rest if argument.startswith("SEED=")), None):
        raise AttestError(f"{seed} names one seed; expected the number of seeds. Type SEEDS=3 for the seeds 0, 1 and 2")
    if small := next((argument for argument in rest if SMALL_CHOICE.fullmatch(argument)), None):
        raise stray_word(small)
    from attest.core.memory import cores  # seconds that no mistake waits for

    smoke = words.flag("SMOKE")
    place = "smoke" if smoke else ""
    results = Path(_option(rest, RESULTS) or Path("results", place))
    root = Path(_option(rest, ROOT) or Path("runs", place))
    options = [argument for argument in rest if not argument.startswith((RESULTS, ROOT))]
    jobs, profile = words.count("JOBS", 1), profile_folder(words.text("PROFILE")) if words.text("PROFILE") else None
    return Request(
        tables=tuple(map(table_file, wanted)),
        corpora=words.listed("DATA"),
        seeds=words.count("SEEDS", 1 if smoke else 3),
        smoke=smoke,
        dry=words.flag("DRY"),
        run=words.flag("RUN", otherwise=True),
        jobs=jobs,
        gpus=words.count("GPUS", 0, least=0),
        profile=profile,
        root=root,
        results=results,
        selected={name: selectors.listed(name) for name in selectors.typed},
        options=(
            *([] if profile else [f"--run.processes={max(1, cores() // jobs)}"]),
            *options,
            *([SMOKE_CHOICE] if smoke else []),
            f"{ROOT}{root}",
        ),
        command=shlex.join(["attest", "reproduce", *arguments]),
    )


def _option(rest: list[str], prefix: str) -> str:
    return next((argument.removeprefix(prefix) for argument in reversed(rest) if argument.startswith(prefix)), "")


def _carry_out(request: Request, plan: Plan) -> int:
    from attest.core.measures.numbers import duration  # seconds that no mistake waits for

    log, missing = request.results / "workflow.log", plan.missing
    print(f"{len(missing)} of {len(plan.jobs)} runs are missing. Snakemake's log: {log}", flush=True)
    write_json(request.configuration, workflow_configuration(request, plan))
    began = time.monotonic()
    if find_spec("snakemake") is None:
        raise AttestError(
            f"Snakemake is missing; this command needs Snakemake to start the runs. Type: {install_command('reproduce')}"
        )
    outcome = run_as_group(command_of(request), log, Progress(missing, request.root).look)
    failed = plan.missing
    done = len(missing) - len(failed)
    print(f"{done} runs done in {duration(time.monotonic() - began)}, {len(failed)} not there", flush=True)
    for job in failed:
        print(_failure(job), file=sys.stderr)
    if outcome:
        print(f"attest: the workflow has failed; Snakemake's log says how: {log}", file=sys.stderr)
    return outcome


def command_of(request: Request) -> list[str]:
    """Return the Snakemake command that runs the workflow without a lock."""
    scheduling = f"--workflow-profile={request.profile}" if request.profile else f"--cores={request.jobs}"
    return [
        *(sys.executable, "-m", "snakemake", f"--snakefile={SNAKEFILE}", f"--configfile={request.configuration}"),
        *("--nolock", "--keep-going", "--rerun-incomplete", "--rerun-triggers", "mtime", "input"),
        *(f"--resources=gpu={request.gpus}", scheduling),
    ]


def workflow_configuration(request: Request, plan: Plan) -> dict[str, Any]:
    """Return all settings of the Snakemake workflow, including those of the step that writes the tables."""
    return as_json(plan) | {
        "attest": [*(on_one_gpu(request.gpus) if request.gpus and not request.profile else []), *ATTEST],
        "write": [sys.executable, "-m", "attest.replication.write", str(request.configuration)],
        "results": str(request.results),
        "suffix": request.suffix,
        "gpus_a_run": int(bool(request.gpus)),
        "command": request.command,
        "settings": request.settings,
        "files": {file.stem: str(file) for file in request.tables},
    }


def _failure(job: Job) -> str:
    last = job.log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:] if job.log.is_file() else []
    return "\n    ".join([f"not there: {job.folder}  (attest {shlex.join(job.command)})", *last])
