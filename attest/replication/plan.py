"""Plan the runs of published tables: their folders, their commands and their order."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from attest.core.errors import AttestError
from attest.runs.dependent_names import CONVENTIONS, PROBES, AdversaryChoices, guide_name, parse_adversary
from attest.runs.folder import RunFolder
from attest.runs.identity import ADVERSARIAL, GUIDES, KEYS
from attest.runs.published_tables import Place, PublishedRow, PublishedTable


def dependent_folder(base: Path, then: Mapping[str, str]) -> Path:
    """Return the folder of a dependent run, described by ``then``, inside the folder of its base run."""
    match then["command"]:
        case "adversarial":
            choices = AdversaryChoices(None, then["VARIANT"], then["DIVERGENCE"], then.get("CONVENTION", CONVENTIONS[0]))
            return base / ADVERSARIAL / choices.name(float(then["LAMBDA"]))
        case "controls":
            return base / GUIDES / guide_name(then["GUIDE"], then.get("PROBE", PROBES[0]))
        case "keys":
            return base / KEYS / then["ATTACK"]
    raise AttestError(f"{then['command']} trains no dependent run; expected adversarial, controls or keys.")


@dataclass(frozen=True)
class Job:
    """A planned run, with its command and the runs that must finish before it."""

    folder: Path
    command: tuple[str, ...]
    after: tuple[Path, ...] = ()

    @property
    def summary(self) -> Path:
        """Return the path of the summary file, which exists only if the run is finished."""
        return RunFolder(self.folder).summary

    @property
    def log(self) -> Path:
        """Return the path of the log file with all output of the run."""
        return self.folder / "reproduce.log"

    def shown(self, root: Path) -> str:
        """Return the path of the run folder, relative to the folder of all runs."""
        return str(self.folder.relative_to(root)) if self.folder.is_relative_to(root) else str(self.folder)

    def named(self, root: Path) -> str:
        """Return a readable name of the run made from its path, such as ``sst jw-bilstm-additive-softmax seed 1``."""
        return " ".join(re.sub(r"^seed(\d+)$", r"seed \1", part) for part in Path(self.shown(root)).parts)


@dataclass
class Plan:
    """A plan of all runs that the requested tables need. Each run comes after the runs that it depends on."""

    jobs: dict[Path, Job] = field(default_factory=dict)
    tables: dict[str, dict[Place, dict[int, Path]]] = field(default_factory=dict)

    @property
    def missing(self) -> list[Job]:
        """Return the planned runs that are not finished."""
        return [job for job in self.jobs.values() if not job.summary.is_file()]


def make_plan(
    experiments: Sequence[PublishedTable],
    seeds: int,
    locate: Callable[[Sequence[str]], Path],
    corpora: Sequence[str] = (),
    options: Sequence[str] = (),
    selected: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Plan:
    """Return the plan of all runs that the published tables need. Each run is in the plan only once.

    Args:
        locate: returns the folder of a run from the arguments that follow ``attest fit``.
        selected: for choices such as ``MODEL``, the values of the rows that are run; other rows are only shown.
    """
    plan, located = Plan(), cache(locate)
    for experiment in experiments:
        runs: dict[Place, dict[int, Path]] = {}
        for row, data, at in places(experiment, corpora):
            jobs = [_jobs_of(experiment.rows[row], data, at, seed, located, options) for seed in range(seeds)]
            stated = _stated(experiment.rows[row], at)
            if all(name in stated and stated[name] in map(_plain, wanted) for name, wanted in selected.items()):
                plan.jobs |= {job.folder: job for chain in jobs for job in chain}
            runs[row, data, at] = {seed: chain[-1].folder for seed, chain in enumerate(jobs)}
        if runs:
            plan.tables[experiment.name] = runs
    named = ", ".join(experiment.name for experiment in experiments)
    if not plan.tables:
        known = sorted({data for experiment in experiments for row in experiment.rows.values() for data in row.data})
        raise AttestError(
            f"the table {named!r} has no row with DATA={', '.join(corpora)}; expected DATA= with one of: {', '.join(known)}."
        )
    if not plan.jobs:
        rows = [_stated(experiment.rows[row], at) for experiment in experiments for row, _, at in places(experiment, corpora)]
        typed = " ".join(f"{name}={','.join(values)}" for name, values in selected.items())
        there = [f"{name}={', '.join(sorted({row[name] for row in rows if name in row}))}" for name in selected]
        raise AttestError(f"the table {named!r} has no row with {typed}; expected one or more of: {'; '.join(there)}.")
    return plan


def places(experiment: PublishedTable, corpora: Sequence[str] = ()) -> Iterator[Place]:
    """Yield for each cell of a results table its row name, corpus and sweep value (None if the row has no sweep)."""
    everywhere = dict.fromkeys(data for row in experiment.rows.values() for data in row.data)
    for data in everywhere:
        for row in experiment.rows.values():
            if data in row.data and (not corpora or data in corpora):
                values = (None,) if row.sweep is None else row.sweep.values
                yield from ((row.name, data, at) for at in values)


def _stated(row: PublishedRow, at: float | None) -> dict[str, str]:
    choices = {**row.run, **row.then} | _swept(row, at)
    return {name: _plain(value) for name, value in choices.items()}


def _swept(row: PublishedRow, at: float | None) -> dict[str, str]:
    return {} if row.sweep is None or at is None else row.sweep.typed(at)


def _plain(value: str) -> str:
    with suppress(ValueError):  # a word stays as it is
        return f"{float(value):g}"
    return value


def _jobs_of(
    row: PublishedRow, data: str, at: float | None, seed: int, locate: Callable[..., Path], options: Sequence[str]
) -> list[Job]:
    """Return the runs that a table row needs, in order: first the base run, last the run with the row's numbers."""
    swept = _swept(row, at)
    words = {"DATA": data, **row.run} | ({} if row.then else swept)
    typed = [*(f"{name}={value}" for name, value in words.items()), *row.options.get(data, ()), *options]
    folder = locate(tuple(typed)).with_name(f"seed{seed}")
    typed = [*typed, f"SEED={seed}"]
    base = Job(folder, ("fit", *typed))
    if not row.then:
        return [base]
    then = {**row.then, **swept}
    needed = [then]
    if then["command"] == "controls" and then["GUIDE"] != "base":  # guided by an adversary, which is trained first
        choices, lam = parse_adversary(then["GUIDE"])
        known = {"VARIANT": choices.variant, "DIVERGENCE": choices.divergence, "LAMBDA": f"{lam:g}"}
        known |= {} if choices.convention == CONVENTIONS[0] else {"CONVENTION": choices.convention}
        needed = [{"command": "adversarial", **known}, then]
    chain = [base]
    for each in needed:
        command = (each["command"], *typed, *(f"{name}={value}" for name, value in each.items() if name != "command"))
        chain.append(Job(dependent_folder(folder, each), command, tuple(job.folder for job in chain)))
    return chain


def as_json(plan: Plan) -> dict[str, Any]:
    """Return the plan as JSON values for the workflow: the jobs by folder, and the tables by name."""
    jobs = {
        str(job.folder): {"command": job.command, "after": [str(folder) for folder in job.after]} for job in plan.jobs.values()
    }
    tables = {
        name: [[*place, {str(seed): str(folder) for seed, folder in runs.items()}] for place, runs in places.items()]
        for name, places in plan.tables.items()
    }
    return {"jobs": jobs, "tables": tables}


def missing_runs(plan: Plan, root: Path) -> str:
    """Return a text that lists the missing runs of a plan, one on each line, and then their number."""
    missing = plan.missing
    return "\n".join([*(job.shown(root) for job in missing), f"{len(missing)} of {len(plan.jobs)} runs are missing."])
