"""IMDb reviews as Jain & Wallace 2019 use them: whole reviews, two classes."""

from attest.datamodules.base import TextDataModule
from attest.datamodules.readers.imdb import ImdbReader


class ImdbDataModule(ImdbReader, TextDataModule):
    """Binary sentiment on reviews of the Internet Movie Database (Maas et al., 2011).

    Classes: 0 negative, 1 positive.
    Words:   those of Keras' word index, from which Jain & Wallace start: ASCII punctuation except the apostrophe separates
             words, so that ``<br />`` leaves the word ``br``; ASCII letters are lower-cased.
    Recipes: ``jw-current`` (the released code): positives before negatives; words that train lacks are dropped from test;
             reviews of 400 words and more are left out; a fifth of test, and a fifth of train as validation, are drawn by
             ``train_test_split(random_state=1378)``; vocabulary of the remaining train, words of at least 10 reviews; then
             reviews kept that are longer than 6 tokens and shorter than the longest of their split.
             ``jw-paper`` (before April 2019): the vocabulary is that of train and of the whole of the short test reviews,
             words of at least 20. The code of that time drew no validation set and chose the best epoch on test; here it is
             chosen on as many of the short test reviews that are not in its fifth.
             ``plain``: 25,000 train and 25,000 test as published, nothing dropped; a tenth of train, stratified and drawn by
             ``split_seed``, is validation; vocabulary of the rest of train, words of at least 10 reviews.
    Counts:  ``jw-current``: train 8667 / 8533, validation 2187 / 2110, test 2184 / 2172, |V| = 12487 counting <SOS> and
             <EOS>. ``jw-paper``: train 10854 / 10643, test 2184 / 2172, |V| = 13916, mean length 179.65. Published is all of
             this except train, given as 12500 / 12500: that is the corpus before the length filter, not what the code
             trains on.
    Source:  ``imdb/{train,test}.parquet`` in the folder named by ``ATTEST_DATA``, else ``stanfordnlp/imdb`` on the Hub. The
             random splits go by position: where the rows come in another order, other reviews are drawn.
    Batch:   as in ``TextDataModule``; ``id`` counts the rows of the file that the review stands in.
    Raises:  AttestError: neither is there; the message says what to do.

    Args:
        protocol: which recipe.
        split_seed: draws the validation set of ``plain``; the seeds of the other recipes are the papers'.
        options: as in ``TextDataModule``.
    """
