"""Which columns of the user's own data hold the texts and the labels."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from attest.datamodules.notice import option, shortened, some
from attest.datamodules.rows import Row
from attest.errors import AttestError

TEXTS = ("text", "sentence", "review", "content", "document", "body", "comment", "tweet", "description", "question", "title")
LABELS = ("label_text", "label_name", "label", "class", "category", "sentiment", "target", "topic", "stars", "rating", "score")
TOKENS = ("tokens", "words")
TAGS = ("tags", "chunk_tags", "ner_tags", "pos_tags", "labels")
WITH_A_HEADER = (".csv", ".tsv")
"""Files whose first line names the columns."""
NAMES_SHOWN = 12


@dataclass(frozen=True)
class Columns:
    """Where to look in each row."""

    text: str
    label: str
    tagging: bool
    """One label a token instead of one a text."""
    words: bool
    """Texts come as lists of words, or as words with blanks between, and are taken as they are."""
    guessed: bool
    others: tuple[str, ...] = ()
    """Columns that are not read."""

    @property
    def sentence(self) -> str:
        """What was chosen, in words."""
        what = "tokens and tags" if self.tagging else "texts and labels"
        unread = f" Not read: {_listed(self.others)}." if self.others else ""
        how = f" (guessed; {_name_them()})" if self.guessed else ""
        return f"{what} from the columns {self.text} and {self.label}{how}.{unread}"


def choose_columns(source: str, rows: Sequence[Row], text: str | None, label: str | None, tagging: bool | None) -> Columns:
    """The columns that the user names, else those that their names or, of two columns, their lengths give away.

    Args:
        source: the training file, for messages.
        rows: of it; at least one of them can be read.
        text, label: names given, or None to guess.
        tagging: whether labels are tags, or None to guess.
    Raises:
        AttestError: a column that was named is not there, none can be guessed, one is named for both, or the first line of
            the file is a text and its label instead of the columns' names.
    """
    names = list(dict.fromkeys(name for row in rows if row.problem is None for name in row.cells))
    for given in (text, label):
        if given is not None and given not in names:
            raise AttestError(f"There is no column {given}; expected one of {_listed(names)}. To choose, {_name_them()}.")
    guessed_kind = tagging is None
    tagging = _looks_tagged(names, rows, label) if tagging is None else tagging
    guessed = text is None or label is None
    label = label or _first_of(TAGS if tagging else LABELS, names, other_than=text)
    text = text or _first_of((*TOKENS, *TEXTS) if tagging else (*TEXTS, *TOKENS), names, other_than=label)
    if not (text and label):
        _require_header(source, names, rows)
        if len(names) == 2:
            text, label = _by_length(names, rows, text, label)
    if not text or not label:
        found = f"The columns {_listed(names)} of {source}"
        raise AttestError(
            f"{found} do not show which column holds the texts and which the labels; {_name_them()}.{_without_header(source)}"
        )
    if text == label:
        raise AttestError(
            f"Texts and labels would both be read from the column {text}; expected two. To choose, {_name_them()}."
        )
    words = tagging or isinstance(_first_cell(rows, text), list)
    if guessed_kind and tagging:
        _require_tags(source, rows, text, label)
    return Columns(text, label, tagging, words, guessed, tuple(name for name in names if name not in (text, label)))


def require_columns(source: str, rows: Sequence[Row], columns: Columns, training: str) -> None:
    """Refuse a file that lacks the columns of the training file.

    Raises:
        AttestError: no row has one of them.
    """
    cells = [row.cells for row in rows if row.problem is None]
    for column in (columns.text, columns.label):
        if cells and not any(column in each for each in cells):
            raise AttestError(
                f"{source} has no column {column} (it has {_listed(list(cells[0]))}); expected {columns.text} and "
                f"{columns.label}, as in {training}. Rename its columns.{_without_header(source)}"
            )


def _name_them() -> str:
    return f"name the columns with {option('text_column', '<column>')} {option('label_column', '<column>')}"


def _require_header(source: str, names: Sequence[str], rows: Sequence[Row]) -> None:
    """A line that should name the columns but holds a number, or what stands below it again, is a text and its label."""
    if not _has_header(source):
        return
    for name in names:
        if name and (_is_number(name) or any(str(row.cells.get(name)).strip() == name for row in rows)):
            raise AttestError(
                f"{source} seems to have no header: its first line ({_listed(list(names))}) is like the lines below; expected "
                "the names of the columns there. Write a line such as text,label above it, or "
                f"{_name_them()} if it is a header."
            )


def _require_tags(source: str, rows: Sequence[Row], text: str, label: str) -> None:
    """Refuse lists of labels beside texts that are no tags, because most are not as long as the text has words."""
    pairs = [(row.place, _count(row.cells.get(text)), _count(row.cells.get(label))) for row in rows if row.problem is None]
    other = [(place, words, tags) for place, words, tags in pairs if words != tags]
    if 2 * len(other) > len(pairs):
        place, words, tags = other[0]
        raise AttestError(
            f"{source}: the column {label} holds lists, and {len(other)} of {len(pairs)} are not as long as their texts "
            f"({tags} labels for {words} words in {place}); expected one label a text, or one tag a word. Texts with several "
            "labels are not read: make one column of each label, and name one."
        )


def _count(cell: object) -> int:
    return len(cell.split() if isinstance(cell, str) else cell) if isinstance(cell, str | list) else 0


def _is_number(name: str) -> bool:
    with suppress(ValueError):
        return float(name) is not None
    return False


def _looks_tagged(names: list[str], rows: Sequence[Row], label: str | None) -> bool:
    """Whether the labels are lists, or there is no column of labels but one of tags."""
    label = label or _first_of(LABELS, names) or _first_of(TAGS, names)
    if label is None:
        return False
    return isinstance(_first_cell(rows, label), list) or (label.lower() in TAGS and _first_of(TOKENS, names) is not None)


def _first_cell(rows: Sequence[Row], column: str) -> object:
    return next((row.cells[column] for row in rows if row.cells.get(column) is not None), None)


def _first_of(known: Sequence[str], names: list[str], other_than: str | None = None) -> str | None:
    there = [name for name in names if name != other_than]
    by_name = {name.lower(): name for name in there} | {name: name for name in there}
    return next((by_name[name] for name in known if name in by_name), None)


def _by_length(names: list[str], rows: Sequence[Row], text: str | None, label: str | None) -> tuple[str, str]:
    """Of two columns, the one with the longer cells holds the texts."""
    length = {name: sum(len(str(row.cells.get(name))) for row in rows) for name in names}
    text = text or max((name for name in names if name != label), key=length.__getitem__)
    return text, label or next(name for name in names if name != text)


def _listed(names: Sequence[str]) -> str:
    return some([shortened(name) or "(no name)" for name in names], few=NAMES_SHOWN) or "none"


def _without_header(source: str) -> str:
    """What may be wrong where names are missing from the first line of a file."""
    return " If the first line is not a header, write one above it: text,label" if _has_header(source) else ""


def _has_header(source: str) -> bool:
    return source.lower().endswith(WITH_A_HEADER)
