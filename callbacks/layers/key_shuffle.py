"""E9, shuffling, at validation end and on the test split."""

from attest.callbacks.layers.base import LayerEvidence
from attest.experiments.layers import key_shuffle


class KeyShuffle(LayerEvidence):
    """E9: keys permuted over tokens; columns as in ``attest.experiments.layers.key_shuffle``.

    Args:
        draws: shuffles per instance.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E9"
    experiment = staticmethod(key_shuffle)

    def __init__(self, draws: int = 5, every_n_epochs: int = 1, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances, draws=draws)
