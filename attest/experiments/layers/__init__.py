"""The experiments on attention inside the layers of a Transformer.

In: an observed forward pass with the attention of every layer. Out: columns with one row per instance, of all layers
together and, with ``_layer<l>``, of each alone. ``attest.core.attention.interventions`` does the tampering, and the pass is
run again from the first tampered layer on, so that later layers feel it. Start at ``attest/models/layers_observed.py``.
"""

from attest.experiments.layers.activation_swap import layer_activation_swap
from attest.experiments.layers.adversarial_search import layer_adversarial_attention
from attest.experiments.layers.heads import head_ablation, passes_a_text
from attest.experiments.layers.identifiability import layer_identifiability
from attest.experiments.layers.key_shuffle import key_shuffle, with_shuffled_keys
from attest.experiments.layers.permutation import layer_permutation
from attest.experiments.layers.rollout import attention_maps, attention_rollout, read_from_layers, where_rollout_begins
from attest.experiments.layers.switching import head_means
from attest.experiments.layers.tampering import clean_keys, replacing_keys
from attest.models.layers_observed import LayerObservation, observe_layers

__all__ = [
    "LayerObservation",
    "attention_maps",
    "attention_rollout",
    "clean_keys",
    "head_ablation",
    "head_means",
    "key_shuffle",
    "layer_activation_swap",
    "layer_adversarial_attention",
    "layer_identifiability",
    "layer_permutation",
    "observe_layers",
    "passes_a_text",
    "read_from_layers",
    "replacing_keys",
    "where_rollout_begins",
    "with_shuffled_keys",
]
