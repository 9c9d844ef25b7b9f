"""Callbacks for experiments on the attention inside the layers of Transformers."""

from attest.callbacks.experiment import (
    KeyShuffle,
    LayerActivationSwap,
    LayerAdversarialAttention,
    LayerEvidence,
    LayerExperiment,
    LayerIdentifiability,
    LayerPermutation,
    TagDecides,
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
    "LayerExperiment",
    "LayerIdentifiability",
    "LayerPermutation",
    "TagDecides",
    "TagErasure",
]
