"""CoNLL-2000 text chunking: one tag a token."""

from attest.datamodules.base import TextDataModule
from attest.datamodules.readers.conll2000 import Conll2000Reader


class Conll2000DataModule(Conll2000Reader, TextDataModule):
    """Chunks of Wall Street Journal sentences as one tag a token (Tjong Kim Sang & Buchholz, 2000).

    Classes: 23 tags in the BIO scheme, ``O`` first, then ``B-`` and ``I-`` of each kind of chunk in alphabetical order.
             ``I-LST`` occurs in test alone; ``B-UCP``, ``I-UCP``, ``I-INTJ`` and ``I-PRT`` in the training file alone.
    Splits:  8042 train, 894 validation, 2012 test. The 8936 training sentences are parted at random by ``split_seed``; which
             ones Yang (2020) held out is not known.
    Tokens:  as distributed, case kept; vocabulary of the 8042.
    Source:  ``conll2000/{train,test}.parquet`` with string tags in the folder named by ``ATTEST_DATA``, else
             ``eriktks/conll2000`` on the Hub, whose empty last sentences are left out.
    Batch:   as in ``TextDataModule``, with ``tags`` and without ``label``; ``id`` counts the sentences of the file.
    Raises:  AttestError: neither is there, or a tag is none of the 23; the message says what to do.

    Args:
        protocol: there is only one; Jain & Wallace did not use this corpus.
        split_seed: which sentences are held out.
        options: as in ``TextDataModule``.
    """
