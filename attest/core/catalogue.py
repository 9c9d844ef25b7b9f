"""The corpora that have a public source, and whether one of them can be read here; known before any library is imported."""

import os
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import constants

from attest.core.errors import AttestError
from attest.core.hub import OFFLINE, hub_answers, offline
from attest.core.spelled import spelled

DATA_VARIABLE = "ATTEST_DATA"


@dataclass(frozen=True)
class CorpusSource:
    """The places from which a corpus can be read: local files, the Hugging Face Hub or a public archive.

    Args:
        splits: the names of the splits, each with a file below ``ATTEST_DATA/<corpus>``.
        hub: the repository on the Hugging Face Hub; empty if the corpus comes from ``archive``.
        archive: the site from which the corpus is downloaded.
        file: the glob pattern for the file of a split.
        instead: the patterns for the files of each split in a second layout; empty if there is one layout.
        questions: whether each text has a question beside it.
    """

    splits: tuple[str, ...]
    hub: str = ""
    archive: str = ""
    file: str = "{}.parquet"
    instead: tuple[str, ...] = ()
    questions: bool = False

    def found(self, folder: Path) -> dict[str, list[Path]]:
        """Return a dictionary from the file pattern of each split to the list of matching files in a folder."""
        layouts = [[self.file.format(split) for split in self.splits], self.instead]
        first, other = ({name: sorted(folder.glob(name)) for name in layout} for layout in layouts)
        return other if any(other.values()) and not any(first.values()) else first


CATALOGUE = {
    "sst": CorpusSource(("train", "validation", "test"), hub="SetFit/sst5"),
    "imdb": CorpusSource(("train", "test"), hub="stanfordnlp/imdb"),
    "20news": CorpusSource(("train", "test"), archive="https://ndownloader.figshare.com"),
    "agnews": CorpusSource(("train", "test"), hub="sh0416/ag_news"),
    "babi": CorpusSource(("train", "test"), hub="facebook/babi_qa", file="**/qa1_*_{}.txt", questions=True),
    "snli": CorpusSource(("train", "dev", "test"), hub="stanfordnlp/snli", file="snli_1.0_{}.jsonl", questions=True),
    "cnn-qa": CorpusSource(
        ("train", "dev", "test"),
        archive="https://cs.nyu.edu/~kcho/DMQA",
        file="{}.txt",
        instead=tuple(f"questions/{split}/*.question" for split in ("training", "validation", "test")),
        questions=True,
    ),
    "conll2000": CorpusSource(("train", "test"), hub="eriktks/conll2000"),
}
"""The places from which each public corpus can be read, by the name of the corpus, which users give as ``DATA``."""


HUB = "the Hugging Face Hub"


def require_source(corpus: str) -> None:
    """Refuse a corpus that neither lies on this machine nor can be downloaded from the Hub; ask the Hub once.

    Args:
        corpus: the value of ``DATA``. Corpora without a repository on the Hub are not looked at.
    """
    source = CATALOGUE.get(corpus)
    if source is None or not source.hub or os.environ.get(DATA_VARIABLE) or kept(source.hub) or hub_answers():
        return
    raise out_of_reach(source.hub, HUB)


def kept(repository: str) -> bool:
    """Return whether the library datasets has downloaded data of the owner of a repository on the Hub."""
    owner, _, _ = repository.rpartition("/")
    downloaded = Path(os.environ.get("HF_DATASETS_CACHE", Path(constants.HF_HOME, "datasets"))).glob("*")
    return any(folder.name.lower().startswith(owner.lower()) for folder in downloaded)


def out_of_reach(what: str, where: str) -> AttestError:
    """Return the error for a corpus that is not on this machine and cannot be downloaded."""
    why = f"is not asked, because {OFFLINE} is set" if where == HUB and offline() else "cannot be reached"
    return AttestError(
        f"{what} is not on this machine, and {where} {why}; expected a network connection or a local copy. Put the files into "
        f"a folder, as “Your own corpus” in the documentation describes, and type: export {DATA_VARIABLE}=<that folder>; or "
        f"train without any download: {spelled('fit', 'DATA=planted')}"
    )
