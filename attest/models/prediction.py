"""The predictions of a network in the form that experiments compare: class probabilities, or one number.

A network that predicts one number, a regression or a reranker, has ``kind = NUMBER``, and its scale in the attribute
``number``. Experiments measure how far the prediction moves, in standard deviations of the predictions for all texts.

Legend: C logits, K classes.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from attest.core.kinds import CLASSES, Kind
from attest.core.measures import class_logits
from attest.core.rounding import rounding


@dataclass(frozen=True)
class OneNumber:
    """The standard deviation and the largest absolute value of the numbers that a network predicts.

    Args:
        deviation: the standard deviation of the predictions over the corpus; 1 as long as it is not known.
        largest: the largest absolute value among them.
    """

    deviation: float = 1.0
    largest: float = 1.0


def kind_of(network: Any) -> Kind:
    """Return what a network says that it decides; between classes if it says nothing."""
    said = getattr(network, "kind", None)  # anybody's network may have an attribute of this name
    return said if isinstance(said, Kind) else CLASSES


def says_number(network: Any) -> bool:
    """Return whether a network predicts one number for a text instead of classes."""
    return not kind_of(network).chooses


def logits_of_classes(network: Any, logits: Tensor) -> Tensor:
    """Return logits with one entry for each class, ``(..., K)``, also if the network gives one logit for two classes.

    If the network predicts a number, return this number, divided by the standard deviation of its predictions.
    """
    return logits / network.number.deviation if says_number(network) else class_logits(logits)


def predictions_of(network: Any, logits: Tensor) -> Tensor:
    """Convert a network's logits to class probabilities, or to one predicted number in standard deviations.

    Args:
        logits: float ``(..., C)``.
    Returns:
        Class probabilities ``(..., K)``, rows sum to 1; or the predicted number divided by ``number.deviation``, ``(..., 1)``.
    """
    found = logits_of_classes(network, logits)
    return found if says_number(network) else found.softmax(dim=-1)


def lead(classes: Tensor, predicted: Tensor) -> Tensor:
    """Return the logit of the predicted class minus the largest logit of any other class, ``(...)``."""
    own = predicted.expand(classes.shape[:-1]).unsqueeze(-1)
    return (classes.gather(-1, own) - classes.scatter(-1, own, -torch.inf).amax(dim=-1, keepdim=True)).squeeze(-1)


def rounding_of(network: Any, dtype: torch.dtype) -> float:
    """Return the largest difference between two predictions of a network that rounding alone can cause."""
    if not says_number(network):
        return rounding(dtype)
    return rounding(dtype) * max(1.0, network.number.largest / network.number.deviation)
