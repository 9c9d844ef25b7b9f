"""E2 at validation end and on the test split."""

from attest.callbacks.evidence import Evidence
from attest.experiments import attention_permutation


class AttentionPermutation(Evidence):
    """E2: random permutations of attention; columns as in ``attest.experiments.attention_permutation``.

    Args:
        permutations: per instance, 100 in the paper.
        every_n_epochs, validation_instances: as in ``Evidence``.
    """

    id = "E2"
    experiment = staticmethod(attention_permutation)

    def __init__(self, permutations: int = 100, every_n_epochs: int = 1, validation_instances: int = 256) -> None:
        super().__init__(every_n_epochs, validation_instances, permutations=permutations)
