"""Evidence inside the layers of Transformers: one small class for each experiment in ``attest.experiments.layers``.

``base.py`` says what they observe, one for all: the attention of every layer, by the module's ``observe_layers(batch)``.
"""

from attest.callbacks.experiment import (
    KeyShuffle,
    LayerActivationSwap,
    LayerAdversarialAttention,
    LayerEvidence,
    LayerIdentifiability,
    LayerPermutation,
    TagErasure,
)
from attest.callbacks.instances import AttackedInstances, AttentionMaps, KeyAttack, KeyAttackMaps

__all__ = [
    "AttackedInstances",
    "AttentionMaps",
    "KeyAttack",
    "KeyAttackMaps",
    "KeyShuffle",
    "LayerActivationSwap",
    "LayerAdversarialAttention",
    "LayerEvidence",
    "LayerIdentifiability",
    "LayerPermutation",
    "TagErasure",
]
