"""The judges in W&B: the matrix as a table and an image."""

from pathlib import Path

import pandas as pd
import wandb

from attest.tracking.offline import started


def log_judges(folder: Path, judged: pd.DataFrame) -> Path:
    """Log what ``attest judges`` has written, as a W&B run of its own; offline unless the user is logged in.

    Args:
        folder: with ``judges.png`` in it.
        judged: one row a test, defendant and rule.
    Returns:
        The folder of the W&B run.
    """
    with started("judges", "judges", folder) as run:
        run.log({"judges/matrix": wandb.Table(dataframe=judged), "judges/heat_map": wandb.Image(str(folder / "judges.png"))})
        return Path(run.dir).parent


def log_trained(folder: Path) -> Path:
    """The same of what ``attest judges TRAINED=1`` has written."""
    with started("judges", "judges-trained", folder) as run:
        tables = {kind: pd.read_parquet(folder / f"judges-trained-{kind}.parquet") for kind in ("models", "pairs")}
        run.log({f"judges/trained_{kind}": wandb.Table(dataframe=rows) for kind, rows in tables.items()})
        run.log({"judges/trained_heat_map": wandb.Image(str(folder / "judges-trained.png"))})
        return Path(run.dir).parent
