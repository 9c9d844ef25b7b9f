r"""The published search for adversarial attention (Jain & Wallace 2019, Algorithm 3), mostly without autograd.

The search starts from k attentions with random logits. Adam increases their JSD to the model's attention and to one another,
with a penalty if the TVD of the prediction is above epsilon. Gradients are computed by formulas; autograd is only needed for a
decoder that is not linear.

Legend: B batch, R restarts (k), T tokens, K classes, P pairs of distributions that are kept apart.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attest.core.measures import jensen_shannon, probabilities, total_variation
from attest.core.memory import by_rows
from attest.core.randomness import random_normals
from attest.models.observation import Observation

PENALTY = 500.0
NOISE = 3.0
LEARNING_RATE = 0.01
TENSORS_A_WEIGHT = 16
"""To estimate memory: how many numbers exist at once for each attention weight in each restart of the search: attention,
logits, gradients, the moments of Adam, and pairs of attentions."""


def search_adversaries(observation: Observation, restarts: int, steps: int, epsilon: float, seed: int) -> Tensor:
    """Search for attentions that differ much from the model's but move the prediction by at most ``epsilon``.

    Args:
        restarts: R, k in the paper: 5.
        steps: of Adam (amsgrad, learning rate 0.01): 500 in the paper.
        epsilon: TVD above it is punished; 0.01 in the paper.
        seed: with an instance's id it fixes that instance's starting points.
    Returns:
        Where the search ended, ``(B, R, T)``; rows sum to 1. Not all need satisfy the constraint.
    """
    rows = torch.arange(len(observation.ids), device=observation.ids.device)
    per_text = restarts * observation.mask.shape[-1] * observation.attention.element_size() * TENSORS_A_WEIGHT
    if observation.class_logits is None:
        per_text += 4 * restarts * observation.hidden[0].nbytes

    def search(rows: Tensor) -> Tensor:
        objective = SearchObjective(observation, rows, restarts, epsilon)
        logits = objective.starting_points(seed)
        optimizer = torch.optim.Adam([logits], lr=LEARNING_RATE, amsgrad=True, fused=True)
        for _ in range(steps):
            logits.grad = objective.gradient(logits)
            optimizer.step()
        return logits.softmax(dim=-1)

    return by_rows(search, per_text, rows)


def largest_jsd(observation: Observation, candidates: Tensor, epsilons: Sequence[float]) -> list[Tensor]:
    """Return the largest JSD ``(B,)`` of attentions that move the prediction by at most each epsilon; 0 if none does."""
    moved = total_variation(observation.probabilities_under(candidates), observation.probabilities.unsqueeze(1))
    jsd = jensen_shannon(candidates, observation.attention.unsqueeze(1))
    return [torch.where(moved <= epsilon, jsd, 0).amax(dim=-1) for epsilon in epsilons]


class SearchObjective:
    """The objective function that the search for adversarial attention minimises, with R restarts for each text."""

    def __init__(self, observation: Observation, rows: Tensor, restarts: int, epsilon: float) -> None:
        self.observation, self.rows, self.epsilon = observation, rows, epsilon
        self.ids, self.mask = observation.ids[rows], observation.mask[rows]
        self.attention, self.predicted = observation.attention[rows], observation.probabilities[rows]
        self.class_logits = None if observation.class_logits is None else observation.class_logits[rows]
        self.restarts = restarts
        self.pairs = Pairs.of(restarts, self.attention)

    def starting_points(self, seed: int) -> Tensor:
        """Draw the logits ``(B, R, T)`` from which the adversarial search starts: noise around uniform attention."""
        noise = random_normals(seed, self.ids, self.restarts, self.mask.shape[-1], self.attention.dtype)
        return (NOISE * noise).masked_fill(~self.mask.unsqueeze(1), -1e4)

    def gradient(self, logits: Tensor) -> Tensor:
        """Return the gradient of the adversarial search's loss with respect to R attention logits per token, ``(B, R, T)``."""
        log_weights = logits.log_softmax(dim=-1)
        weights = log_weights.exp()
        slope = self._penalty_slope(weights) - jsd_slope(weights, log_weights, self.attention, self.pairs)
        return weights * (slope - (weights * slope).sum(dim=-1, keepdim=True))

    def _penalty_slope(self, weights: Tensor) -> Tensor:
        if self.class_logits is None:
            return self._penalty_slope_by_autograd(weights)
        outcome = (weights @ self.class_logits).softmax(dim=-1)
        apart = outcome - self.predicted.unsqueeze(1)
        beyond = apart.abs().sum(dim=-1, keepdim=True) > 2 * self.epsilon
        slope = (0.5 * PENALTY * apart.sign()).mul_(beyond)
        slope = outcome * (slope - (outcome * slope).sum(dim=-1, keepdim=True))
        return slope @ self.class_logits.transpose(1, 2)

    @torch.enable_grad()
    def _penalty_slope_by_autograd(self, weights: Tensor) -> Tensor:
        weights = weights.detach().requires_grad_()
        hidden = self.observation.hidden.detach()[self.rows].repeat_interleave(weights.shape[1], dim=0)
        outcome = probabilities(self.observation.network.decode(hidden, weights.flatten(0, 1)))
        moved = total_variation(outcome, self.predicted.repeat_interleave(weights.shape[1], dim=0))
        return torch.autograd.grad(PENALTY * (moved - self.epsilon).relu().sum(), weights)[0]


class Pairs(NamedTuple):
    """The P pairs of attentions whose JSD the adversarial search increases, and the weight of each pair."""

    members: Tensor
    """float ``(P, R + 1)``: which two attentions each of P pairs consists of: 1 at these two, else 0. The columns are the
    attentions of the R restarts, and last the model's own attention."""
    shares: Tensor
    """float ``(R, P)``: the factor of each pair in the gradient of each restart: half the weight of the pair in the objective
    if the restart belongs to the pair, else 0. A pair with the model's attention has weight 1, a pair of two restarts 1 / (R
    (R - 1))."""
    alone: Tensor
    """float ``(R,)``: for each restart, the sum of its row of ``shares``."""

    @classmethod
    def of(cls, restarts: int, like: Tensor) -> "Pairs":
        """Return the pairs of R restarts with one another and with the model, in the dtype and on the device of ``like``."""
        first, second = torch.triu_indices(restarts + 1, restarts + 1, offset=1, device=like.device)
        everyone = torch.arange(restarts + 1, device=like.device)
        members = (everyone == first.unsqueeze(-1)) | (everyone == second.unsqueeze(-1))
        weight = torch.where(second == restarts, 1.0, 1 / max(1, restarts * (restarts - 1)))
        shares = (members[:, :restarts] * (0.5 * weight).unsqueeze(-1)).t().to(like)
        return cls(members.to(like), shares, shares.sum(dim=-1))


def jsd_slope(weights: Tensor, logits: Tensor, attention: Tensor, pairs: Pairs) -> Tensor:
    r"""Return the gradient of the adversarial search's JSD term with respect to attention weights, ``(B, R, ...)``.

    Each pair of attentions p and q adds :math:`\tfrac12 \log(p / (p + q))` and a constant. Constants have no effect, because
    the sum of the weights does not change.

    Args:
        weights, logits: ``(B, R, ...)``, of R restarts; the logits may be the logarithms of the weights.
        attention: ``(B, ...)``, the model's.
        pairs: of these restarts.
    """
    everyone = torch.cat([weights, attention.unsqueeze(1)], dim=1).flatten(2)
    log_sums = (pairs.members @ everyone).clamp_(min=torch.finfo(weights.dtype).tiny).log_()
    alone = pairs.alone.view(-1, *(1,) * (weights.ndim - 2))
    return alone * logits - (pairs.shares @ log_sums).view_as(weights)
