"""A network in evaluation mode for as long as it is looked at."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def in_evaluation_mode(network: nn.Module) -> Iterator[None]:
    """Every part of the network, and back to how each was."""
    training = [module for module in network.modules() if module.training]
    network.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True
