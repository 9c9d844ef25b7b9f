"""Where the numbers of a table come from: command, commits, versions, hours."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attest.experiments.registry import EXPERIMENTS
from attest.report.verdict import ALL, READ
from attest.runs.folder import RunFolder, read_json
from attest.tables.estimate import run_seconds
from attest.tables.measured import summary_of
from attest.tables.rules import RULES
from attest.tables.table import Folders


def provenance(folders: Folders, command: str, settings: Sequence[str] = ()) -> dict[str, Any]:
    """What the runs of a table say of themselves.

    Args:
        folders: of finished runs.
        command: that made the table.
        settings: of all its runs, beside those that its file states.
    Returns:
        ``command``; ``settings``; ``runs``, how many; ``hours`` of the runs that were never stopped, and ``untimed``, how
        many were; ``older``, how many are older than the rules; ``stopped``, for each experiment that read a part of the texts
        of how many runs, in words; and from the runs ``commits`` and ``versions``, each with all
        values there are.
    """
    runs = sorted({folder for by_seed in folders.values() for folder in by_seed.values()})
    seconds = [run_seconds(folder) for folder in runs]
    known = [each for each in seconds if each is not None]
    environments = [
        read_json(RunFolder(folder).timing).get("environment", {}) for folder in runs if RunFolder(folder).timing.is_file()
    ]
    names = sorted({name for environment in environments for name in environment})
    versions = {name: sorted({environment[name] for environment in environments if name in environment}) for name in names}
    return {
        "command": command,
        "settings": list(settings),
        "runs": len(runs),
        "hours": sum(known) / 3600,
        "untimed": len(seconds) - len(known),
        "older": sum(finished_on(folder) < RULES.fixed for folder in runs),
        "stopped": stopped_early(runs),
        "commits": versions.pop("commit", []),
        "versions": versions,
    }


def stopped_early(runs: Sequence[Path]) -> list[str]:
    """``E2 in 3 runs, after 256 to 625 of 1,725 texts``: experiments that read no more texts than they needed."""
    said = []
    for experiment in EXPERIMENTS:
        keys = f"{experiment}/{READ}", f"{experiment}/{ALL}"
        summaries = [summary for folder in runs if keys[0] in (summary := summary_of(folder))]
        if summaries:
            read, of = (_span([summary[key] for summary in summaries]) for key in keys)
            said.append(f"{experiment} in {len(summaries)} run{'s' if len(summaries) > 1 else ''}, after {read} of {of} texts")
    return said


def _span(counts: Sequence[float]) -> str:
    least, most = min(counts), max(counts)
    return f"{least:,.0f}" if least == most else f"{least:,.0f} to {most:,.0f}"


def finished_on(folder: Path) -> str:
    """The day on which a run was finished, ``YYYY-MM-DD`` in UTC: that of its ``summary.json``, which archives keep."""
    return datetime.fromtimestamp(RunFolder(folder).summary.stat().st_mtime, UTC).date().isoformat()
