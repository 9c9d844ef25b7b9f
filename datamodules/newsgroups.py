"""20 Newsgroups as Jain & Wallace 2019 use it: baseball or hockey, from the body of the post alone."""

from attest.datamodules.base import TextDataModule
from attest.datamodules.readers.newsgroups import NewsgroupsReader


class NewsgroupsDataModule(NewsgroupsReader, TextDataModule):
    """Which newsgroup a post of 1993 was sent to (Lang, 1995; the version split by date).

    Classes: the ``groups``, in their order; by default 0 baseball, 1 hockey.
    Text:    headers, signatures and quotations are removed by scikit-learn's functions under every protocol, since they give
             the group away.
    Recipes: ``jw-current`` (the released code): train and test are pooled and shuffled as ``fetch_20newsgroups`` does, blanks
             squeezed, spaCy's blank English tokenizer, lower case, ``qqq`` for a token with a digit, of each run of non-word
             characters only the last kept; empty posts dropped; a stratified fifth is test and a stratified fifth of the rest
             validation, ``random_state=13478``; vocabulary of train, words of at least 2 posts; then posts kept that have
             more than 6 and fewer than 500 tokens.
             ``jw-paper`` (before April 2019): empty posts stay until the last step (so that the empty word is one of the
             vocabulary), the vocabulary is that of all posts. The code of that time drew no validation set and chose the best
             epoch on test; here a tenth of its train, stratified and drawn by ``split_seed``, is validation.
             ``plain``: split by date as distributed, only empty posts dropped; the same tokens; a tenth of train, stratified
             and drawn by ``split_seed``, is validation; vocabulary of the rest of train, words of at least 2 posts.
    Counts:  ``jw-current``: train 568 / 577, validation 140 / 138, test 179 / 178, |V| = 6517 (published: 6515).
             ``jw-paper``: train with its tenth 716 / 710 (as published), test 171 / 183 (published: 151 / 183, which
             looks like a misprint, as the other three counts agree), |V| = 8855 (published: 8853), mean length 115.6
             (published: 115). |V| counts <SOS> and <EOS>. Of its two words too many one is due to spaCy 3.8 (published
             with 2.1), one is unexplained.
    Source:  ``20news/{train,test}.parquet``, raw posts, in the folder named by ``ATTEST_DATA``, else scikit-learn's
             ``fetch_20newsgroups``, which Jain & Wallace used.
    Batch:   as in ``TextDataModule``; ``id`` counts the rows of train's file and then those of test's.
    Raises:  AttestError: neither is there; the message says what to do.

    Args:
        protocol: which recipe.
        groups: newsgroups to tell apart, any number from two.
        split_seed: draws the validation set of ``plain`` and ``jw-paper``; the other seeds are the paper's.
        options: as in ``TextDataModule``.
    """
