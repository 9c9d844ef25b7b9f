"""The experiments on a Transformer whose attention is inside its layers alone, one observed batch after the other.

Those that tamper with attention do so in every layer together and in each alone. Those that ask which tokens matter ask it of
attention rollout, which leads from the decision down to the tokens.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from attest.core.attention import Entmax15, Projection, Softmax, Sparsemax
from attest.experiments.erasure.background import Background
from attest.experiments.erasure.tags import tag_erasure
from attest.experiments.importance_entropy import sample_of_ids
from attest.experiments.layers.activation_swap import layer_activation_swap
from attest.experiments.layers.adversarial_search import layer_adversarial_attention
from attest.experiments.layers.identifiability import layer_identifiability
from attest.experiments.layers.key_shuffle import key_shuffle
from attest.experiments.layers.knockout import knockout
from attest.experiments.layers.permutation import layer_permutation
from attest.models.layers_observed import LayerObservation

OF_ROLLOUT = ("E1", "E10", "E14", "E15")
"""Experiments that ask of an explanation of the text which tokens matter."""
PROJECTIONS: Mapping[str, Projection] = {"softmax": Softmax(), "sparsemax": Sparsemax(), "entmax15": Entmax15()}


def permuted(observation: LayerObservation, labels: Tensor, seed: int, permutations: int = 3) -> dict[str, Tensor]:
    """E2; columns and arguments as in ``layer_permutation``."""
    return layer_permutation(observation, permutations, seed, labels)


def searched(
    observation: LayerObservation,
    everyone: Tensor,
    seed: int,
    texts: int = 16,
    restarts: int = 1,
    steps: int = 100,
    each_layer: bool = False,
) -> dict[str, Tensor]:
    """E3 on a sample of the texts; columns as in ``layer_adversarial_attention``, NaN for all others.

    A large model takes minutes for what a small one does in seconds, so that the defaults search little: what is found is a
    lower bound.

    Args:
        observation: the batch.
        everyone: int64 ``(N,)``, the ids of all texts.
        seed: chooses the sample and the starting points.
        texts: of the sample; each step of the search is a forward and a backward pass.
        restarts, steps, each_layer: of the search.
    """
    rows = torch.isin(observation.ids, sample_of_ids(seed, everyone, texts)).nonzero().flatten()
    if not len(rows):
        return {}
    found = layer_adversarial_attention(
        observation.rows(rows), restarts=restarts, steps=steps, seed=seed, each_layer=each_layer
    )
    columns = {name: column.new_full(observation.ids.shape, torch.nan) for name, column in found.items()}
    for name, column in found.items():
        columns[name][rows] = column
    return columns


def swapped(
    observation: LayerObservation, labels: Tensor, projections: Mapping[str, Projection] = PROJECTIONS
) -> dict[str, Tensor]:
    """E8; columns and arguments as in ``layer_activation_swap``."""
    return layer_activation_swap(observation, projections, labels)


def keys_shuffled(observation: LayerObservation, labels: Tensor, seed: int, draws: int = 2) -> dict[str, Tensor]:
    """E9; columns and arguments as in ``key_shuffle``."""
    return key_shuffle(observation, draws, seed, labels)


def tags_erased(
    observation: LayerObservation,
    everyone: Tensor,
    seed: int,
    texts: int = 16,
    sets: int = 20,
    background: Background | None = None,
) -> dict[str, Tensor]:
    """E14 of a tagger, on a sample of the sentences; columns as in ``tag_erasure``.

    Args:
        observation: the batch.
        everyone: int64 ``(N,)``, the ids of all sentences.
        seed: chooses the sample, too.
        texts: of the sample.
        sets, background: as in ``tag_erasure``.
    """
    sampled = torch.isin(observation.ids, sample_of_ids(seed, everyone, texts))
    return tag_erasure(observation, sampled, seed, sets, background)


INSIDE: dict[str, Callable[..., dict[str, Tensor]]] = {
    "E2": permuted,
    "E3": searched,
    "E8": swapped,
    "E9": keys_shuffled,
    "E13": layer_identifiability,
    "E16": knockout,
}
"""By id; each takes a ``LayerObservation``, and by these names ``labels``, ``everyone`` and ``seed``."""
OF_TAGS: dict[str, Callable[..., dict[str, Tensor]]] = {"E14": tags_erased}
"""What else can be asked of a model that decides each token, likewise."""
TAMPERING = ("E3",)
"""Those that let tokens attend to one another which may not in a decoder."""
LOOKING_BACK = ("E16",)
"""Those that cut what the last token of a decoder attends to, and make sense nowhere else."""
