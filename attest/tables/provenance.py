"""Where the numbers of a table come from: command, commits, versions, hours."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attest.runs.folder import RunFolder, read_json
from attest.tables.estimate import run_seconds
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
        many were; ``older``, how many are older than the rules; and from the runs ``commits`` and ``versions``, each with all
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
        "commits": versions.pop("commit", []),
        "versions": versions,
    }


def finished_on(folder: Path) -> str:
    """The day on which a run was finished, ``YYYY-MM-DD`` in UTC: that of its ``summary.json``, which archives keep."""
    return datetime.fromtimestamp(RunFolder(folder).summary.stat().st_mtime, UTC).date().isoformat()
