"""E3 inside layers, on a part of the test split."""

from attest.callbacks.layers.base import LayerEvidence
from attest.callbacks.split import Split
from attest.experiments.layers import layer_adversarial_attention


class LayerAdversarialAttention(LayerEvidence):
    """E3: other attention, same prediction; columns as in ``attest.experiments.layers.adversarial_search``.

    Each step of the search is a forward and a backward pass, so it is asked of a part of the test split: whole batches, one
    from each of equal stretches of the lengths. The table has the rows of these texts alone.

    Args:
        texts: about how many test texts.
        epsilon, filter_epsilon, restarts, steps: as in ``attest.experiments.layers.adversarial_search``.
    """

    id = "E3"
    experiment = staticmethod(layer_adversarial_attention)

    def __init__(
        self, texts: int = 64, epsilon: float = 0.01, filter_epsilon: float = 0.05, restarts: int = 2, steps: int = 200
    ) -> None:
        super().__init__(every_n_epochs=0, epsilon=epsilon, filter_epsilon=filter_epsilon, restarts=restarts, steps=steps)
        self.texts = texts

    def chosen(self, split: Split, batch_idx: int) -> bool:
        """One of each of equal stretches of the split."""
        return split.place_of(batch_idx) in split.part(self.texts)
