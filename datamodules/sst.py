"""The Stanford Sentiment Treebank as Jain & Wallace 2019 use it: whole sentences, two classes."""

from attest.datamodules.base import TextDataModule
from attest.datamodules.readers.sst import SstReader


class SstDataModule(SstReader, TextDataModule):
    """Binary sentiment on sentences of the Stanford Sentiment Treebank (Socher et al., 2013).

    Classes: 0 negative (very negative, negative), 1 positive (positive, very positive); neutral sentences are dropped.
    Splits:  the treebank's own, 6920 / 872 / 1821 sentences.
    Recipes: ``jw-current`` (the released code since April 2019): brackets and all non-word characters become blanks, spaCy's
             blank English tokenizer, then lower case; vocabulary of the training split before filtering; sentences kept that
             are longer than 5 tokens and shorter than the longest of their split.
             ``jw-paper`` (before): the same with the vocabulary of all three splits.
             ``plain``: spaCy's blank English tokenizer and lower case, bracket codes and punctuation kept, nothing filtered;
             vocabulary of the training split.
    Counts:  under both ``jw`` recipes 6355 train (3034 / 3321), 821 validation (397 / 424) and 1725 test (863 / 862)
             sentences, mean length 18.70 in train; |V| = 13826 (current) and 16175 (paper), counting <SOS> and <EOS>. All as
             published (the mean as 19).
    Source:  the treebank's sentences with its five classes, ``sst/{train,validation,test}.parquet`` in the folder named by
             ``ATTEST_DATA``, else ``SetFit/sst5`` on the Hub, which may differ in order, case and escapes.
    Batch:   as in ``TextDataModule``; ``id`` counts the rows of the split's file, neutral ones too.
    Raises:  AttestError: neither is there; the message says what to do.

    Args:
        protocol: which recipe.
        options: as in ``TextDataModule``.
    """
