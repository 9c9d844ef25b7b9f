"""Choose the figures that the tables of a run allow, in the order of its report."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from attest.core.kinds import CLASSES, Kind
from attest.experiments.registry import EXPERIMENTS
from attest.experiments.spec import Drawing
from attest.report import evidence_figures
from attest.report.figures import Illustration
from attest.report.findings import Findings
from attest.report.panels import ALL_TEXTS, drawable, most_predicted
from attest.runs.contents import RunContents
from attest.runs.folder import MAPS, RunFolder
from attest.runs.identity import identity_of


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
