"""E9, trained attacks on keys, on the test split."""

from pytorch_lightning import Trainer

from attest.callbacks.evidence import Batch, Columns
from attest.callbacks.layers.base import LayerEvidence
from attest.experiments.layers import LayerObservation
from attest.lightning_modules.key_adversary import Attacked


class KeyAttack(LayerEvidence):
    """E9: what a trained ``KeyAdversary`` does to every test text.

    Columns ``(B,)``: ``correct``, without attack; ``correct_attacked``, the decision under attack on the label it is scored
    on; ``flipped``, where the decision is another one; ``tvd_attacked`` of predictions; ``jsd_attacked`` of attention in nats,
    mean over rows of all layers, and ``_layer<l>`` of one; ``distance``, mean squared, of the keys.
    """

    id = "E9"

    def __init__(self) -> None:
        super().__init__(every_n_epochs=0)

    @property
    def methods(self) -> tuple[str, ...]:
        return (self.observes, "attacked")

    def measure(self, observation: LayerObservation, batch: Batch, trainer: Trainer) -> Columns:
        attacked: Attacked = self._running.observed(trainer.lightning_module, "attacked")
        columns = {
            "correct": observation.correct(self.labels(observation)),
            "correct_attacked": attacked.observation.correct(attacked.labels),
            "flipped": attacked.observation.predicted != observation.predicted,
            "tvd_attacked": attacked.observation.moved_from(observation),
            "distance": attacked.distance,
        }
        for suffix, layers in observation.scopes.items():
            columns[f"jsd_attacked{suffix}"] = attacked.observation.diverged_from(observation, layers)
        return columns
