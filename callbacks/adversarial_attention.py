"""E3 at validation end and on the test split."""

from typing import Any

from pytorch_lightning import Trainer

from attest.callbacks.evidence import Evidence
from attest.experiments import Observation, adversarial_attention


class AdversarialAttention(Evidence):
    """E3: the most different attention with the same prediction; columns as in ``attest.experiments.adversarial_attention``.

    The search waits for the test split; at validation end the exact answer, which is nearly free, speaks alone.

    Args:
        epsilon, filter_epsilon: as in ``attest.experiments.adversarial_attention``.
        restarts, steps: of the published search; 0 restarts leave it out.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E3"
    experiment = staticmethod(adversarial_attention)
    quadratic = "the exact adversary"

    def __init__(
        self,
        epsilon: float = 0.01,
        filter_epsilon: float = 0.05,
        restarts: int = 5,
        steps: int = 500,
        every_n_epochs: int = 1,
        validation_instances: int = 256,
    ) -> None:
        of_search = {"restarts": restarts, "steps": steps}
        super().__init__(every_n_epochs, validation_instances, epsilon=epsilon, filter_epsilon=filter_epsilon, **of_search)

    def arguments(self, observation: Observation, trainer: Trainer) -> dict[str, Any]:
        return super().arguments(observation, trainer) | ({} if trainer.testing else {"restarts": 0})
