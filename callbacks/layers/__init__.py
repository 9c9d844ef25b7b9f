"""Evidence inside the layers of Transformers: one small class an experiment, over ``attest.evidence.layers``.

``base.py`` says what they observe, one for all: the attention of every layer.
"""

from callbacks.layers.activation_swap import LayerActivationSwap
from callbacks.layers.base import LayerEvidence, observed_layers
from callbacks.layers.key_shuffle import KeyShuffle
from callbacks.layers.permutation import LayerPermutation

__all__ = ["KeyShuffle", "LayerActivationSwap", "LayerEvidence", "LayerPermutation", "observed_layers"]
