"""Callbacks: what happens to a model besides training.

``evidence.py`` runs an experiment in anyone's ``Trainer``: it observes batches, gathers rows over ranks, logs, and keeps or
writes the table. A class with the name that people look for says which function is run with which options; ``Experiment`` runs
any function. ``split.py`` asks the trainer's loader what is to be known of its instances, ``running.py`` shares what is
observed of a batch. ``checkpoints.py`` and ``curves.py`` make a run resumable and remember how training went. Start at
``evidence.py``.
"""

from attest.callbacks.activation_swap import ActivationSwap
from attest.callbacks.adversarial_attention import AdversarialAttention
from attest.callbacks.erasure import Erasure
from attest.callbacks.erasure_until_flip import ErasureUntilFlip
from attest.callbacks.evidence import Evidence
from attest.callbacks.experiment import Experiment
from attest.callbacks.feature_importance import FeatureImportance
from attest.callbacks.identifiability import Identifiability
from attest.callbacks.importance_entropy import ImportanceEntropy
from attest.callbacks.instances import Instances
from attest.callbacks.permutation import AttentionPermutation
from attest.callbacks.side_by_side import SideBySide
from attest.callbacks.single_erasure import SingleErasure
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
