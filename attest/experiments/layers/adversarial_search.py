"""E3 inside a Transformer: how different an attention gives the same prediction? (Jain & Wallace 2019, Algorithm 3.)

The published search, its objective summed over the rows of all heads: each row is a distribution of its own. There is no exact
answer here, for what a layer puts out passes through all that follows. Legend: R instances times restarts, N heads, T tokens.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from attest.attention import Softmax
from attest.attention.interventions import Intervention
from attest.compute.memory import by_rows
from attest.compute.randomness import random_bits, random_normals
from attest.experiments.adversarial_search import LEARNING_RATE, NOISE, PENALTY
from attest.experiments.layers.observation import LayerObservation
from attest.experiments.layers.random_tampering import keys_of_rows

COPIES = 24
"""Numbers alive for each weight of attention and restart: logits, Adam's moments, and the autograd graph of a forward pass."""


def layer_adversarial_attention(
    observation: LayerObservation,
    epsilon: float = 0.01,
    filter_epsilon: float = 0.05,
    restarts: int = 2,
    steps: int = 200,
    seed: int = 0,
) -> dict[str, Tensor]:
    """Search for the attention farthest from the one on trial whose prediction moves by at most epsilon.

    Args:
        observation: the batch.
        epsilon: how far the prediction may move in TVD, of a tagger the mean over tokens; the paper says 0.01.
        filter_epsilon: how far it may have moved in the end; the released code keeps results up to 0.05.
        restarts, steps: of the search; the paper has 5 and 500 for one attention a text.
        seed: with an instance's id it fixes that instance's starting points.
    Returns:
        Per instance ``(B,)``, JSD in nats in [0, ln 2], mean over rows of all layers: ``jsd_search``, the largest within
        epsilon that the search found, 0 where it found none, and ``jsd_search_filter``, within filter_epsilon;
        ``max_attention``, the largest weight of a row, mean over rows. The same with ``_layer<l>``, the l-th layer alone.
    """
    everyone = torch.arange(len(observation.ids), device=observation.ids.device)
    per_map = COPIES * restarts * next(iter(observation.attention.values()))[0].nbytes
    columns = {}
    for suffix, layers in observation.scopes.items():

        def search(rows: Tensor, layers: list[str] = layers) -> Tensor:
            return _search(observation.rows(rows), layers, (epsilon, filter_epsilon), restarts, steps, seed)

        found = by_rows(search, per_map * len(observation.attention), everyone)
        columns[f"jsd_search{suffix}"], columns[f"jsd_search_filter{suffix}"] = found.unbind(dim=-1)
        columns[f"max_attention{suffix}"] = observation.largest(layers)
    return columns


def _search(
    observation: LayerObservation, layers: Sequence[str], epsilons: tuple[float, float], restarts: int, steps: int, seed: int
) -> Tensor:
    """The largest JSD within each epsilon, ``(B, 2)``."""
    clean = observation.rows(torch.arange(len(observation.ids), device=observation.ids.device).repeat_interleave(restarts))
    logits = _starting_points(clean, layers, restarts, seed)
    optimizer = torch.optim.Adam(logits, lr=LEARNING_RATE, amsgrad=True, fused=True)
    for _ in range(steps):
        with torch.enable_grad():
            objective = _objective(clean, layers, logits, restarts, epsilons[0])
        for each, gradient in zip(logits, torch.autograd.grad(objective, logits), strict=True):
            each.grad = gradient
        optimizer.step()
    with torch.no_grad():
        found = _tampered(clean, layers, logits)
        moved, jsd = found.moved_from(clean), found.diverged_from(clean, layers)
        within = torch.stack([torch.where(moved <= epsilon, jsd, 0) for epsilon in epsilons], dim=-1)
    return within.unflatten(0, (-1, restarts)).amax(dim=1)


def _starting_points(clean: LayerObservation, layers: Sequence[str], restarts: int, seed: int) -> list[Tensor]:
    """Uniform attention's logits plus noise, ``(R, N, T, T)`` of each layer."""
    restart_R = torch.arange(len(clean.ids), device=clean.ids.device) % restarts
    starts = []
    for layer in layers:
        place, weights = list(clean.attention).index(layer), clean.attention[layer]
        keys = keys_of_rows(seed, random_bits(seed, clean.ids, restart_R, torch.full_like(restart_R, place)), weights)
        noise = random_normals(seed, keys, 1, weights.shape[-1], weights.dtype)
        starts.append((NOISE * noise).view_as(weights).requires_grad_())
    return starts


def _tampered(clean: LayerObservation, layers: Sequence[str], logits: Sequence[Tensor]) -> LayerObservation:
    softmax, mask = Softmax(), clean.mask[:, None, None]
    return clean.under(
        *(Intervention("weights", softmax(each, mask), [layer]) for layer, each in zip(layers, logits, strict=True))
    )


def _objective(
    clean: LayerObservation, layers: Sequence[str], logits: Sequence[Tensor], restarts: int, epsilon: float
) -> Tensor:
    """- JSD to the attention on trial - JSD among restarts + penalty, summed over instances."""
    tampered = _tampered(clean, layers, logits)
    penalty = PENALTY * (tampered.moved_from(clean) - epsilon).relu().sum()
    apart = [_apart(tampered.attention[layer], clean.attention[layer], restarts, clean.mask) for layer in layers]
    return penalty - torch.stack(apart).sum()


def _apart(weights_RNTT: Tensor, original_RNTT: Tensor, restarts: int, mask: Tensor) -> Tensor:
    """JSD to the original plus 1 / (k (k - 1)) of that of every pair of restarts, summed over real rows."""
    real_RNTT = mask[:, None, None] & mask[:, None, :, None]
    to_original = _divergence(weights_RNTT, original_RNTT, real_RNTT)
    if restarts == 1:
        return to_original
    first, second = torch.triu_indices(restarts, restarts, offset=1, device=mask.device)
    weights_BkNTT = weights_RNTT.unflatten(0, (-1, restarts))
    among = _divergence(weights_BkNTT[:, first], weights_BkNTT[:, second], real_RNTT[::restarts].unsqueeze(1))
    return to_original + among / (restarts * (restarts - 1))


def _divergence(p: Tensor, q: Tensor, real: Tensor) -> Tensor:
    """JSD summed over all rows, with a gradient in p and q that is finite where sparse attention is 0, and 0 at padding."""
    p, q = (torch.where(real, each, 1) for each in (p.clamp(min=torch.finfo(p.dtype).tiny), q))
    mean = 0.5 * (p + q)
    return 0.5 * (torch.xlogy(p, p) + torch.xlogy(q, q) - 2 * torch.xlogy(mean, mean)).sum()
