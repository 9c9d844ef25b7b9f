"""The corpus bAbI as Jain & Wallace 2019 use it: questions about stories, with the statements that support each answer.

Its files consist of numbered lines. A line is a statement, or a question, its answer and its supporting facts between tabs:

    1 Mary moved to the bathroom.
    2 John went to the hallway.
    3 Where is Mary?    bathroom        1

Each story begins with line number 1, and supporting facts are given by their line numbers.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from attest.core.errors import AttestError
from attest.datamodules.corpus import Corpus, Documents
from attest.datamodules.sources import PARQUET, load_hub_split, local_file
from attest.datamodules.stored import VALIDATION, QuestionDataModule, Tables, classes, split_at_random
from attest.datamodules.worlds import TASKS, told_lines

FIELDS = ("id", "text", "answer", "supporting_ids")
"""The fields of each line of a story in the Hub's data set."""
FOLDERS = ("en-10k/", "tasks_1-20_v1-2/en-10k/", "")
"""The folders below ``ATTEST_DATA/babi`` that are searched for the files of a task, the folder itself last."""

QUESTIONS = pa.schema(
    {
        "story": pa.int64(),
        "sentences": pa.list_(pa.string()),
        "question": pa.string(),
        "answer": pa.string(),
        "supporting": pa.list_(pa.int64()),
    }
)
"""The columns of the table of questions: the number of the story, from 0; all statements of the story before the question; the
question; its answer; and the indices, from 0, of the statements that support the answer."""


class BabiDataModule(QuestionDataModule):
    """A corpus of questions about short stories, bAbI (Weston et al., 2016), with 10,000 questions to train on.

    Tasks:   1, 2 and 3, with one, two and three supporting facts, are those of Jain & Wallace; the files have all 20 tasks.
    Words:   texts are split at blanks, and upper case stays; full stops stand only between the statements before a question;
             the question has no question mark. Jain & Wallace's code does the same, but its classes are all 36 words; here the
             classes are the answers in the training file.
    Splits:  the code draws 15 % of the training questions for validation, so that questions of one story are in both splits;
             here the questions of a tenth of the training stories, drawn by ``split_seed``, are validation. The vocabulary is
             that of all training questions and stories.
    Batch:   as in ``TextDataModule``, with a question; ``rationale`` is True at the words of the supporting statements.
             ``id`` is the number of the question in its file.
    Counts:  published are 10,000 questions to train on and 1,000 to test, |V| = 40 for the three tasks together, accuracy 1.0,
             0.48 and 0.62. The loader was tried on small files in the published format, not on the published files.
    Source:  ``stories: published`` reads ``babi/en-10k/qa1_single-supporting-fact_train.txt`` and so on in the folder named by
             ``ATTEST_DATA``, else ``facebook/babi_qa`` on the Hub. ``stories: generated`` generates stories by the rules of
             the published simulation (tasks 1 to 3).
    Raises:  AttestError: no source can be read, a file is not in the published format, or a task is not known.

    Args:
        protocol: always ``jw-paper``.
        task: number of the task, from 1 to 20; with generated stories, up to 3.
        stories: source of the stories, ``published`` or ``generated``.
        train_questions, test_questions: number of generated questions; a tenth of the training stories is validation.
        corpus_seed: seed of generated stories.
        split_seed: the seed that draws the validation set.
        options: as in ``TextDataModule``.
    """

    texts_are_public = True
    folder = "babi"

    def __init__(
        self,
        protocol: Literal["jw-paper"] = "jw-paper",
        task: int = 1,
        stories: Literal["published", "generated"] = "published",
        train_questions: int = 10_000,
        test_questions: int = 1_000,
        corpus_seed: int = 0,
        split_seed: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.protocol = protocol
        self.task = task
        self.stories = stories
        self.questions = {"train": train_questions, "test": test_questions}
        self.corpus_seed = corpus_seed
        self.split_seed = split_seed

    def tables(self) -> Tables:
        most = max(TASKS) if self.stories == "generated" else 20
        if not 1 <= self.task <= most:
            raise AttestError(
                f"`task` is {self.task}; expected a number from 1 to {most} for {self.stories} stories. "
                "Type --data.init_args.task=1"
            )
        return super().tables()

    def table(self, split: str) -> pa.Table:
        if self.stories == "generated":
            lines = told_lines(self.task, self.questions[split], self.corpus_seed, split)
            return questions_in(lines, f"the generated {split} split")
        file = local_file(self.folder, *(f"{each}qa{self.task}_*_{split}.txt" for each in FOLDERS))
        if file is not None:
            return questions_in(file.read_text(encoding="utf-8").splitlines(), str(file))
        rows = load_hub_split(self.hub, split, PARQUET, subset=f"en-10k-qa{self.task}")
        return questions_in(lines_of(rows["story"].to_pylist()), f"{self.hub}, {split}")

    def prepare(self, tables: Tables) -> Corpus:
        self.names = tuple(sorted(set(tables["train"]["answer"].to_pylist())))
        whole, test = (self._asked(tables[split], split) for split in self.splits)
        story = tables["train"]["story"].to_numpy()
        _, held_out = split_at_random(np.unique(story), VALIDATION, self.split_seed)
        is_held_out = np.isin(story, held_out)
        train, validation = whole.where(~is_held_out), whole.where(is_held_out)
        return Corpus(train, validation, test, self.fit_words(whole), self.names)

    def _asked(self, table: pa.Table, split: str) -> Documents:
        told = [_passage(*told) for told in zip(table["sentences"].to_pylist(), table["supporting"].to_pylist(), strict=True)]
        return Documents.of(
            range(len(table)),
            [[word for word, _ in words] for words in told],
            question=pa.array([question.removesuffix("?").split() for question in table["question"].to_pylist()]),
            label=classes(table["answer"], self.names, f"babi, the {split} split"),
            rationale=pa.array([[supports for _, supports in words] for words in told]),
        )


def _passage(sentences: list[str], supporting: list[int]) -> list[tuple[str, bool]]:
    """Return each word before a question, with True if its sentence supports the answer to the question."""
    words: list[tuple[str, bool]] = []
    for place, sentence in enumerate(sentences):
        words += [(".", False)] * bool(words)
        words += [(word, place in supporting) for word in sentence.removesuffix(".").split()]
    return words


def questions_in(lines: Iterable[str], where: str) -> pa.Table:
    """Parse the lines of stories into a table with one row for each question; ``QUESTIONS`` is its schema."""
    return pa.Table.from_pylist(list(_questions(lines, where)), QUESTIONS)


def _questions(lines: Iterable[str], where: str) -> Iterator[dict[str, Any]]:
    story = -1
    sentences: list[str] = []
    place_of: dict[int, int] = {}
    for count, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        place = f"{where}, line {count}"
        number, text = _numbered(line, place)
        if number == 1:
            story, sentences, place_of = story + 1, [], {}
        if "\t" not in text:
            place_of[number] = len(sentences)
            sentences.append(text)
            continue
        question, answer, facts = _parts(text, place)
        if unknown := [fact for fact in facts if fact not in place_of]:
            raise AttestError(
                f"{place} names line {unknown[0]} as a supporting fact; expected the number of an earlier statement in the "
                "same story. Copy the file again."
            )
        supporting = [place_of[fact] for fact in facts]
        yield {"story": story, "sentences": list(sentences), "question": question, "answer": answer, "supporting": supporting}


def _numbered(line: str, place: str) -> tuple[int, str]:
    number, _, text = line.strip("\r\n").partition(" ")
    if not number.isdigit() or not text.strip():
        raise AttestError(
            f"{place} is {line.strip()[:40]!r}; expected a number and a statement or question, such as `1 Mary moved to the "
            "bathroom.` Copy the file again."
        )
    return int(number), text.strip(" ")


def _parts(text: str, place: str) -> tuple[str, str, list[int]]:
    question, answer, *facts = (part.strip() for part in text.split("\t"))
    numbers = facts[0].split() if facts else []
    if not answer or not all(map(str.isdigit, numbers)):
        raise AttestError(
            f"{place} has an incomplete question, {question[:40]!r}; expected after the question a tab, the answer, a tab and "
            "the numbers of supporting facts. Copy the file again."
        )
    return question, answer, [int(number) for number in numbers]


def lines_of(stories: Iterable[Any]) -> Iterator[str]:
    """Convert stories from the Hub into lines of bAbI's public text format.

    A story is a list of lines, or has a list for each of ``FIELDS``.
    """
    for story in stories:
        columns = story if isinstance(story, dict) else {name: [line[name] for line in story] for name in FIELDS}
        for number, text, answer, facts in zip(*(columns[name] for name in FIELDS), strict=True):
            yield f"{number} {text}\t{answer}\t{' '.join(map(str, facts))}" if answer else f"{number} {text}"
