"""Evidence inside the layers of Transformers: one small class an experiment, over ``attest.evidence.layers``.

``base.py`` says what they observe, one for all: the attention of every layer.
"""

from callbacks.layers.activation_swap import LayerActivationSwap
from callbacks.layers.adversarial_attention import LayerAdversarialAttention
from callbacks.layers.attention_maps import AttentionMaps, KeyAttackMaps
from callbacks.layers.base import LayerEvidence, observed_layers
from callbacks.layers.identifiability import LayerIdentifiability
from callbacks.layers.key_attack import AttackedInstances, KeyAttack
from callbacks.layers.key_shuffle import KeyShuffle
from callbacks.layers.permutation import LayerPermutation

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
    "observed_layers",
]
