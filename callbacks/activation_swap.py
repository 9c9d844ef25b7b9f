"""E8 at validation end and on the test split."""

from attest.attention import Projection
from attest.callbacks.evidence import Evidence
from attest.experiments import activation_swap


class ActivationSwap(Evidence):
    """E8: the trained model under other projections; columns as in ``attest.experiments.activation_swap``.

    Args:
        projections: to evaluate under, by name.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E8"
    experiment = staticmethod(activation_swap)

    def __init__(self, projections: dict[str, Projection], every_n_epochs: int = 1, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances, projections=projections)
