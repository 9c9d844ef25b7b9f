"""The reader of every corpus that is read from files or a public source."""

from attest.datamodules.readers.agnews import AgNewsReader
from attest.datamodules.readers.babi import BabiReader
from attest.datamodules.readers.cnnqa import CnnQaReader
from attest.datamodules.readers.conll2000 import Conll2000Reader
from attest.datamodules.readers.imdb import ImdbReader
from attest.datamodules.readers.newsgroups import NewsgroupsReader
from attest.datamodules.readers.snli import SnliReader
from attest.datamodules.readers.sst import SstReader
from attest.datamodules.readers.stored import StoredReader

READERS: dict[str, type[StoredReader]] = {
    "sst": SstReader,
    "imdb": ImdbReader,
    "20news": NewsgroupsReader,
    "agnews": AgNewsReader,
    "conll2000": Conll2000Reader,
    "babi": BabiReader,
    "snli": SnliReader,
    "cnn-qa": CnnQaReader,
}
"""By name, as in ``DATA=``."""
