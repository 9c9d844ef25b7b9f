"""From tables to their runs: which runs, where, by which command, and after which others.

How long the missing runs will take, judging by existing runs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from attest.core.errors import AttestError
from attest.core.memory import cores
from attest.runs.adversary_names import Choices, named
from attest.runs.folder import RunFolder
from attest.runs.identity import ADVERSARIAL, GUIDES, KEYS
from attest.runs.past import TRAINING, Like, duration, in_all, like, like_dependent, past
from attest.runs.published_tables import Place, PublishedTable, Row

Dependent = tuple[Path, tuple[str, ...]]


def dependent_run(folder: Path, typed: Sequence[str], then: Mapping[str, str]) -> Dependent:
    """The run that a row's ``then`` asks for.

    Args:
        folder: of the base run.
        typed: what followed ``attest fit`` there, and so says what the base is.
        then: ``command`` and its choices.
    """
    command, choices = then["command"], [f"{name}={value}" for name, value in then.items() if name != "command"]
    return folder / PLACES[command](then), (command, *typed, *choices)


def what_comes_before(then: Mapping[str, str]) -> list[dict[str, str]]:
    """The dependent runs that this one needs beside the base: the adversary whose attention guides."""
    if then["command"] != "controls" or then["GUIDE"] == "base":
        return []
    choices, lam = named(then["GUIDE"])
    chosen = {"VARIANT": choices.variant, "DIVERGENCE": choices.divergence, "LAMBDA": f"{lam:g}"}
    return [{"command": "adversarial", **chosen}]


def _adversarial(then: Mapping[str, str]) -> Path:
    return Path(ADVERSARIAL, Choices(None, then["VARIANT"], then["DIVERGENCE"]).name(float(then["LAMBDA"])))


def _controls(then: Mapping[str, str]) -> Path:
    return Path(GUIDES, then["GUIDE"])


def _keys(then: Mapping[str, str]) -> Path:
    return Path(KEYS, then["ATTACK"])


PLACES: dict[str, Callable[[Mapping[str, str]], Path]] = {
    "adversarial": _adversarial,
    "controls": _controls,
    "keys": _keys,
}
"""By command, the folder inside the base's; see ``attest.app.dependent``."""


Locate = Callable[[Sequence[str]], Path]
"""From what follows ``attest fit`` to the run's folder."""

Selection = Mapping[str, Sequence[str]]
"""By choice (``MODEL``), the values that are wanted."""


@dataclass(frozen=True)
class Job:
    """One run.

    Args:
        folder: where its ``summary.json`` will be; the run is there when that is there.
        command: what follows ``attest``.
        after: folders of the runs that it depends on.
        alike: which runs take about as long.
    """

    folder: Path
    command: tuple[str, ...]
    after: tuple[Path, ...] = ()
    alike: Like | None = None

    @property
    def done(self) -> bool:
        """Whether the run is finished."""
        return RunFolder(self.folder).summary.is_file()


@dataclass
class Plan:
    """Runs by folder, each after those it depends on, and the runs of every table."""

    jobs: dict[Path, Job] = field(default_factory=dict)
    tables: dict[str, dict[Place, dict[int, Path]]] = field(default_factory=dict)


def make_plan(
    experiments: Sequence[PublishedTable],
    seeds: int,
    locate: Locate,
    corpora: Sequence[str] = (),
    options: Sequence[str] = (),
    selected: Selection | None = None,
) -> Plan:
    """All runs that some tables need, each once.

    Args:
        experiments: the tables.
        seeds: how many, from 0.
        locate: finds a base run's folder; asked once for all seeds.
        corpora: which of a table's corpora; empty for all.
        options: added to every run: choices and options.
        selected: only rows of these choices are run, and what these depend on; tables show every row whose run is there.
    Raises:
        AttestError: none of the tables has any of these corpora, or any row of these choices.
    """
    plan, located = Plan(), cache(locate)
    for experiment in experiments:
        runs: dict[Place, dict[int, Path]] = {}
        for row, data, at in places(experiment, corpora):
            jobs = [_jobs_of(experiment.rows[row], data, at, seed, located, options) for seed in range(seeds)]
            if _is_selected(experiment.rows[row], at, selected or {}):
                plan.jobs |= {job.folder: job for chain in jobs for job in chain}
            runs[row, data, at] = {seed: chain[-1].folder for seed, chain in enumerate(jobs)}
        if runs:
            plan.tables[experiment.name] = runs
    if not plan.tables:
        known = sorted({data for experiment in experiments for row in experiment.rows.values() for data in row.data})
        named = ", ".join(experiment.name for experiment in experiments)
        raise AttestError(f"no row of {named} is on {', '.join(corpora)}; expected DATA= one of: {', '.join(known)}.")
    if not plan.jobs:
        raise _nothing_selected(experiments, corpora, selected or {})
    return plan


def places(experiment: PublishedTable, corpora: Sequence[str] = ()) -> Iterator[Place]:
    """Every row on every corpus at every value of its sweep, corpus by corpus."""
    everywhere = dict.fromkeys(data for row in experiment.rows.values() for data in row.data)
    for data in everywhere:
        for row in experiment.rows.values():
            if data in row.data and (not corpora or data in corpora):
                values = (None,) if row.sweep is None else row.sweep.values
                yield from ((row.name, data, at) for at in values)


def _is_selected(row: Row, at: float | None, selected: Selection) -> bool:
    stated = _stated(row, at)
    return all(name in stated and stated[name] in map(_plain, wanted) for name, wanted in selected.items())


def _stated(row: Row, at: float | None) -> dict[str, str]:
    """All choices of a row, those of its dependent run and of its sweep included."""
    choices = {**row.run, **row.then} | _swept(row, at)
    return {name: _plain(value) for name, value in choices.items()}


def _swept(row: Row, at: float | None) -> dict[str, str]:
    return {} if row.sweep is None or at is None else row.sweep.typed(at)


def _plain(value: str) -> str:
    """Numbers in one way of writing them; everything else as it is."""
    with suppress(ValueError):
        return f"{float(value):g}"
    return value


def _nothing_selected(experiments: Sequence[PublishedTable], corpora: Sequence[str], selected: Selection) -> AttestError:
    rows = [_stated(experiment.rows[row], at) for experiment in experiments for row, _, at in places(experiment, corpora)]
    typed = " ".join(f"{name}={','.join(values)}" for name, values in selected.items())
    there = [f"{name}={', '.join(sorted({row[name] for row in rows if name in row}))}" for name in selected]
    named = ", ".join(experiment.name for experiment in experiments)
    return AttestError(f"no row of {named} has {typed}; expected some of: {'; '.join(there)}.")


def _jobs_of(row: Row, data: str, at: float | None, seed: int, locate: Locate, options: Sequence[str]) -> list[Job]:
    """The base run of a row and those that depend on it, the row's own last."""
    swept = _swept(row, at)
    choices = {"DATA": data, **row.run} | ({} if row.then else swept)
    typed = [*(f"{name}={value}" for name, value in choices.items()), *row.options.get(data, ()), *options]
    folder = locate(tuple(typed)).with_name(f"seed{seed}")
    typed = [*typed, f"SEED={seed}"]
    whole = not any(each.startswith("CUT=") for each in typed)
    base = Job(folder, ("fit", *typed), alike=like(data, folder.parent.name, row.run["MODEL"], whole))
    if not row.then:
        return [base]
    then = {**row.then, **swept}
    chain = [base]
    for each in (*what_comes_before(then), then):
        chain.append(_dependent(chain, typed, each, data, row.run["MODEL"], whole))
    return chain


def _dependent(chain: Sequence[Job], typed: Sequence[str], then: Mapping[str, str], data: str, model: str, whole: bool) -> Job:
    """The run that a row's ``then`` asks for, after all of the chain, which begins with its base."""
    base = chain[0].folder
    folder, command = dependent_run(base, typed, then)
    alike = like_dependent(data, base.parent.name, model, str(folder.relative_to(base).parent), folder.name, whole)
    return Job(folder, command, tuple(job.folder for job in chain), alike)


def as_json(plan: Plan) -> dict[str, Any]:
    """What the workflow needs to know: the jobs by folder, and the places of every table."""
    jobs = {
        str(job.folder): {"command": job.command, "after": [str(folder) for folder in job.after]} for job in plan.jobs.values()
    }
    tables = {
        name: [[*place, {str(seed): str(folder) for seed, folder in runs.items()}] for place, runs in places.items()]
        for name, places in plan.tables.items()
    }
    return {"jobs": jobs, "tables": tables}


def expected_seconds(job: Job, root: Path, processes: int = 1) -> float | None:
    """How long it takes, judging by runs like it; None where nothing is known.

    Args:
        job: what is to be run.
        root: folder of all runs.
        processes: that share its evidence.
    """
    known = past(root, job.alike) if job.alike else None
    if known is None:
        return None
    training = known.seconds[TRAINING]
    return training + (in_all(known.seconds) - training) / processes


def forecast(jobs: Iterable[Job], root: Path, at_once: int) -> str:
    """What would run, a line each, and how long all of it takes.

    Args:
        jobs: what is to be run.
        root: folder of all runs.
        at_once: how many run at the same time.
    """
    processes = max(1, cores() // at_once)
    expected = {job: expected_seconds(job, root, processes) for job in jobs}
    lines = [f"{'unknown' if known is None else duration(known):>9}  {_shown(job, root)}" for job, known in expected.items()]
    return "\n".join([*lines, _in_all(list(expected.values()), at_once)])


def _in_all(expected: Sequence[float | None], at_once: int) -> str:
    """How long runs take together, ``at_once`` of them side by side."""
    if not expected:
        return "0 runs; everything is there."
    known = [seconds for seconds in expected if seconds is not None]
    if not known:
        return f"{len(expected)} runs; no run that we know is like any of them, so how long they take is unknown."
    unknown = len(expected) - len(known)
    beside = f", beside {unknown} of which nothing is known" if unknown else ""
    total = f"{len(expected)} runs; about {duration(sum(known) / at_once)} with {at_once} at once"
    return f"{total}{beside}, judging by the median of runs like them."


def _shown(job: Job, root: Path) -> str:
    return str(job.folder.relative_to(root)) if job.folder.is_relative_to(root) else str(job.folder)
