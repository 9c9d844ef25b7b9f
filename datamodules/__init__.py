"""The DataModules, which turn every corpus into batches of the same form.

In: a folder of parquet files, a public source, the user's own files or a generator. Out: batches of token ids with their
masks, labels or tags, identities and, where the deciding tokens are known, their rationales.

* ``base``        the batch, described once for everyone, and the splits; start here
* ``sst`` …       one corpus a file; ``worlds`` tells the stories of ``babi``, and ``files`` is for your own
* ``stored``      what corpora in files share; ``sources`` says where each comes from, ``tokenisers`` makes words of its texts
* ``rows``        reads the user's own files; ``instances`` finds texts and labels in them and tells good rows from bad ones
* ``labelled``    texts with labels of a corpus or a file, for models with their own tokenizer
* ``corpus``      a corpus as text; ``vocabulary`` and ``word_vectors`` give its words numbers and vectors
* ``encoded``     texts as padded batches of token ids; ``batching`` says which texts form a batch, and for which rank
* ``record``      what a trained model must know of its data, and refuses to be without
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
"""The file of each, imported when the class is first asked for: Lightning comes with it, and `attest doctor` needs none."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
