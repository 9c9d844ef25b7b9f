"""Importance by gradients of the predicted probability.

The probability is the predicted class's; of one sigmoid output both classes have the same absolute gradient. Jain & Wallace
hold attention constant, Meister et al. let the gradient flow through it. Where sentences stand for tokens, a sentence's input
is that of all its words.
"""

import torch
from torch import Tensor

from attest.core.measures import probabilities
from attest.models.observation import Observation, cached_per_batch


@cached_per_batch
@torch.enable_grad()
def gradient_times_input(observation: Observation) -> Tensor:
    r"""Jain & Wallace's :math:`g_t = |\langle \partial \hat y / \partial e_t, e_t \rangle|`, attention constant, ``(B, T)``.

    They normalise it to sum 1 over a text, which no rank correlation sees; here it is as it comes.
    """
    logits = observation.network.decode(observation.hidden, observation.attention)
    (gradient,) = _gradients_of_prediction(observation, logits, observation.embedded)
    return (gradient * observation.embedded.detach()).flatten(2).sum(dim=-1).abs()


def gradient_norm_inputs(observation: Observation) -> Tensor:
    r"""Meister et al.'s (eq. 4) :math:`\lVert \partial \hat y / \partial X_t \rVert_2`, normalised over tokens, ``(B, T)``."""
    return _normalised_norms(gradients_through_attention(observation)[0], observation.mask)


def gradient_norm_hidden(observation: Observation) -> Tensor:
    r"""The same of hidden states, :math:`\lVert \partial \hat y / \partial h_t \rVert_2`, normalised, ``(B, T)``.

    Through the attention too: were it held constant under a linear decoder, the norm would be proportional to the attention
    and agree with it by construction.
    """
    return _normalised_norms(gradients_through_attention(observation)[1], observation.mask)


@cached_per_batch
def gradients_through_attention(observation: Observation) -> tuple[Tensor, ...]:
    """Of the predicted class's probability with respect to embedded input and hidden states, ``(B, T, E)``, ``(B, T, H)``."""
    return _gradients_of_prediction(observation, observation.logits, observation.embedded, observation.hidden)


@torch.enable_grad()
def _gradients_of_prediction(observation: Observation, logits: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
    with torch.backends.cudnn.flags(enabled=False):
        predicted = probabilities(logits).gather(-1, observation.predicted.unsqueeze(-1))
        return torch.autograd.grad(predicted.sum(), inputs, retain_graph=True)


def _normalised_norms(gradient: Tensor, mask: Tensor) -> Tensor:
    """L2 norms that sum to 1 over each text, 0 at padding; all 0 where every gradient vanishes."""
    norms = gradient.flatten(2).norm(dim=-1).masked_fill(~mask, 0)
    total = norms.sum(dim=-1, keepdim=True)
    return norms / torch.where(total > 0, total, 1.0)
