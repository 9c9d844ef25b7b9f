"""The DataModules, which turn every corpus into batches of the same form.

In: a folder of parquet files, a public source, the user's own files or a generator. Out: batches of token ids with their
masks, labels or tags, ids and, where the deciding tokens are known, their rationales.

* ``base``        the base class, which describes a batch and the splits; start here
* ``sst`` …       one corpus in each file; ``worlds`` generates the stories of ``babi``, and ``files`` reads the user's data
* ``stored``      the base classes of corpora in files; ``sources`` finds the files, ``tokenisers`` splits texts into words
* ``rows``        reads the user's own files; ``instances`` finds texts and labels in them and detects bad rows
* ``labelled``    texts with labels of a corpus or a file, for models with their own tokenizer
* ``corpus``      a corpus as text; ``vocabulary`` gives its words numbers, ``word_vectors`` gives them vectors
* ``encoded``     texts as padded batches of token ids; ``batching`` chooses the texts of a batch and the rank that gets it
* ``record``      the record of the data of a trained model; data that differ from the record are refused
"""

from importlib import import_module
from typing import Any

__all__ = [
    "AgNewsDataModule",
    "BabiDataModule",
    "CnnQaDataModule",
    "Conll2000DataModule",
    "FilesDataModule",
    "ImdbDataModule",
    "NewsgroupsDataModule",
    "PlantedDataModule",
    "SnliDataModule",
    "SstDataModule",
    "TextDataModule",
]
_HOMES = {name: name.removesuffix("DataModule").lower() for name in __all__} | {"TextDataModule": "base"}
"""The module (file name without ``.py``) of each class. A class is imported when it is first used, because it imports
Lightning, which a command such as ``attest doctor`` does not need."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
