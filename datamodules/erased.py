"""Which tokens of a corpus are erased: a table of ``split``, ``id`` and ``erased``, bool ``(T,)``."""

from pathlib import Path

import numpy as np
import pandas as pd

from attest.errors import AttestError


def read_erased(path: Path, split: str) -> dict[int, np.ndarray]:
    """The erased tokens of each text of a split, bool ``(T,)``, by its id.

    Raises:
        AttestError: the table is not there.
    """
    if not path.is_file():
        raise AttestError(f"data.init_args.erased: {path} does not exist; expected a table that `attest roar` wrote.")
    rows = pd.read_parquet(path)
    mine = rows[rows["split"] == split]
    return dict(zip(mine["id"].tolist(), mine["erased"], strict=True))
