"""Evidence inside the layers of Transformers: one small class for each experiment in ``attest.experiments.layers``.

``base.py`` says what they observe, one for all: the attention of every layer, by the module's ``observe_layers(batch)``.
"""

from attest.callbacks.layers.activation_swap import LayerActivationSwap
from attest.callbacks.layers.adversarial_attention import LayerAdversarialAttention
from attest.callbacks.layers.attention_maps import AttentionMaps, KeyAttackMaps
from attest.callbacks.layers.base import LayerEvidence
from attest.callbacks.layers.erasure import TagErasure
from attest.callbacks.layers.identifiability import LayerIdentifiability
from attest.callbacks.layers.key_attack import AttackedInstances, KeyAttack
from attest.callbacks.layers.key_shuffle import KeyShuffle
from attest.callbacks.layers.permutation import LayerPermutation

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
