"""DataModules: from a corpus to batches, all alike to the rest of the house.

In: a folder of parquet files, a Hub dataset or a generator. Out: batches of token ids with their masks, labels, identities
and, where the deciding tokens are known, their rationales. Start at ``base.py``, which describes a batch once for everyone.
"""

from datamodules.base import TextDataModule
from datamodules.conll2000 import Conll2000DataModule
from datamodules.files import FilesDataModule
from datamodules.imdb import ImdbDataModule
from datamodules.newsgroups import NewsgroupsDataModule
from datamodules.planted import PlantedDataModule
from datamodules.sst import SstDataModule

__all__ = [
    "Conll2000DataModule",
    "FilesDataModule",
    "ImdbDataModule",
    "NewsgroupsDataModule",
    "PlantedDataModule",
    "SstDataModule",
    "TextDataModule",
]
