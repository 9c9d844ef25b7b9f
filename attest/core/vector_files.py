"""Text files of word vectors: what their first line says."""

from pathlib import Path


def first_line(fields: list[bytes]) -> tuple[int, bool]:
    """Return how many numbers follow each word, and whether this line only says so and holds no vector.

    Args:
        fields: of the first line, split at blanks. fastText and word2vec begin with the number of words and that of
            dimensions, GloVe with the first vector.
    """
    header = len(fields) == 2
    return int(fields[1]) if header and fields[1].isdigit() else len(fields) - 1, header


def dimensions_in(path: Path) -> int | None:
    """Return how many numbers follow each word of a file; None if there is no such file, or nothing in it.

    Args:
        path: of the file.
    """
    if not path.is_file():
        return None
    with path.open("rb") as lines:
        return first_line(lines.readline().rstrip().split(b" "))[0] or None
