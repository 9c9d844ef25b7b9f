"""Send a finished run to W&B: its numbers, figures and report, and its files as artifacts."""

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import torch
import wandb
from wandb.errors import CommError
from wandb.sdk.wandb_run import Run

from attest.experiments.registry import measures
from attest.report.figures import Illustration
from attest.report.findings import Findings
from attest.report.shown import each_shown, texts_of
from attest.report.templating import ENVIRONMENT
from attest.report.tracking.staging import whole_in_its_folder
from attest.report.tracking.wandb_file import steps_taken
from attest.runs.folder import INSTANCES, TAGGED, RunFolder


def go_on(run: Run) -> None:
    """Let an offline W&B run that is resumed count its steps on from its earlier sittings."""
    if run.offline and (taken := steps_taken(Path(run.dir).parents[2], run.id)):
        run.log({}, step=taken)


def log_artifacts(run: Run, found: Findings, texts: bool = True, weights: bool = True) -> None:
    """Log two W&B artifacts of a run: its model, and its results (tables, summary, figures, report).

    Both are outputs of the run; the model of the run that it depends on, if any, is an input. W&B draws inputs only of runs
    that are online, so the metadata name the inputs too.

    Args:
        texts: whether files that contain texts are among the results.
        weights: whether the weights of the model are logged; the configuration is in any case.
    """
    folder, base = found.folder, found.timing.get("base", {}).get("wandb_id")  # the run whose checkpoint this run reads
    if base is not None and not run.offline:
        with suppress(CommError, ValueError):  # the base was never logged online
            run.use_artifact(f"{model_artifact(base)}:latest")
    summary = found.summary
    scores = {name: value for name, value in summary.items() if name.startswith(("test/", "best/"))}
    inputs = {} if base is None else {"base_model": model_artifact(base)}
    model = [folder.best, folder.config] if weights else [folder.config]
    run.log_artifact(_artifact(run, model_artifact(run.id), "model", model, folder, scores | inputs, texts))
    files = [folder.summary, folder.timing, folder.curves, folder.report]
    files += sorted(path for place in (folder.evidence("E1").parent, folder.figures) for path in place.glob("*.*"))
    if not texts:
        files = [file for file in files if file not in {folder.report, *map(folder.evidence, WITH_TEXTS)}]
    about = {"model": model_artifact(run.id), "version": summary.get("version")}
    run.log_artifact(_artifact(run, f"evidence-{run.id}", "evidence", files, folder, about | inputs))


WITH_TEXTS = (INSTANCES, TAGGED)
"""The tables that contain texts, which are not sent to W&B unless the user allows it; those of experiments contain none."""


def model_artifact(wandb_id: str) -> str:
    """Return the name of the W&B artifact that contains the model of a run."""
    return f"model-{wandb_id}"


def _artifact(
    run: Run, name: str, kind: str, files: list[Path], folder: RunFolder, metadata: dict[str, Any], texts: bool = True
) -> wandb.Artifact:
    artifact = wandb.Artifact(name, kind, metadata=metadata)
    for file in files:
        if file.is_file():
            policy: Literal["mutable", "immutable"] = "mutable"  # a copy beside the run
            path = file
            if file == folder.best:  # many megabytes
                second = _second_name if texts else _weights_of
                path, policy = second(file, Path(run.dir).parent / "staging"), "immutable"
            artifact.add_file(str(path), name=file.relative_to(folder.path).as_posix(), policy=policy, skip_cache=True)
    return artifact


WEIGHTS = ("state_dict", "epoch", "global_step", "pytorch-lightning_version")
"""The entries of a checkpoint that are sent to W&B if texts must not be sent. They contain no words; other entries hold the
vocabulary."""


def _weights_of(checkpoint: Path, place: Path) -> Path:
    """Return a checkpoint in ``place`` with the weights of another and without the words of its vocabulary."""
    known = torch.load(checkpoint, map_location="cpu", weights_only=True)
    place.mkdir(parents=True, exist_ok=True)
    torch.save({name: known[name] for name in WEIGHTS if name in known}, place / checkpoint.name)
    return place / checkpoint.name


def _second_name(file: Path, place: Path) -> Path:
    """Return a file in ``place`` with the content of another: a second name of it, or a copy where that is not possible.

    The content stays, as files of a run folder are replaced and never changed.
    """
    place.mkdir(parents=True, exist_ok=True)
    second = place / file.name
    second.unlink(missing_ok=True)
    try:
        os.link(file, second)
    except OSError:  # a file system without links
        shutil.copyfile(file, second)
    return second


def pictures(folder: RunFolder, captions: Mapping[str, str]) -> dict[str, wandb.Image]:
    """Return a run's PNG figures, each under a key of its own, so that W&B draws each in a panel of its own."""
    files = {path.stem.replace("-", "/", 1): str(path) for path in sorted(folder.figures.glob("*.png"))}
    return {f"figures/{key}": wandb.Image(path, caption=captions.get(key)) for key, path in files.items()}


TEXT_COLUMNS = ("text", "right", "says", "marked", "alone", "decides", "alone (decides)", "no word", "why")


def texts_table(found: Findings) -> wandb.Table | None:
    """Return a W&B table of the texts in which E19 has measured what decides; None if there are none.

    Each cell of ``text`` holds two rows: what the explanation marks, and what decides. The shares are those that the page
    shows: of the decision if only these words are kept.
    """
    shown, called = each_shown(texts_of(found)), found.explanation
    both = ENVIRONMENT.get_template("rows.html").module.both  # type: ignore[attr-defined]  # a macro
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


def _texts(found: Findings) -> dict[str, wandb.Table]:
    table = texts_table(found)
    return {} if table is None else {"texts": table}


def send_report(run: Run, found: Findings, figures: Sequence[Illustration], texts: bool = True, weights: bool = True) -> None:
    """Copy the results in a run folder (numbers, figures, report, model, tables) into a W&B run; see ``log_report``."""
    shown = pictures(found.folder, {each.key: each.caption for each in figures})
    summary = {name: value for name, value in found.summary.items() if name != "verdict"}
    epochs, verdicts = pd.DataFrame(found.curves), found.summary.get("verdict", {})
    numbers = wandb.Table(["name", "value"], [[name, value] for name, value in summary.items()])
    with whole_in_its_folder(run):
        run.log(shown | _with_texts(found, texts) | {"numbers": numbers, "epochs": wandb.Table(dataframe=epochs)})
        log_artifacts(run, found, texts, weights)
    means = {f"{key}/mean" for key in measures()}  # those that the verdict shows
    kept = {name: value for name, value in summary.items() if name in means or name.startswith(("test/", "best/"))}
    run.summary.update({name: value for name, value in (kept | of_verdicts(verdicts)).items() if value is not None})


def _with_texts(found: Findings, texts: bool) -> dict[str, Any]:
    """Return what W&B gets that contains texts: the report and the table of texts; nothing if it may get no texts."""
    return _texts(found) | {"report": wandb.Html(str(found.folder.report), inject=False)} if texts else {}


def of_verdicts(verdicts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the summary of a W&B run says of verdicts.

    Returns:
        For each kind of verdict, such as ``verdict/tokens``: its sentence; below it ``answer``, and ``share``, ``low``,
        ``high`` and ``n``, a share of n texts with the 98.75 % interval of the verdict. The same stands below ``random``, of a
        random order, and below ``recommended``, whose reading is ``recommended/reading``. None for what a verdict lacks.
    """
    shown: dict[str, Any] = {}
    for about, each in verdicts.items():
        key = f"verdict/{about}"
        shown |= {key: each["sentence"], f"{key}/answer": each["answer"]}
        instead, random = each.get("instead") or {}, each.get("random") or {}
        shown |= _share(key, each, each.get("share")) | _share(f"{key}/random", random, random.get("value"))
        shown |= _share(f"{key}/recommended", instead, instead.get("value"))
        shown[f"{key}/recommended/reading"] = instead.get("reading")
    return shown


def _share(key: str, found: Mapping[str, Any], value: float | None) -> dict[str, Any]:
    parts = {"low": "low", "high": "high", "n": "texts"}
    return {f"{key}/share": value} | {f"{key}/{part}": found.get(name) for part, name in parts.items()}


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
        print(
            f"W&B cannot be used ({reason}); this run is logged offline. `attest sync <run folder>` uploads it later.",
            flush=True,
        )
        return False


def log_trial(found: Findings, model: str, texts: bool = True) -> Path:
    """Log the results of ``attest trial`` to a new W&B run, and return the folder of this W&B run.

    Args:
        texts: whether W&B may get texts; without them, the report and the table of texts are left out.
    """
    folder, tables = found.folder, {name: rows for name in found.experiments if (rows := found.table(name)) is not None}
    plain = {f"{name}/table": wandb.Table(dataframe=rows.select_dtypes(["number", "bool"])) for name, rows in tables.items()}
    with started("trial", Path(model).name, folder.path, config=found.settings) as run:
        with whole_in_its_folder(run):
            run.log(plain | _with_texts(found, texts) | pictures(folder, {}))
        verdicts = of_verdicts(found.summary.get("verdict", {}))
        numbers = {name: value for name, value in found.summary.items() if name != "verdict"} | verdicts
        run.summary.update({name: value for name, value in numbers.items() if value is not None})
        return Path(run.dir).parent
