"""E13 on the test split."""

from attest.callbacks.evidence import Evidence
from attest.experiments import identifiability


class Identifiability(Evidence):
    """E13: whether the outcome determines the attention; columns as in ``attest.experiments.identifiability``.

    Args:
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E13"
    experiment = staticmethod(identifiability)

    def __init__(self, every_n_epochs: int = 0, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances)
