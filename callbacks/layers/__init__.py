"""Callbacks for evidence inside the layers of Transformers; all observe by the module's ``observe_layers(batch)``."""

from attest.callbacks.experiment import (
    KeyShuffle,
    LayerActivationSwap,
    LayerAdversarialAttention,
    LayerEvidence,
    LayerExperiment,
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
    "LayerExperiment",
    "LayerIdentifiability",
    "LayerPermutation",
    "TagErasure",
]
