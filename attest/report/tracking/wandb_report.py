"""Send a finished run to W&B: its numbers, figures and report, and its files as artifacts."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import wandb
from wandb.errors import CommError
from wandb.sdk.wandb_run import Run

from attest.experiments.registry import measures
from attest.report.figures import Illustration
from attest.report.findings import Findings
from attest.report.shown import each_shown, texts_of
from attest.report.templating import ENVIRONMENT
from attest.runs.folder import RunFolder, read_json


def log_artifacts(run: Run, folder: RunFolder) -> None:
    """Log two W&B artifacts of a run: its model, and its results (tables, summary, figures, report).

    Both are outputs of the run; the model of the run that it depends on, if any, is an input. W&B draws inputs only of runs
    that are online, so the metadata name the inputs too.
    """
    base = read_json(folder.timing).get("base", {}).get("wandb_id")  # the run whose checkpoint this run reads
    if base is not None and not run.offline:
        with suppress(CommError, ValueError):  # the base was never logged online
            run.use_artifact(f"{model_artifact(base)}:latest")
    summary = read_json(folder.summary)
    scores = {name: value for name, value in summary.items() if name.startswith(("test/", "best/"))}
    inputs = {} if base is None else {"base_model": model_artifact(base)}
    run.log_artifact(_artifact(model_artifact(run.id), "model", [folder.best, folder.config], folder, scores | inputs))
    files = [folder.summary, folder.timing, folder.curves, folder.report]
    files += sorted(path for place in (folder.evidence("E1").parent, folder.figures) for path in place.glob("*.*"))
    about = {"model": model_artifact(run.id), "version": summary.get("version")}
    run.log_artifact(_artifact(f"evidence-{run.id}", "evidence", files, folder, about | inputs))


def model_artifact(wandb_id: str) -> str:
    """Return the name of the W&B artifact that contains the model of a run."""
    return f"model-{wandb_id}"


def _artifact(name: str, kind: str, files: list[Path], folder: RunFolder, metadata: dict[str, Any]) -> wandb.Artifact:
    artifact = wandb.Artifact(name, kind, metadata=metadata)
    for file in files:
        if file.is_file():
            policy: Literal["mutable", "immutable"] = "immutable" if file == folder.best else "mutable"
            artifact.add_file(str(file), name=file.relative_to(folder.path).as_posix(), policy=policy, skip_cache=True)
    return artifact


def figure_table(folder: RunFolder, captions: Mapping[str, str]) -> wandb.Table:
    """Return a W&B table of a run's PNG figures, with the columns ``figure``, ``caption`` and ``picture``."""
    pictures = {path.stem.replace("-", "/", 1): wandb.Image(str(path)) for path in sorted(folder.figures.glob("*.png"))}
    return wandb.Table(
        ["figure", "caption", "picture"], [[key, captions.get(key, ""), each] for key, each in pictures.items()]
    )


TEXT_COLUMNS = ("text", "right", "says", "marked", "alone", "decides", "alone (decides)", "no word", "why")


def texts_table(folder: RunFolder) -> wandb.Table | None:
    """Return a W&B table of the texts in which E19 has measured what decides; None if there are none.

    Each cell of ``text`` holds two rows: what the explanation marks, and what decides. The shares are those that the page
    shows: of the decision if only these words are kept.
    """
    found = Findings(folder)
    shown, called = each_shown(texts_of(found)), found.explanation
    both = ENVIRONMENT.get_template("rows.html").module.both  # type: ignore[attr-defined]
    rows = [
        [
            wandb.Html(str(both(each, called)), inject=False),
            each.right,
            each.said,
            each.marked,
            each.alone["first"],
            each.deciding,
            each.alone["words"],
            each.alone["without"],
            each.reason,
        ]
        for each in shown
    ]
    return wandb.Table([*TEXT_COLUMNS], rows) if rows else None


def _texts(folder: RunFolder) -> dict[str, wandb.Table]:
    table = texts_table(folder)
    return {} if table is None else {"texts": table}


def send_report(run: Run, folder: RunFolder, figures: Sequence[Illustration]) -> None:
    """Copy the results in a run folder (numbers, figures, report, model, tables) into a W&B run."""
    pictures = {"figures": figure_table(folder, {each.key: each.caption for each in figures})}
    page = {"report": wandb.Html(str(folder.report), inject=False)}
    summary = read_json(folder.summary)
    epochs = pd.DataFrame(read_json(folder.curves) if folder.curves.is_file() else [])
    verdicts = summary.pop("verdict", {})
    numbers = wandb.Table(["name", "value"], [[name, value] for name, value in summary.items()])
    run.log(pictures | page | _texts(folder) | {"numbers": numbers, "epochs": wandb.Table(dataframe=epochs)})
    means = {f"{key}/mean" for key in measures()}  # those that the verdict shows
    shown = {name: value for name, value in summary.items() if name in means or name.startswith(("test/", "best/"))}
    shown |= _of_verdicts(verdicts)
    run.summary.update({name: value for name, value in shown.items() if value is not None})
    log_artifacts(run, folder)


def _of_verdicts(verdicts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the summary of a W&B run says of verdicts: sentence, answer, and share with its interval."""
    shown = {f"verdict/{about}": each["sentence"] for about, each in verdicts.items()}
    parts = ("answer", "share", "low", "high", "texts")
    return shown | {f"verdict/{about}/{part}": each.get(part) for about, each in verdicts.items() for part in parts}


PROJECT = "attest"


def started(job: str, name: str, folder: Path, **options: Any) -> Any:
    """Start a W&B run that stores its files in ``folder``; it is offline unless the user is logged in."""
    online = os.environ.get("WANDB_MODE", "online") == "online"
    settings = wandb.Settings(mode="offline") if online and not logged_in() else None
    return wandb.init(project=PROJECT, job_type=job, name=name, dir=str(folder), settings=settings, **options)


def logged_in() -> bool:
    """Return whether the user is logged in to W&B; print the reason if W&B cannot be used."""
    try:
        return wandb.login(prompt=False)
    except wandb.errors.Error as error:
        reason = str(error).splitlines()[0]
        print(f"W&B cannot be used ({reason}); this run is logged offline. `wandb sync` uploads it later.", flush=True)
        return False


def log_trial(folder: RunFolder, model: str) -> Path:
    """Log the results of ``attest trial`` to a new W&B run, and return the folder of this W&B run."""
    tables = {name: pd.read_parquet(path) for name, path in folder.tables.items()}
    plain = {f"{name}/table": wandb.Table(dataframe=rows.select_dtypes(["number", "bool"])) for name, rows in tables.items()}
    with started("trial", Path(model).name, folder.path, config=folder.settings()) as run:
        run.log(
            plain
            | _texts(folder)
            | {"figures": figure_table(folder, {}), "report": wandb.Html(str(folder.report), inject=False)}
        )
        summary = read_json(folder.summary)
        verdicts = _of_verdicts(summary.pop("verdict", {}))
        run.summary.update({name: value for name, value in (summary | verdicts).items() if value is not None})
        return Path(run.dir).parent
