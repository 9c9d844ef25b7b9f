"""Reading the first line of files of word vectors."""

from pathlib import Path


def first_line(fields: list[bytes]) -> tuple[int, bool]:
    """Return the number of dimensions of word vectors from the file's first line, and whether the line is a header.

    Args:
        fields: the first line, split at blanks. In files of fastText and word2vec this is a header with the number of words
            and the number of dimensions; in files of GloVe it is the first word and its vector.
    """
    header = len(fields) == 2
    return int(fields[1]) if header and fields[1].isdigit() else len(fields) - 1, header


def dimensions_in(path: Path) -> int | None:
    """Return the number of dimensions of a word vector file; None if the file is missing or empty."""
    if not path.is_file():
        return None
    with path.open("rb") as lines:
        return first_line(lines.readline().rstrip().split(b" "))[0] or None
