"""Two runs text by text: which of the two decides the same test texts better?"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from attest.measures import Paired, mcnemar, signed_rank
from attest.measures.majority import mean_of_each
from attest.runs.folder import TAGGED, RunFolder, read_table
from attest.runs.same_texts import table_of, texts_of


@dataclass(frozen=True)
class Pairing:
    """Two runs compared on the texts of the test split."""

    same: bool | None
    """Whether they were tested on the same texts; None where their folders do not tell."""
    instances: int = 0
    tagging: bool = False
    """Whether the instances are sentences whose tokens are tagged."""
    test: Paired | None = None
    """None where the texts are not the same, or a run has kept no table of them."""


def pairing(first: RunFolder, second: RunFolder) -> Pairing:
    """Compare two runs: texts by McNemar's exact test, tagged sentences by Wilcoxon's on the share of their tokens."""
    same, tables = texts_of(first).same_as(texts_of(second)), (table_of(first), table_of(second))
    if not same or None in tables:
        return Pairing(same)
    tagging = any(path is not None and path.stem == TAGGED for path in tables)
    ours, theirs = (rightly(run) for run in (first, second))
    return Pairing(same, len(ours), tagging, (signed_rank if tagging else mcnemar)(ours.to_numpy(), theirs.to_numpy()))


def rightly(run: RunFolder) -> pd.Series:
    """Whether each test text is decided rightly, bool by id; of a tagger the share of each sentence's tokens; maybe empty."""
    path = table_of(run)
    if path is None:
        return pd.Series(dtype=bool)
    if path.stem != TAGGED:
        rows = read_table(path, ["id", "label", "predicted"]).set_index("id")
        return rows["label"] == rows["predicted"]
    rows = read_table(path, ["id", "length", "tags", "predicted_tags"])
    right = np.concatenate(rows["tags"].to_numpy()) == np.concatenate(rows["predicted_tags"].to_numpy())
    return pd.Series(mean_of_each(right, rows["length"].to_numpy()), rows["id"])
