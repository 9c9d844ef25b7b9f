"""The callbacks of Lightning that gather evidence in any ``Trainer`` and make runs resumable.

``evidence.py`` runs an experiment: it observes batches, gathers rows over ranks, logs, and keeps or writes the table. Each
class of ``experiment.py`` names the function that is run and its options; ``Experiment`` runs any function. ``running.py``
asks the trainer's loader about its instances, and shares the observation of a batch. ``checkpoints.py`` makes a run resumable,
``progress.py`` keeps learning curves. Start at ``evidence.py``.
"""

from attest.callbacks.evidence import Evidence
from attest.callbacks.experiment import (
    ActivationSwap,
    AdversarialAttention,
    AttentionPermutation,
    Erasure,
    ErasureUntilFlip,
    Experiment,
    FeatureImportance,
    Identifiability,
    ImportanceEntropy,
    SideBySide,
    SingleErasure,
)
from attest.callbacks.instances import Instances, TaggedInstances

__all__ = [
    "ActivationSwap",
    "AdversarialAttention",
    "AttentionPermutation",
    "Erasure",
    "ErasureUntilFlip",
    "Evidence",
    "Experiment",
    "FeatureImportance",
    "Identifiability",
    "ImportanceEntropy",
    "Instances",
    "SideBySide",
    "SingleErasure",
    "TaggedInstances",
]
