"""Callbacks: what happens to a model besides training.

``evidence.py`` is the base of every experiment: it observes batches, gathers rows over ranks, logs and writes; one small
class an experiment says what is particular to it. ``checkpoints.py`` and ``curves.py`` make a run resumable and remember
how training went. Start at ``evidence.py``.
"""

from callbacks.activation_swap import ActivationSwap
from callbacks.adversarial_attention import AdversarialAttention
from callbacks.erasure_until_flip import ErasureUntilFlip
from callbacks.evidence import Evidence
from callbacks.feature_importance import FeatureImportance
from callbacks.identifiability import Identifiability
from callbacks.importance_entropy import ImportanceEntropy
from callbacks.instances import Instances
from callbacks.permutation import AttentionPermutation
from callbacks.single_erasure import SingleErasure
from callbacks.tagged import TaggedInstances

__all__ = [
    "ActivationSwap",
    "AdversarialAttention",
    "AttentionPermutation",
    "ErasureUntilFlip",
    "Evidence",
    "FeatureImportance",
    "Identifiability",
    "ImportanceEntropy",
    "Instances",
    "SingleErasure",
    "TaggedInstances",
]
