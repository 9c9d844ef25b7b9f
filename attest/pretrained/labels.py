"""The labels of a data file as classes of a model that was trained elsewhere."""

from collections.abc import Sequence
from typing import Any

from attest.errors import AttestError

SHOWN = 5


def class_names(config: Any) -> list[str]:
    """The classes of a model of transformers, in class order."""
    return [str(config.id2label[number]) for number in range(config.num_labels)]


def tags_as_classes(tags: Sequence[Sequence[str]], names: Sequence[str], order: Sequence[str] = ()) -> list[list[int]]:
    """The classes of the words of each text; as ``as_classes``."""
    flat = iter(as_classes([tag for text in tags for tag in text], names, order))
    return [[next(flat) for _ in text] for text in tags]


def as_classes(labels: Sequence[str], names: Sequence[str], order: Sequence[str] = ()) -> list[int]:
    """The class of each label: by name, whatever its case; or by number; or in an order that was stated.

    Args:
        labels: of the texts.
        names: of the model's classes, in class order.
        order: which label is class 0, 1, …; empty for none.
    Raises:
        AttestError: a label is no class, or the order is not one of so many labels.
    """
    if order and len(order) != len(names):
        raise AttestError(
            f"--labels names {len(order)} labels for {len(names)} classes ({', '.join(names)}); expected one for each class, "
            "in this order. Type for example: --labels negative,positive"
        )
    known = {name.lower(): number for number, name in enumerate(order or names)}
    numbers = {str(number): number for number in range(len(names))}
    classes = known if {label.lower() for label in labels} <= known.keys() or order else numbers
    if unknown := sorted({label for label in labels if label.lower() not in classes}):
        raise AttestError(
            f"the data have the labels {', '.join(unknown[:SHOWN])}, and the model the classes {', '.join(names)}; expected "
            f"the same names, or numbers from 0 to {len(names) - 1}. Say which label is which class, in the order of the "
            "classes: --labels negative,positive"
        )
    return [classes[label.lower()] for label in labels]
