"""E2 inside layers, on the test split."""

from attest.callbacks.layers.base import LayerEvidence
from attest.experiments.layers import layer_permutation


class LayerPermutation(LayerEvidence):
    """E2: rows of attention permuted; columns as in ``attest.experiments.layers.permutation``.

    Args:
        permutations: per instance; each costs a forward pass for every layer and one for all.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E2"
    experiment = staticmethod(layer_permutation)

    def __init__(self, permutations: int = 10, every_n_epochs: int = 0, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances, permutations=permutations)
