"""The callbacks of Lightning that gather evidence in any ``Trainer`` and make runs resumable.

``evidence.py`` runs an experiment: it observes batches, gathers rows over ranks, logs means, and keeps the table or writes it
to the run folder. Each class of ``experiment.py`` names the function of an experiment and its options; ``Experiment`` runs any
function. ``running.py`` finds the instances of a batch, and lets callbacks share its observation. ``checkpoints.py`` makes
a run resumable, ``progress.py`` stores learning curves. Start at ``evidence.py``.
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
    WhatDecides,
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
    "WhatDecides",
]
