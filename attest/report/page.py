"""Write ``report.html``, a self-contained page that opens from disk, and choose the figures that the tables of a run allow."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from attest.core.kinds import CLASSES, Kind
from attest.core.measures.numbers import percent
from attest.datamodules.corpus import told
from attest.experiments.registry import EXPERIMENTS
from attest.experiments.spec import Drawing
from attest.report import evidence_figures
from attest.report.answer import STATES
from attest.report.controls import Baseline, warnings
from attest.report.figures import ALL_TEXTS, Illustration, drawable, most_predicted, save_figures
from attest.report.findings import Findings
from attest.report.pictures import strip_file
from attest.report.sections import sections, sentences_shown, texts_shown
from attest.report.shown import first_screen, next_command
from attest.report.templating import render
from attest.runs.belonging import mixed_versions
from attest.runs.contents import RunContents
from attest.runs.folder import MAPS, TRIAL, RunFolder, write_text
from attest.runs.identity import identity_of


def evidence_illustrations(
    tables: Mapping[str, pd.DataFrame], class_names: Sequence[str], kind: Kind = CLASSES
) -> Iterator[Illustration]:
    """Yield the figures of all experiments that have a table, in the order of the report."""
    for experiment, spec in EXPERIMENTS.items():
        rows = tables.get(experiment)
        if rows is None or kind.predicted not in rows:
            continue
        if not kind.chooses:  # one number, and so one panel for all texts
            rows, class_names = rows.assign(predicted=0), [ALL_TEXTS]
        for drawing in spec.drawings:
            if {*drawing.needs} <= {*rows.columns}:
                caption = drawing.caption if isinstance(drawing.caption, str) else drawing.caption(rows)
                key, title = f"{experiment}/{drawing.name}", kind.worded(f"{experiment}  {drawing.title}")
                yield Illustration(key, title, kind.worded(caption), partial(_drawn, drawing, rows, class_names))


def _drawn(drawing: Drawing, rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    if not isinstance(drawing.draw, str):
        return drawing.draw(rows, class_names)
    return getattr(evidence_figures, drawing.draw)(*most_predicted(rows, class_names))


PROJECTION_NAMES = {
    "original": "as trained",
    "softmax": "under softmax",
    "entmax15": "under 1.5-entmax",
    "sparsemax": "under sparsemax",
    "shuffled": "keys shuffled",
    "attacked": "keys attacked",
}
PROJECTIONS = ("softmax", "entmax15", "sparsemax")


def layer_illustrations(found: Findings) -> Iterator[Illustration]:
    """Yield the figures of accuracy by layer (E8, E9), then the attention maps of a few texts, if their tables exist."""
    tables = [found.table(experiment) for experiment in ("E8", "E9")]
    swapped, shuffled = (
        rows if rows is not None and "correct" in rows and any("_layer" in name for name in rows) else None for rows in tables
    )
    if swapped is not None or shuffled is not None:
        yield Illustration(
            "E9/accuracy_by_layer",
            "E8, E9  Which layer's attention matters",
            "Accuracy with another projection, or with the attention keys of other tokens, in one layer or in all layers. "
            "Dashed: accuracy of the unchanged model. If the points of a layer lie on the dashed line, the model does not "
            "need the attention of this layer.",
            partial(evidence_figures.accuracy_by_layer, swapped, shuffled),
        )
    maps = found.table(MAPS)
    if maps is not None:
        yield from _maps(maps, _twins(found), found.kind)


def _twins(found: Findings) -> dict[str, pd.DataFrame]:
    """Return attention maps by projection, for the runs that differ from this run only in the projection."""
    run = identity_of(found)
    stem, _, mine = run.full_name.rpartition("-")
    others = [other for other in PROJECTIONS if other != mine] if mine in PROJECTIONS else []
    twins = {other: RunFolder(found.folder.corpus / f"{stem}-{other}" / f"seed{run.seed}") for other in others}
    return {other: table for other, twin in twins.items() if (table := RunContents(twin).table(MAPS)) is not None}


def _maps(table: pd.DataFrame, twins: Mapping[str, pd.DataFrame], kind: Kind) -> Iterator[Illustration]:
    for row in table.to_dict("records"):
        maps = maps_of(row)
        for projection, theirs in twins.items():
            for twin in theirs[theirs["id"] == row["id"]].to_dict("records"):
                maps[f"trained with {projection}"] = maps_of(twin)[PROJECTION_NAMES["original"]]
        yield Illustration(
            f"{MAPS}/text_{row['id']}",
            f"Attention maps, {kind.unit} {row['id']}",
            "Each row shows which tokens (columns) a token attends to, as a mean over heads, for each layer. The maps show "
            "the trained model, the model with changed attention and, if there are such runs, models trained with another "
            "projection. Darker cells have more weight; the colour shows the square root of the weight.",
            partial(evidence_figures.attention_map_grid, maps, list(row["tokens"])),
        )


def maps_of(row: Mapping[str, Any]) -> dict[str, list[np.ndarray]]:
    """Return the attention maps ``(T, T)`` of a text of T tokens, by condition and layer, from a row of the table of maps."""
    size = len(row["tokens"])
    conditions = list(dict.fromkeys(name.rpartition("_layer")[0] for name in row if "_layer" in name))
    layers = sum(name.startswith(f"{conditions[0]}_layer") for name in row)
    return {
        PROJECTION_NAMES.get(condition, condition): [
            np.asarray(row[f"{condition}_layer{place}"]).reshape(size, size) for place in range(1, layers + 1)
        ]
        for condition in conditions
    }


def _stopped_early(found: Findings) -> dict[str, int] | None:
    """Return after how many epochs without a better one training stopped, and the most that it might take; None if not so.

    Where training stopped because its last epoch reached a ``stopping_threshold``, the number of such epochs is 0.
    """
    if "best/epoch" not in found.summary or not found.curves:
        return None
    run, trainer = found.settings.get("run") or {}, found.settings.get("trainer") or {}
    callbacks = trainer.get("callbacks") or []
    options = [each.get("init_args") or {} for each in (callbacks if isinstance(callbacks, list) else [callbacks])]
    theirs = [each.get("patience") for each in options if each.get("monitor") == run.get("monitor")]
    patience = next((each for each in (run.get("patience"), *theirs) if each is not None), None)
    epochs, most = len(found.curves), trainer.get("max_epochs") or -1
    waited = epochs - 1 - int(found.summary["best/epoch"])
    goals = [each for each in options if each.get("mode") == "max" and each.get("stopping_threshold") is not None]
    if 0 < epochs < most and any(found.curves[-1].get(each["monitor"], 0) > each["stopping_threshold"] for each in goals):
        return {"patience": 0, "most": most}
    if patience is None or waited < max(patience, 1) or 0 < most <= epochs:
        return None
    return {"patience": waited, "most": max(most, 0)}


def write_report(found: Findings, figures: Sequence[Illustration] | None = None, alone: Path | None = None) -> None:
    """Write the report of one run and its figures from the contents of its folder.

    Args:
        figures: the result of ``illustrations``; None to compute it here.
        alone: the path of a page that is written without figure files; None to write page and figures into the run folder.
    """
    folder, settings, summary = found.folder, found.settings, found.summary
    drawn = illustrations(found) if figures is None else figures
    if alone is None:
        save_figures(folder, drawn, strip_file(found))
    page = {
        "found": found,
        "name": found.name,
        "path": str(folder.path),
        "trial": TRIAL in settings,
        "states": STATES,
        "screen": first_screen(found),
        "accuracy": None if found.held is None else _accuracy(found.held),
        "command": None if alone is not None else shlex.join(next_command(str(folder.path), found.example)),
        "epochs": len(found.curves) or None,
        "best_epoch": int(summary["best/epoch"]) + 1 if "best/epoch" in summary else None,
        "stopped": _stopped_early(found),
        "warnings": [] if found.held is None else warnings(found.held),
        "masked": bool(((settings.get("model") or {}).get("init_args") or {}).get("masking")),
        "remarks": [*_remarks(found), *filter(None, [mixed_versions(found)])],
        "instances": None if (texts := texts_shown(found)) is None else found.kind.counted(texts),
        "tagged": None if (sentences := sentences_shown(found)) is None else len(sentences),
        "sections": sections(found, drawn, beside=alone is None),
    }
    write_text(folder.report if alone is None else alone, render("report.html", **page))


def _accuracy(held: Baseline) -> str:
    return f"{held.accuracy} on {held.of} (always answering “{held.answer}”: {percent(held.majority.share)})"


def _remarks(found: Findings) -> list[str]:
    if not (record := found.data):
        return list((found.settings.get(TRIAL) or {}).get("remarks", ()))
    cut = ((found.settings.get("data") or {}).get("init_args") or {}).get("texts")
    spaced = f"texts={cut}: rows at equal distances, as this run was made; runs made now take a random sample."
    copies = told(record.get("copies", {}), record.get("counts", {}), found.kind.units)
    return copies + [spaced] * bool(cut and "sampling" not in record)


def illustrations(found: Findings) -> list[Illustration]:
    """Return every figure that the contents of a run folder allow, in the order of the report."""
    class_names = drawable(found.class_names)
    figures = []
    if found.curves:
        figures.append(
            Illustration(
                "curves/learning",
                "Learning curves",
                "Loss and validation scores of each epoch. The report tests the epoch with the best validation score.",
                partial(evidence_figures.learning_curves, found.curves),
            )
        )
    tables = {experiment: rows for experiment in EXPERIMENTS if (rows := found.table(experiment)) is not None}
    figures += evidence_illustrations(tables, class_names, found.kind)
    if "E7" in tables:
        figures.append(
            Illustration(
                "E7/jsd_by_max_attention",
                "E7  How different is the attention of the adversary?",
                "JSD between the attention of this adversary and of its base run, by the largest weight of the base run "
                "(Wiegreffe & Pinter 2019, Fig. 3). If the JSD is large where this weight is large, the adversary makes the "
                "same predictions although it does not attend to the token that the base run attends to most. Compare with "
                "the figure of runs with other seeds, which `make controls` draws.",
                partial(evidence_figures.divergence_violins, tables["E7"], class_names),
            )
        )
    return [*figures, *layer_illustrations(found)]
