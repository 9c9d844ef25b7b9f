"""CNN question answering as Jain & Wallace 2019 use it: an article, a sentence with a gap, and the entity that fills it."""

from attest.datamodules.base import TextDataModule
from attest.datamodules.readers.cnnqa import CnnQaReader


class CnnQaDataModule(CnnQaReader, TextDataModule):
    """Question answering on CNN's articles (Hermann et al., 2015): which entity belongs in the gap of a summary sentence?

    Classes: the entities of the training articles, ``@entity0`` and so on. A model may choose among those that the article at
             hand names; a network that is ``among_candidates`` gives all others no probability.
    Words:   blanks separate them, as in the files; the vocabulary is that of training articles and questions, words of at
             least 8 of these, and every entity.
    Splits:  as distributed. Questions whose answer their article does not name, or no training article, are left out and
             counted.
    Batch:   as in ``TextDataModule``, with a question and candidates; ``id`` counts the questions of the split.
    Counts:  published are 380298 questions to train on and 3198 to test, |V| = 70192, a mean length of 761 words and accuracy
             0.64. They were not reproduced here: the loader was tried on small files in the published formats alone.
    Source:  below ``ATTEST_DATA``, ``cnn-qa/{train,dev,test}.txt`` as Chen et al. (2016) distribute the corpus and Jain &
             Wallace read it (a line each of question, answer and article, then entities; a blank line between questions), or
             ``cnn-qa/questions/{training,validation,test}/*.question`` as Hermann et al. do (address, article, question,
             answer and entities with blank lines between).
    Raises:  AttestError: neither is there, or a file is in another format.

    Args:
        protocol: there is only one.
        options: as in ``TextDataModule``.
    """
