"""E3 inside a Transformer: how different can the attention be if the prediction stays the same? (Jain & Wallace 2019.)

The published search, its objective summed over the rows of all heads.

Legend: R instances times restarts, N heads, T tokens.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from attest.core.attention import Softmax
from attest.core.attention.interventions import Intervention
from attest.core.memory import NEAR, by_rows
from attest.core.randomness import random_bits, random_normals
from attest.experiments.adversarial_search import LEARNING_RATE, NOISE, PENALTY, Pairs, jsd_slope
from attest.experiments.layers.tampering import keys_of_rows
from attest.experiments.sampling import Everyone, among, in_sample
from attest.experiments.spec import Inside
from attest.models.layers_observed import LayerObservation

COPIES = 24
"""To estimate memory: how many numbers exist at once for each attention weight in each restart of the search: logits, the
moments of Adam, and the autograd graph of a forward pass."""


def layer_adversarial_attention(
    observation: LayerObservation,
    everyone: Everyone,
    seed: int,
    texts: int = 16,
    epsilon: float = 0.01,
    filter_epsilon: float = 0.05,
    restarts: int = 1,
    steps: int = 100,
    each_layer: bool = False,
) -> dict[str, Tensor]:
    """Search, on sampled texts, for attention far from the model's that moves the prediction by at most ``epsilon``.

    Each step is a forward and a backward pass, so the defaults search little, and the result is a lower bound.

    Args:
        seed: chooses the sample and, with an instance's id, that instance's starting points.
        texts: size of the sample.
        epsilon: the largest TVD of the prediction, for a tagger as a mean over tokens; 0.01 in Jain & Wallace's paper.
        filter_epsilon: a second, larger limit of this TVD; their released code keeps results up to 0.05.
        restarts, steps: the number of starting points and of steps; 5 and 500 in the paper, for one attention of a text.
        each_layer: whether each layer is also searched alone; each costs as much as the search in all layers.
    Returns:
        ``jsd_search``, ``jsd_search_filter`` and ``max_attention``, ``(B,)``, as means over rows of all layers and, with
        ``_layer<l>``, of the l-th layer; a JSD is 0 if the search found nothing. All are NaN outside the sample; there are no
        columns if no text of the batch is in it.
    """
    sampled = in_sample(seed, observation.ids, everyone, texts).nonzero().flatten()
    if not len(sampled):
        return {}
    read = observation.rows(sampled)
    per_map = COPIES * restarts * next(iter(observation.attention.values()))[0].nbytes
    columns = {}
    for suffix, layers in observation.scopes.items():
        if suffix and not each_layer:
            continue

        def search(rows: Tensor, layers: list[str] = layers) -> Tensor:
            return _search(read.rows(rows), layers, (epsilon, filter_epsilon), restarts, steps, seed)

        found = by_rows(search, per_map * len(layers), torch.arange(len(sampled), device=sampled.device), budget=NEAR)
        columns[f"jsd_search{suffix}"], columns[f"jsd_search_filter{suffix}"] = found.unbind(dim=-1)
        columns[f"max_attention{suffix}"] = read.largest(layers)
    return {name: among(column, sampled, len(observation.ids)) for name, column in columns.items()}


def _search(
    observation: LayerObservation, layers: Sequence[str], epsilons: tuple[float, float], restarts: int, steps: int, seed: int
) -> Tensor:
    clean = observation.rows(torch.arange(len(observation.ids), device=observation.ids.device).repeat_interleave(restarts))
    logits = _starting_points(clean, layers, restarts, seed)
    optimizer = torch.optim.Adam(logits, lr=LEARNING_RATE, amsgrad=True, fused=True)
    pairs = Pairs.of(restarts, logits[0])
    for _ in range(steps):
        for each, gradient in zip(logits, _gradients(clean, layers, logits, pairs, epsilons[0]), strict=True):
            each.grad = gradient
        optimizer.step()
    with torch.no_grad():
        found = _tampered(clean, layers, _weights(clean, logits))
        moved, jsd = found.moved_from(clean), found.diverged_from(clean, layers)
        within = torch.stack([torch.where(moved <= epsilon, jsd, 0) for epsilon in epsilons], dim=-1)
    return within.unflatten(0, (-1, restarts)).amax(dim=1)


def _starting_points(clean: LayerObservation, layers: Sequence[str], restarts: int, seed: int) -> list[Tensor]:
    """Draw random attention logits ``(R, N, T, T)`` for each layer, from which the adversarial search starts."""
    restart_R = torch.arange(len(clean.ids), device=clean.ids.device) % restarts
    starts = []
    for layer in layers:
        place, weights = list(clean.attention).index(layer), clean.attention[layer]
        keys = keys_of_rows(seed, random_bits(seed, clean.ids, restart_R, torch.full_like(restart_R, place)), weights)
        noise = random_normals(seed, keys, 1, weights.shape[-1], weights.dtype)
        starts.append((NOISE * noise).view_as(weights))
    return starts


def _weights(clean: LayerObservation, logits: Sequence[Tensor]) -> list[Tensor]:
    softmax = Softmax()
    return [softmax(each, clean.places(each)) for each in logits]


def _tampered(clean: LayerObservation, layers: Sequence[str], weights: Sequence[Tensor]) -> LayerObservation:
    return clean.under(*(Intervention("weights", each, [layer]) for layer, each in zip(layers, weights, strict=True)))


@torch.no_grad()
def _gradients(
    clean: LayerObservation, layers: Sequence[str], logits: Sequence[Tensor], pairs: Pairs, epsilon: float
) -> Iterator[Tensor]:
    """Yield the gradient of the adversarial search's objective with respect to each layer's attention logits."""
    weights, restarts = _weights(clean, logits), len(pairs.alone)
    slopes = _penalty_slopes(clean, layers, weights, epsilon)
    for layer, logit, weight, slope in zip(layers, logits, weights, slopes, strict=True):
        of_weights, of_logits = (each.unflatten(0, (-1, restarts)) for each in (weight, logit))
        apart = jsd_slope(of_weights, of_logits, clean.attention[layer][::restarts], pairs).flatten(0, 1)
        apart.mul_(clean.rows_that_count(weight).unsqueeze(-1))
        total = apart.neg_() if slope is None else slope - apart
        yield total.sub_((weight * total).sum(dim=-1, keepdim=True)).mul_(weight)  # through the softmax


@torch.enable_grad()
def _penalty_slopes(
    clean: LayerObservation, layers: Sequence[str], weights: Sequence[Tensor], epsilon: float
) -> Sequence[Tensor | None]:
    """Return for each layer the gradient of the penalty for a TVD above ``epsilon``; None if no TVD is above."""
    leaves = [each.detach().requires_grad_() for each in weights]
    beyond = (_tampered(clean, layers, leaves).moved_from(clean) - epsilon).relu()
    if not beyond.any():
        return [None] * len(leaves)
    return torch.autograd.grad(PENALTY * beyond.sum(), leaves)


INSIDE = Inside("E3", layer_adversarial_attention, reads=("everyone", "seed"), samples=True, needs="attends_everywhere")
