"""SNLI as Jain & Wallace 2019 use it: does a premise entail a hypothesis, contradict it, or neither?"""

from attest.datamodules.base import TextDataModule
from attest.datamodules.readers.snli import SnliReader


class SnliDataModule(SnliReader, TextDataModule):
    """Natural language inference (Bowman et al., 2015): the premise is the passage, the hypothesis stands beside it.

    Classes: 0 neutral, 1 contradiction, 2 entailment; pairs on which annotators did not agree are left out.
    Words:   as in Jain & Wallace's code: blanks squeezed, spaCy's blank English tokenizer, lower case, ``qqq`` for a token
             with a digit; vocabulary of premises and hypotheses of train, words of at least 3 of these.
    Splits:  as distributed.
    Batch:   as in ``TextDataModule``, with the hypothesis as the question; ``id`` counts the pairs of the file, undecided ones
             too.
    Counts:  published are train 182764 / 183187 / 183416, test 3219 / 3237 / 3368, |V| = 20982, mean length of a premise 14,
             accuracy 0.78. They were not reproduced here: the loader was tried on small files in the published formats alone.
    Source:  ``snli/snli_1.0_{train,dev,test}.jsonl``, as the archive has them, in the folder named by ``ATTEST_DATA``, else
             ``stanfordnlp/snli`` on the Hub: ``premise``, ``hypothesis``, ``label``, 0 entailment, 1 neutral, 2 contradiction,
             -1 undecided.
    Raises:  AttestError: neither is there, a line is not in the format, or a label is not known.

    Args:
        protocol: there is only one.
        options: as in ``TextDataModule``.
    """
