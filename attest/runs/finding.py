"""Which finished runs lie below some folders."""

from collections.abc import Iterable
from pathlib import Path

from attest.errors import AttestError
from attest.runs.belonging import require_together
from attest.runs.folder import TRIAL, RunFolder


def find_runs(paths: Iterable[Path]) -> list[RunFolder]:
    """The finished runs at or below some folders, in the order given, none twice.

    Raises:
        AttestError: a folder holds no finished run, or what is in it does not belong together.
    """
    found: dict[Path, RunFolder] = {}
    for path in paths:
        summaries = [path / "summary.json"] if (path / "summary.json").is_file() else sorted(path.rglob("summary.json"))
        runs = [RunFolder(summary.parent) for summary in summaries if (summary.parent / "config.yaml").is_file()]
        if not runs:
            raise AttestError(f"{path} holds no finished run; expected a run folder or one that holds some, such as runs/sst.")
        found |= {run.path.resolve(): run for run in runs}
    require_together(list(found.values()))
    return list(found.values())


def require_no_trial(run: RunFolder) -> None:
    """Refuse the folder of a trial where a trained model is needed: a trial keeps what was found, and not the model.

    Raises:
        AttestError: it is one.
    """
    if run.config.is_file() and TRIAL in run.settings():
        raise AttestError(
            f"{run.path} is the folder of a trial, which keeps no model; expected that of a trained run. {run.report} shows "
            "the texts that were tried. For others type: attest trial --model <the model> --data <file> --out <new folder>"
        )
