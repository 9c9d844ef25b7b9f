"""E11 at validation end and on the test split."""

from attest.callbacks.evidence import Evidence
from attest.experiments import single_erasure


class SingleErasure(Evidence):
    """E11: the most attended token erased, or another; columns as in ``attest.experiments.single_erasure``.

    Args:
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E11"
    experiment = staticmethod(single_erasure)

    def __init__(self, every_n_epochs: int = 1, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances)
