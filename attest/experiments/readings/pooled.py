"""Readings of attention that pools: by the length of what it weights, by what that decides, by what goes missing without it.

Legend: B batch, T tokens, H hidden, C classes.
"""

from torch import Tensor

from attest.core.measures.divergences import cosine_distance
from attest.experiments.erasure_until_flip import attention_gradient
from attest.models.observation import Observation


def norm_weighted(observation: Observation) -> Tensor:
    r"""Length of what a token adds to the context, :math:`\lVert \alpha_i h_i \rVert` (Kobayashi et al. 2020), ``(B, T)``."""
    return observation.attention * observation.hidden.detach().norm(dim=-1)


def margin(observation: Observation) -> Tensor:
    """What a token adds to the margin of the predicted class over the mean of the others, α m, ``(B, T)``, signed.

    For decoders that are linear; of two classes it is their log-odds that the terms add up to.
    """
    assert observation.class_logits is not None
    logits = observation.class_logits
    predicted = logits.gather(-1, observation.predicted[:, None, None].expand(*logits.shape[:2], 1)).squeeze(-1)
    others = (logits.sum(dim=-1) - predicted) / (logits.shape[-1] - 1)
    return observation.attention * (predicted - others)


def attention_times_gradient(observation: Observation) -> Tensor:
    """Weight times the derivative of the predicted class's probability with respect to it, ``(B, T)``, signed."""
    return observation.attention * attention_gradient(observation)


def value_zeroing_pooled(observation: Observation) -> Tensor:
    """How far the context turns when a token's value is 0 and its weight as it was (Mohebbi et al. 2023), ``(B, T)``.

    Their cosine distance, 1 - cos, in [0, 2]: of the one vector that pooling makes.
    """
    terms = observation.attention.unsqueeze(-1) * observation.hidden.detach()
    context = terms.sum(dim=1, keepdim=True)
    return cosine_distance(context - terms, context)
