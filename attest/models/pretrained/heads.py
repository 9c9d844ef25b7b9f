"""What the models of transformers decide, by the name of their class and their configuration."""

from typing import Any

from attest.core.kinds import CLASSES, KINDS, Kind
from attest.core.kinds.kind import OF_TEXTS

MULTI_LABEL, REGRESSION = "multi_label_classification", "regression"
"""Two values of ``problem_type`` in the configuration of a model: several labels for a text, or one number."""


def has_head(name: str) -> bool:
    """Return whether a class of models decides something by itself, by its name; a language model does not."""
    return name.endswith(tuple(kind.head for kind in KINDS.values() if kind.head is not None))


def is_of_texts(name: str) -> bool:
    """Return whether a class of models decides about a whole text, by its name."""
    return name.endswith(OF_TEXTS)


def kind_of_class(name: str) -> Kind:
    """Return what a class of models decides, by its name alone; one of whole texts is taken to choose a class."""
    others = (kind for kind in KINDS.values() if kind.head is not None and name.endswith(kind.head))
    return next((kind for kind in others if kind.head != OF_TEXTS), CLASSES)


def kind_of_model(name: str, config: Any) -> Kind:
    """Return what a model decides, by the name of its class and its configuration."""
    others = (kind for kind in KINDS.values() if kind != CLASSES and kind.head is not None and name.endswith(kind.head))
    return next((kind for kind in others if kind.configured(config)), CLASSES)


def kind_saved(config: Any) -> Kind:
    """Return what a saved model decides, by its configuration alone."""
    return kind_of_model(next(filter(has_head, config.architectures or ()), ""), config)
