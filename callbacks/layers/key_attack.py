"""E9, trained attacks on keys, on the test split."""

from dataclasses import replace

from pytorch_lightning import LightningModule, Trainer

from attest.callbacks.evidence import Batch, Columns, class_names
from attest.callbacks.layers.base import LayerEvidence
from attest.experiments.layers import LayerObservation
from attest.lightning_modules.key_adversary import Attacked
from attest.runs.folder import INSTANCES


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


class AttackedInstances(LayerEvidence):
    """The texts as they are decided under attack, so that two attacks can be compared text by text.

    ``label`` is the label that the attack is scored on, the other class for ``opposite``; ``predicted`` and
    ``probability_<class name>`` in [0, 1] are those under attack. There is no pooled attention here to show.
    """

    id = INSTANCES
    observes = "attacked"

    def __init__(self) -> None:
        super().__init__(every_n_epochs=0)

    def observe(self, pl_module: LightningModule, batch: Batch) -> LayerObservation:
        attacked: Attacked = super().observe(pl_module, batch)
        return replace(attacked.observation, labels=attacked.labels)

    def measure(self, observation: LayerObservation, batch: Batch, trainer: Trainer) -> Columns:
        names = class_names(trainer, observation.probabilities.shape[-1])
        return {f"probability_{name}": observation.probabilities[:, k] for k, name in enumerate(names)}
