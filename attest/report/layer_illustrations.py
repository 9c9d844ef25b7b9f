"""Which figures the tables of a run allow where attention is inside layers, and how each is to be read."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from attest.report.illustration import Illustration, drawn_by
from attest.runs.folder import MAPS, RunFolder
from attest.runs.identity import identity_of

NAMES = {
    "original": "as trained",
    "softmax": "under softmax",
    "entmax15": "under 1.5-entmax",
    "sparsemax": "under sparsemax",
    "shuffled": "keys shuffled",
    "attacked": "keys attacked",
}
PROJECTIONS = ("softmax", "entmax15", "sparsemax")


def layer_illustrations(folder: RunFolder) -> Iterator[Illustration]:
    """Accuracy by layer under E8 and E9, then attention maps of a few texts, where their tables are there."""
    tables = {identity: _table(folder, identity) for identity in ("E8", "E9", MAPS)}
    swapped, shuffled = (_by_layer(tables[identity]) for identity in ("E8", "E9"))
    if swapped is not None or shuffled is not None:
        yield Illustration(
            "E9/accuracy_by_layer",
            "E8, E9  Which layer's attention matters",
            "Accuracy with another projection, or with the keys of other tokens, in one layer or in all. Dashed: the model as "
            "it is; a layer whose points lie on that line could have attended to anything.",
            drawn_by("layer_figures.accuracy_by_layer", swapped, shuffled),
        )
    if tables[MAPS] is not None:
        yield from _maps(tables[MAPS], _twins(folder))


def _table(folder: RunFolder, identity: str) -> pd.DataFrame | None:
    path = folder.evidence(identity)
    return pd.read_parquet(path) if path.is_file() else None


def _by_layer(table: pd.DataFrame | None) -> pd.DataFrame | None:
    return table if table is not None and any("_layer" in name for name in table.columns) else None


def _twins(folder: RunFolder) -> dict[str, pd.DataFrame]:
    """Tables of maps of the runs beside this one that differ in their projection alone, by projection."""
    run = identity_of(folder)
    stem, _, mine = run.full_name.rpartition("-")
    others = [other for other in PROJECTIONS if other != mine] if mine in PROJECTIONS else []
    tables = {other: _table(RunFolder(folder.corpus / f"{stem}-{other}" / f"seed{run.seed}"), MAPS) for other in others}
    return {other: table for other, table in tables.items() if table is not None}


def _maps(table: pd.DataFrame, twins: Mapping[str, pd.DataFrame]) -> Iterator[Illustration]:
    for row in table.to_dict("records"):
        maps = maps_of(row)
        for projection, theirs in twins.items():
            for twin in theirs[theirs["id"] == row["id"]].to_dict("records"):
                maps[f"trained with {projection}"] = maps_of(twin)[NAMES["original"]]
        yield Illustration(
            f"{MAPS}/text_{row['id']}",
            f"Attention maps, text {row['id']}",
            "Who (row) attends to whom (column), mean over heads, by layer: as trained, beside what was tampered with, and "
            "beside the same model trained with another projection where that run is there. Darker is more, by the root.",
            drawn_by("layer_figures.attention_map_grid", maps, list(row["tokens"])),
        )


def maps_of(row: Mapping[str, Any]) -> dict[str, list[np.ndarray]]:
    """Maps ``(T, T)`` of each condition, by layer, from a row of the table of maps."""
    size = len(row["tokens"])
    conditions = list(dict.fromkeys(name.rpartition("_layer")[0] for name in row if "_layer" in name))
    layers = sum(name.startswith(f"{conditions[0]}_layer") for name in row)
    return {
        NAMES.get(condition, condition): [
            np.asarray(row[f"{condition}_layer{place}"]).reshape(size, size) for place in range(1, layers + 1)
        ]
        for condition in conditions
    }
