"""The corpora in files and their sources, without reading them: for ``attest doctor``."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """Of one corpus.

    Args:
        splits: names of its files below ``ATTEST_DATA/<corpus>``.
        hub: its repository on the Hugging Face Hub; empty where it comes from ``archive``.
        archive: the site that it is downloaded from.
    """

    splits: tuple[str, ...]
    hub: str = ""
    archive: str = ""


CATALOGUE = {
    "sst": Source(("train", "validation", "test"), hub="SetFit/sst5"),
    "imdb": Source(("train", "test"), hub="stanfordnlp/imdb"),
    "20news": Source(("train", "test"), archive="https://ndownloader.figshare.com"),
    "agnews": Source(("train", "test"), hub="sh0416/ag_news"),
    "conll2000": Source(("train", "test"), hub="eriktks/conll2000"),
}
"""By the value of ``DATA``."""
