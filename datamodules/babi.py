"""bAbI as Jain & Wallace 2019 use it: a story, a question, an answer of one word, and the statements that support it."""

from attest.datamodules.base import TextDataModule
from attest.datamodules.readers.babi import BabiReader


class BabiDataModule(BabiReader, TextDataModule):
    """Question answering on bAbI's stories (Weston et al., 2016), 10,000 questions to train on.

    Tasks:   1, 2 and 3, with one, two and three supporting facts, are those of Jain & Wallace; of the files all 20 are read.
    Words:   blanks separate them, upper case stays; full stops stand between the statements before the question, not behind
             the last; the question has no question mark. As in Jain & Wallace's code, but for their classes: all 36 words
             there, here the answers that training has.
    Splits:  the code draws 15 % of the training questions for validation, so that questions of one story stand on both sides;
             here the questions of a tenth of the training stories, drawn by ``split_seed``, are validation. The vocabulary is
             that of all training questions and stories.
    Batch:   as in ``TextDataModule``, with a question; ``rationale`` is True at the words of the supporting statements.
             ``id`` counts the questions of the file.
    Counts:  published are 10,000 questions to train on and 1,000 to test, |V| = 40 of the three tasks together, accuracy 1.0,
             0.48 and 0.62. The loader was tried on small files in the published format, not on the published files.
    Source:  ``stories: published`` reads ``babi/en-10k/qa1_single-supporting-fact_train.txt`` and so on in the folder named by
             ``ATTEST_DATA``, else ``facebook/babi_qa`` on the Hub. ``stories: generated`` makes them on the spot by the rules
             of the published simulation (tasks 1 to 3).
    Raises:  AttestError: neither is there, a file is not in the published format, or a task is not known.

    Args:
        protocol: there is only one.
        task: from 1; of generated stories up to 3.
        stories: where they come from.
        train_questions, test_questions: of generated stories, how many; a tenth of the stories to train on is validation.
        corpus_seed: of generated stories, which.
        split_seed: draws the validation set.
        options: as in ``TextDataModule``.
    """
