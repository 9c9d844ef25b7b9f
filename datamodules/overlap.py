"""Texts that two splits share: a model must not be tested on its training texts."""

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from attest.datamodules.notice import option
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
                f"on training texts say nothing. Give another file with {option(other, '<file>')}"
            )


def copies(splits: Mapping[str, pa.Array]) -> dict[str, int]:
    """How many texts of a split stand in an earlier one too, by ``test in train``; pairs of splits that share none left out.

    Args:
        splits: by name, in order, the texts.
    """
    pairs = combinations(splits, 2)
    counts = {f"{later} in {earlier}": pc.sum(pc.is_in(splits[later], splits[earlier])).as_py() for earlier, later in pairs}
    return {pair: count for pair, count in counts.items() if count}


def told(copied: Mapping[str, int], texts: Mapping[str, int]) -> list[str]:
    """A sentence for each entry of ``copies``.

    Args:
        copied: what that returns.
        texts: how many each split has.
    """
    return [
        f"{count:,} of the {texts[later]:,} texts of the {later} split are also in the {earlier} split, so scores on them do "
        "not show what the model makes of new texts."
        for pair, count in copied.items()
        for later, _, earlier in [pair.split()]
    ]
