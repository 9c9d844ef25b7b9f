"""E8 inside layers, at validation end and on the test split."""

from attest.attention import Projection
from attest.callbacks.layers.base import LayerEvidence
from attest.experiments.layers import layer_activation_swap


class LayerActivationSwap(LayerEvidence):
    """E8: other projections in each layer; columns as in ``attest.experiments.layers.activation_swap``.

    Args:
        projections: to evaluate under, by name.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E8"
    experiment = staticmethod(layer_activation_swap)

    def __init__(self, projections: dict[str, Projection], every_n_epochs: int = 1, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances, projections=projections)
