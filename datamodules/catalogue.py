"""The corpora in files and their sources, without reading them: for ``attest doctor``."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """Of one corpus.

    Args:
        splits: each has a file below ``ATTEST_DATA/<corpus>``.
        hub: its repository on the Hugging Face Hub; empty where it comes from ``archive``.
        archive: the site that it is downloaded from.
        file: how the file of a split is called, a glob pattern.
        instead: the same of each split in another layout, where there are two.
    """

    splits: tuple[str, ...]
    hub: str = ""
    archive: str = ""
    file: str = "{}.parquet"
    instead: tuple[str, ...] = ()

    def found(self, folder: Path) -> dict[str, list[Path]]:
        """The files in a folder by what each split's is called; an empty list where there is none."""
        layouts = [[self.file.format(split) for split in self.splits], self.instead]
        first, other = ({name: sorted(folder.glob(name)) for name in layout} for layout in layouts)
        return other if any(other.values()) and not any(first.values()) else first


CATALOGUE = {
    "sst": Source(("train", "validation", "test"), hub="SetFit/sst5"),
    "imdb": Source(("train", "test"), hub="stanfordnlp/imdb"),
    "20news": Source(("train", "test"), archive="https://ndownloader.figshare.com"),
    "agnews": Source(("train", "test"), hub="sh0416/ag_news"),
    "babi": Source(("train", "test"), hub="facebook/babi_qa", file="**/qa1_*_{}.txt"),
    "snli": Source(("train", "dev", "test"), hub="stanfordnlp/snli", file="snli_1.0_{}.jsonl"),
    "cnn-qa": Source(
        ("train", "dev", "test"),
        archive="https://cs.nyu.edu/~kcho/DMQA",
        file="{}.txt",
        instead=tuple(f"questions/{split}/*.question" for split in ("training", "validation", "test")),
    ),
    "conll2000": Source(("train", "test"), hub="eriktks/conll2000"),
}
"""By the value of ``DATA``."""
