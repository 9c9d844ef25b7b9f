"""AG News as Jain & Wallace 2019 use it: world or business, two of its four classes."""

from attest.datamodules.base import TextDataModule
from attest.datamodules.readers.agnews import AgNewsReader


class AgNewsDataModule(AgNewsReader, TextDataModule):
    """World or business, on news of the AG corpus (Zhang, Zhao & LeCun, 2015).

    Classes: 0 world, 1 business; sports and science are left out.
    Recipes: ``jw-paper`` (the code before April 2019): the description without its title, blanks squeezed, spaCy's blank
             English tokenizer, lower case, ``qqq`` for a token with a digit; vocabulary of the whole of train, words of at
             least 5 texts. The code of that time drew no validation set and chose the best epoch on test; here a tenth of
             train, stratified and drawn by ``split_seed``, is validation. Its length filter, which drops the shortest and the
             longest texts of a split, is left out: the published counts are those of whole splits.
             ``plain``: title and description, spaCy's blank English tokenizer and lower case; the same tenth of train is
             validation; vocabulary of the rest of train, words of at least 5 texts.
    Counts:  published are train 30000 / 30000, test 1900 / 1900, |V| = 14752, mean length 36. They were not reproduced
             here: the loader was tried on small files in the source's columns alone.
    Source:  ``agnews/{train,test}.parquet`` in the folder named by ``ATTEST_DATA``, else ``sh0416/ag_news`` on the Hub, which
             keeps title and description apart: ``label`` int64 from 1 to 4, ``title``, ``description``.
    Batch:   as in ``TextDataModule``; ``id`` counts the rows of the split's file, those of the other classes too.
    Raises:  AttestError: neither is there, or classes are numbered from 0; the message says what to do.

    Args:
        protocol: which recipe.
        split_seed: draws the validation set.
        options: as in ``TextDataModule``.
    """
