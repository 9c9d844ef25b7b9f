"""E1 at validation end and on the test split."""

from typing import Any

from pytorch_lightning import Trainer

from attest.callbacks.explaining import Explaining
from attest.experiments import Observation, feature_importance


class FeatureImportance(Explaining):
    """E1: rank correlation of attention with importance; columns as in ``attest.experiments.feature_importance``.

    Leave-one-out, which reads a text once a token, waits for the test split; at validation end gradients speak alone.
    """

    id = "E1"
    experiment = staticmethod(feature_importance)
    quadratic = "leave-one-out"

    def arguments(self, observation: Observation, trainer: Trainer) -> dict[str, Any]:
        return {"leave_one_out": bool(trainer.testing)}
