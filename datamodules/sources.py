"""Where the real corpora come from: the folder named by ATTEST_DATA, or the Hugging Face Hub in the same columns."""

import os
from pathlib import Path

import datasets

from attest.errors import AttestError

DATA_VARIABLE = "ATTEST_DATA"


def load_split(name: str, split: str, hub: str) -> datasets.Dataset:
    """Load one split of a corpus, from the local folder if there is one.

    Args:
        name: folder of the corpus below ``ATTEST_DATA``, holding ``<split>.parquet``.
        split: ``train``, ``validation`` or ``test``.
        hub: Hub dataset with the same columns; only its data files are read, never code.
    Raises:
        AttestError: the folder lacks the file, or the Hub is out of reach.
    """
    folder = os.environ.get(DATA_VARIABLE)
    if folder:
        return _from_folder(Path(folder).expanduser() / name / f"{split}.parquet")
    return _from_hub(hub, split)


def _from_folder(path: Path) -> datasets.Dataset:
    if not path.is_file():
        raise AttestError(
            f"{DATA_VARIABLE} names a folder without {path.parent.name}/{path.name} (looked for {path}); expected the corpus "
            f"as parquet there. Point {DATA_VARIABLE} at the folder that holds {path.parent.name}/, or unset it to load from "
            "the Hugging Face Hub."
        )
    try:
        return datasets.load_dataset("parquet", data_files={"train": str(path)}, split="train")
    except (datasets.exceptions.DatasetGenerationError, ValueError, OSError) as error:
        raise AttestError(f"{path} cannot be read as parquet ({error}); expected a whole file. Copy it anew.") from error


def _from_hub(hub: str, split: str) -> datasets.Dataset:
    try:
        return datasets.load_dataset(hub, split=split)
    except (ConnectionError, OSError) as error:
        raise AttestError(
            f"{hub} is not on this machine and the Hugging Face Hub is out of reach; expected a network or a local copy. "
            f"Put the corpus as parquet in a folder and type: export {DATA_VARIABLE}=<that folder>; "
            "or train without any download: make train DATA=planted"
        ) from error
