"""E13 inside layers, on the test split."""

from attest.callbacks.layers.base import LayerEvidence
from attest.experiments.layers import layer_identifiability


class LayerIdentifiability(LayerEvidence):
    """E13: whether heads determine their attention; columns as in ``attest.experiments.layers.identifiability``.

    Args:
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E13"
    experiment = staticmethod(layer_identifiability)

    def __init__(self, every_n_epochs: int = 0, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances)
