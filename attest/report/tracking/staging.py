"""Where W&B keeps the files of artifacts until they are uploaded. It needs no W&B, as loggers are imported without it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

STAGING = "WANDB_DATA_DIR"
"""The environment variable that names the folder in which W&B keeps the files of artifacts until they are uploaded."""


@contextmanager
def whole_in_its_folder(run: Any) -> Iterator[None]:
    """Make W&B keep the files of artifacts that are logged in the ``with`` block in the folder of the run.

    By default W&B keeps them in the home folder, so that a copy of the run's folder could not be uploaded.

    Args:
        run: a W&B run; one that is disabled has no folder and keeps no files.
    """
    before = os.environ.get(STAGING)
    os.environ[STAGING] = str(Path(run.dir).parent / "staging")
    try:
        yield
    finally:
        del os.environ[STAGING]
        os.environ.update({} if before is None else {STAGING: before})
