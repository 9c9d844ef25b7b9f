"""Are these labels classes? Their names show it: numbers of a regression, one name a text, two spellings of one name."""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation

from attest.datamodules.notice import option, say
from attest.errors import AttestError

FEW = 20
"""As many classes as this are believed, whatever they look like."""
MISSING = ("nan", "na", "n/a", "null", "none")
TRUTH = {"true": Decimal(1), "false": Decimal(0)}
SHOWN = 3


def require_classes(source: str, labels: Sequence[str], *, tagging: bool) -> None:
    """Refuse labels of the training file that are no classes, and say what is odd about those that may be.

    Args:
        source: the training file.
        labels: names of the class of every text, or of the tag of every word.
        tagging: whether they are tags.
    Raises:
        AttestError: there are fewer than two classes, or they look like numbers to be predicted, or nearly every text has
            one of its own.
    """
    names = sorted(set(labels))
    if len(names) < 2:
        found = f"one class only ({names[0]})" if names else "no labelled text"
        raise AttestError(
            f"{source} has {found}; expected two classes or more. Give a file with texts of another class, or "
            f"{_other_column()}"
        )
    if len(names) > FEW and not tagging:
        _require_few(source, names, len(labels))
    for sentence in _oddities(names):
        say(f"{source}: {sentence}")


def _other_column() -> str:
    return f"name the right column with {option('label_column', '<column>')}"


def _require_few(source: str, names: list[str], texts: int) -> None:
    shown = ", ".join(names[:SHOWN])
    numbers = [number for name in names if (number := _number(name)) is not None]
    if any(number != number.to_integral_value() for number in numbers):
        raise AttestError(
            f"{source}: its {len(names)} different labels ({shown}, …) look like numbers of a regression; expected classes. "
            f"Sort them into a few classes first, such as low and high, or {_other_column()}"
        )
    if len(names) > texts / 2:
        raise AttestError(
            f"{source} has {len(names)} different labels for {texts} texts ({shown}, …); expected classes, each the label of "
            f"several texts. Sort them into classes first, or {_other_column()}"
        )


def _oddities(names: list[str]) -> list[str]:
    alike: dict[str | Decimal, list[str]] = defaultdict(list)
    for name in names:
        number = TRUTH.get(name.casefold(), _number(name))
        alike[_to_the_eye(name) if number is None else number].append(name)
    written = [
        f"the classes {' and '.join(map(_shown, spellings))} differ in spelling alone; they are taken for different classes."
        for spellings in alike.values()
        if len(spellings) > 1
    ]
    missing = [
        f"a class is named {name!r}; if that stands for no label, leave these rows out."
        for name in names
        if name.lower() in MISSING
    ]
    return written + missing


def _to_the_eye(name: str) -> str:
    """What names have in common that look alike: no capitals, no signs that are not seen, one form of each letter."""
    seen = "".join(sign for sign in unicodedata.normalize("NFKC", name) if unicodedata.category(sign) != "Cf")
    return " ".join(seen.casefold().split())


def _shown(name: str) -> str:
    """With escapes for signs that are not seen."""
    return repr(name) if name.isprintable() and _to_the_eye(name) == " ".join(name.casefold().split()) else ascii(name)


def _number(name: str) -> Decimal | None:
    with suppress(InvalidOperation):
        number = Decimal(name)
        return None if number.is_nan() else number
    return None


def in_order(names: set[str]) -> tuple[str, ...]:
    """By number where all are numbers, else by the alphabet; ``O``, the tag of no span, first."""
    numbers = {name: number for name in names if (number := _number(name)) is not None}
    if len(numbers) < len(names):
        return tuple(sorted(names, key=lambda name: (name != "O", name)))
    return tuple(sorted(names, key=lambda name: (numbers[name], name)))


def lonely(labels: Sequence[str]) -> list[str]:
    """The classes of one text alone."""
    return [name for name, count in Counter(labels).items() if count == 1]
