"""Which texts of many: those whose ids have the smallest hashes, so that no order of a file can meet the order of a sample."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attest.datamodules.notice import shortened, some

Sampling = Literal["keyed", "spaced"]
"""``spaced`` is what runs of before 2026-11-25 were made with: rows at equal distances. Where labels alternate, all are of one
class."""
SPACED = "texts={texts}: rows at equal distances, as this run was made; runs made now take a random sample."
KEY = 20261125


def sample(ids: np.ndarray, labels: pa.Array, most: int) -> np.ndarray:
    """Rows of a random sample, ascending; one text of every class is in it, as far as there is room.

    Args:
        ids: int64 ``(N,)``, from 0; what a text is chosen by, so that a sample holds every smaller one and other texts that
            come or go change little of it.
        labels: ``(N,)``, the class of each text, or the list of its tags.
        most: from 1.
    """
    keys = np.random.PCG64(KEY).random_raw(ids.max(initial=0) + 1)[ids]
    rows, classes = _bearers(labels)
    order = np.argsort(keys[rows], kind="stable")
    _, first = np.unique(classes[order], return_index=True)
    others = ~np.isin(np.arange(len(ids)), rows[order[first]])
    return np.sort(np.lexsort((keys, others))[:most])


def spaced(size: int, most: int) -> np.ndarray:
    """At most so many of the rows 0 … size - 1, at equal distances, first and last among them."""
    return np.linspace(0, size - 1, min(size, most)).round().astype(int)


def missing(labels: pa.Array, chosen: pa.Array, where: str, names: Sequence[str] | None = None) -> str | None:
    """The sentence that a sample lacks classes; None where it lacks none.

    Args:
        labels, chosen: of all texts, and of those of the sample.
        where: they stand, in words.
        names: of the classes, where labels are their numbers.
    """
    lacking = sorted({*_flat(labels).unique().to_pylist()} - {*_flat(chosen).unique().to_pylist()})
    if not lacking:
        return None
    shown = some([shortened(str(each if names is None else names[each])) for each in lacking])
    return f"None of the {len(chosen):,} texts drawn from the {len(labels):,} in {where} is of the class {shown}."


def _bearers(labels: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and the number of a class that each bears."""
    rows = pc.list_parent_indices(labels).to_numpy() if pa.types.is_list(labels.type) else np.arange(len(labels))
    return rows, _flat(labels).dictionary_encode().indices.to_numpy()


def _flat(labels: pa.Array) -> pa.Array:
    return pc.list_flatten(labels) if pa.types.is_list(labels.type) else labels
