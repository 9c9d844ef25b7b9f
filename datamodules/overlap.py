"""Texts that two files share: a model must not be tested on its training texts."""

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import pyarrow as pa

from attest.errors import AttestError


def require_different_files(sources: Mapping[str, str]) -> None:
    """Refuse one file for two splits, also under two names; a Hub dataset or folder holds several splits.

    Args:
        sources: by split, a path or Hub id.
    Raises:
        AttestError: two splits are one file.
    """
    files = {split: path for split, source in sources.items() if (path := Path(source).expanduser()).is_file()}
    for (split, file), (other, same) in combinations(files.items(), 2):
        if file.samefile(same):
            raise AttestError(
                f"{sources[split]} is given for {split} and for {other}; expected files with different texts, because scores "
                f"on training texts say nothing. Give another file with --data.init_args.{other}=<file>"
            )


def shared_texts(sources: Mapping[str, str], tables: Mapping[str, pa.Table]) -> list[str]:
    """How many texts of validation and test are also in the training file, and of test in validation's: a sentence each.

    Texts are the same that differ in capitals and blanks alone.
    """
    texts = {split: [_plain(text) for text in table["text"].to_pylist()] for split, table in tables.items()}
    sentences = []
    for earlier, later in combinations([split for split in ("train", "validation", "test") if split in texts], 2):
        known = set(texts[earlier])
        count = sum(text in known for text in texts[later])
        if count:
            sentences.append(
                f"{sources[later]}: {count} of {len(texts[later])} texts are also in {sources[earlier]}, so scores on them "
                "do not show what the model makes of new texts."
            )
    return sentences


def _plain(text: str | list[str]) -> str:
    return " ".join(text.split() if isinstance(text, str) else text).casefold()
