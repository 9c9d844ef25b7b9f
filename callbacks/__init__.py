"""Callbacks: what happens to a model besides training.

``evidence.py`` runs an experiment in anyone's ``Trainer``: it observes batches, gathers rows over ranks, logs, and keeps or
writes the table. A class with the name that people look for says which function is run with which options; ``Experiment`` runs
any function. ``split.py`` asks the trainer's loader what is to be known of its instances, ``running.py`` shares what is
observed of a batch. ``checkpoints.py`` and ``curves.py`` make a run resumable and remember how training went. Start at
``evidence.py``.
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
from attest.callbacks.instances import Instances
from attest.callbacks.tagged import TaggedInstances

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
