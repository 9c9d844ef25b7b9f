"""E12 at validation end and on the test split."""

from attest.callbacks.evidence import Evidence
from attest.experiments import erasure_until_flip


class ErasureUntilFlip(Evidence):
    """E12: weights erased until the decision flips; columns as in ``attest.experiments.erasure_until_flip``.

    Args:
        draws: random orders, averaged.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E12"
    experiment = staticmethod(erasure_until_flip)

    def __init__(self, draws: int = 5, every_n_epochs: int = 1, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances, draws=draws)
