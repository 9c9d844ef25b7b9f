"""The corpora of Jain & Wallace 2019, Table 1, beside those that Attest reads.

ATTEST_DATA=<folder> python -m benchmarks.corpora    # writes docs/results/corpora.md; a few minutes
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from attest.core.errors import AttestError
from attest.datamodules import (
    AgNewsDataModule,
    BabiDataModule,
    CnnQaDataModule,
    ImdbDataModule,
    NewsgroupsDataModule,
    SnliDataModule,
    SstDataModule,
)
from attest.datamodules.base import TextDataModule
from attest.report.run_tables import markdown_table
from attest.runs.folder import write_text

PAGE = Path(__file__).parents[1] / "docs" / "results" / "corpora.md"
CORPORA: dict[str, tuple[Callable[[], TextDataModule], tuple[str, ...]]] = {
    "SST": (lambda: SstDataModule(protocol="jw-current"), ("16,175", "19", "3,034 / 3,321", "863 / 862")),
    "IMDb": (lambda: ImdbDataModule(protocol="jw-current"), ("13,916", "179", "12,500 / 12,500", "2,184 / 2,172")),
    "20 Newsgroups": (lambda: NewsgroupsDataModule(protocol="jw-current"), ("8,853", "115", "716 / 710", "151 / 183")),
    "AG News": (lambda: AgNewsDataModule(protocol="jw-paper"), ("14,752", "36", "30,000 / 30,000", "1,900 / 1,900")),
    "bAbI, task 1, generated": (lambda: BabiDataModule(task=1, stories="generated"), ("40", "8", "10,000", "1,000")),
    "bAbI, task 2, generated": (lambda: BabiDataModule(task=2, stories="generated"), ("40", "67", "10,000", "1,000")),
    "bAbI, task 3, generated": (lambda: BabiDataModule(task=3, stories="generated"), ("40", "421", "10,000", "1,000")),
    "SNLI": (
        lambda: SnliDataModule(protocol="jw-paper"),
        ("20,982", "14", "182,764 / 183,187 / 183,416", "3,219 / 3,237 / 3,368"),
    ),
    "CNN": (lambda: CnnQaDataModule(protocol="jw-paper"), ("74,790", "761", "380,298", "3,198")),
}
"""By corpus, how it is read, and what was published: words, mean length, training and test texts by class."""
FEW = 4
"""A corpus with more classes has one count for all."""
ABOUT = (
    "Jain & Wallace 2019, Table 1, beside what Attest reads. SST, IMDb and 20 Newsgroups are read by the rules of the code "
    "that they published later (`jw-current`). *Words* is the vocabulary, *mean length* that of the training texts; two or "
    "more numbers are the texts of each class. Our training texts are those without validation texts. Generated stories "
    "resemble bAbI's and are no copy; of these the length of the passage is counted, and what was counted there is not said. "
    "Command: `python -m benchmarks.corpora`. Scores: [SST](jw-1-sst/table.md), [20 Newsgroups](jw-1-20news/table.md), "
    "[IMDb](jw-1-imdb/table.md). A corpus without data here is read and scored by `make reproduce TABLE=jw-1 DATA=agnews` "
    "(or `babi`, `snli`, `cnn-qa`), and was not run."
)
NOT_READ = "not read: no data here"


def by_class(labels: np.ndarray) -> str:
    counts = np.bincount(labels.astype(int))
    return " / ".join(f"{count:,}" for count in counts) if len(counts) <= FEW else f"{len(labels):,}"


def found(data: TextDataModule) -> tuple[str, ...]:
    """Return what a corpus has: words, mean length of training texts, training texts and test texts by class."""
    splits = data.corpus.train, data.corpus.test
    return (
        f"{data.vocab_size:,}",
        f"{np.mean(data.train.sizes):.0f}",
        *(by_class(np.asarray(split.labels)) for split in splits),
    )


def lines() -> Iterator[list[str]]:
    yield ["corpus", "", "words", "mean length", "training texts", "test texts"]
    for name, (make, published) in CORPORA.items():
        yield [name, "published", *published]
        try:
            yield ["", "read by Attest", *found(make())]
        except AttestError:
            yield ["", NOT_READ, "", "", "", ""]


if __name__ == "__main__":
    write_text(PAGE, f"# Corpora\n\n{ABOUT}\n\n{markdown_table(list(lines()))}\n")
