"""What the models of transformers decide, by the name of their class and their configuration."""

from typing import Any

from attest.core.kinds import CHOICE, CLASSES, LABELS, NUMBER, SPANS, TAGS, Kind

TEXTS = "ForSequenceClassification"
BY_ENDING = {TEXTS: CLASSES, "ForTokenClassification": TAGS, "ForMultipleChoice": CHOICE, "ForQuestionAnswering": SPANS}
"""The kind of decision of a transformers model (classes, tags, choices or spans), by the end of the name of its class."""
MULTI_LABEL, REGRESSION = "multi_label_classification", "regression"
"""Two values of ``problem_type`` in the configuration of a model: several labels for a text, or one number."""


def has_head(name: str) -> bool:
    """Return whether a class of models decides something by itself, by its name; a language model does not."""
    return name.endswith((*BY_ENDING,))


def is_of_texts(name: str) -> bool:
    """Return whether a class of models decides about a whole text, by its name."""
    return name.endswith(TEXTS)


def kind_of_class(name: str) -> Kind:
    """Return what a class of models decides, by its name."""
    return next((kind for ending, kind in BY_ENDING.items() if name.endswith(ending)), CLASSES)


def kind_of_model(name: str, config: Any) -> Kind:
    """Return what a model decides, by the name of its class and its configuration."""
    kind = kind_of_class(name)
    if kind != CLASSES:
        return kind
    if config.problem_type == MULTI_LABEL:
        return LABELS
    return NUMBER if config.num_labels == 1 and config.problem_type in (None, REGRESSION) else CLASSES


def kind_saved(config: Any) -> Kind:
    """Return what a saved model decides, by its configuration alone."""
    return kind_of_model(next(filter(has_head, config.architectures or ()), ""), config)
