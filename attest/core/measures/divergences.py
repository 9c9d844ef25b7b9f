"""Distances between distributions, in which weights may be exactly 0."""

import torch
from torch import Tensor
from torch.nn import functional


def class_logits(logits: Tensor) -> Tensor:
    """Return one logit per class, ``(..., C) -> (..., K)``; a single logit belongs to class 1, and class 0 gets 0."""
    if logits.shape[-1] == 1:
        return torch.cat([torch.zeros_like(logits), logits], dim=-1)
    return logits


def probabilities(logits: Tensor) -> Tensor:
    """Compute class probabilities ``(..., K)`` from logits ``(..., C)``; one logit gives two classes."""
    return class_logits(logits).softmax(dim=-1)


def total_variation(p: Tensor, q: Tensor) -> Tensor:
    """Compute the total variation distance (TVD) of class probabilities: ``(..., K), (..., K) -> (...)`` in [0, 1].

    On the two classes of one sigmoid output this is |p - q|, the convention of Jain & Wallace's code; Wiegreffe & Pinter's
    code halves it.
    """
    return 0.5 * (p - q).abs().sum(dim=-1)


def movement(p: Tensor, q: Tensor) -> Tensor:
    """Compute the change of a prediction: TVD for class probabilities, absolute difference for a single number.

    Args:
        p, q: as ``attest.models.prediction.predictions_of`` returns them.
    Returns:
        ``(...)``: in [0, 1] for classes; for a single number at least 0, in standard deviations of the predicted number.
    """
    return total_variation(p, q) if p.shape[-1] > 1 else (p - q).abs().squeeze(-1)


def jensen_shannon(p: Tensor, q: Tensor) -> Tensor:
    """Compute the Jensen-Shannon divergence (JSD) of two attentions in nats: ``(..., T), (..., T) -> (...)`` in [0, ln 2].

    Weights of 0 need no smoothing; the derivative at a weight of 0 is large and finite.
    """
    return jensen_shannon_terms(p, q).sum(dim=-1).clamp(min=0)


def jensen_shannon_terms(p: Tensor, q: Tensor) -> Tensor:
    """Compute how much each token adds to the JSD of two attentions: ``(..., T), (..., T) -> (..., T)``."""
    finfo = torch.finfo(p.dtype)  # the logarithms of the contrast keep the digits of nearly equal distributions
    contrast = ((p - q) / (p + q).clamp(min=finfo.tiny)).clamp(finfo.eps - 1, 1 - finfo.eps)
    return 0.5 * (p * contrast.log1p() + q * (-contrast).log1p())


def cosine_distance(a: Tensor, b: Tensor) -> Tensor:
    """Compute one minus the cosine of two vectors: ``(..., H), (..., H) -> (...)`` in [0, 2]; 1 if a vector is 0.

    It is computed as half the squared distance of the unit vectors, which is precise even for nearly equal directions.
    """
    apart = 0.5 * (functional.normalize(a, dim=-1) - functional.normalize(b, dim=-1)).square().sum(dim=-1)
    known = (a != 0).any(dim=-1) & (b != 0).any(dim=-1)
    return apart.where(known, torch.ones_like(apart))


def normalised_entropy(weights: Tensor, mask: Tensor) -> Tensor:
    r"""Compute the Shannon entropy of weights as a share of the largest possible entropy, :math:`\log n` for n tokens.

    Args:
        weights: float ``(..., T)``, not negative at real tokens.
        mask: bool, broadcastable to ``(..., T)``, True at real tokens.
    Returns:
        ``(...)`` in [0, 1]; NaN for one token and for weights that are all zero.
    """
    weights = weights.masked_fill(~mask, 0)
    n = mask.expand(weights.shape).sum(dim=-1)
    p = weights / weights.sum(dim=-1, keepdim=True)
    entropy = -torch.xlogy(p, p).sum(dim=-1) / n.to(weights.dtype).log()
    return torch.where(n > 1, entropy.clamp(0, 1), torch.nan)


SMOOTHING = 0.01
"""The share of the uniform distribution that is mixed into both distributions before the smoothed KL divergence is computed.
For T tokens the divergence is then at most ln(T / 0.01), and never infinite."""


def kullback_leibler(p: Tensor, q: Tensor) -> Tensor:
    r"""Compute :math:`KL(p \| q) = \sum p \log (p / q)` in nats, ``(..., T), (..., T) -> (...)``, at least 0.

    Where p is 0 its term is 0. Infinite where q is 0 and p is not.
    """
    return kullback_leibler_terms(p, q).sum(dim=-1).clamp(min=0)


def kullback_leibler_terms(p: Tensor, q: Tensor) -> Tensor:
    """Compute how much each token adds to KL(p || q): ``(..., T), (..., T) -> (..., T)``; 0 where p is 0."""
    there = p > 0
    return torch.where(there, p * (_log(p, there) - _log(q, there)), 0.0)


def smoothed_kullback_leibler(p: Tensor, q: Tensor, mask: Tensor) -> Tensor:
    """Compute a finite KL(p || q): one percent of the uniform distribution is first mixed into p and q.

    Args:
        p, q: ``(..., T)``, 0 at padding.
        mask: bool, broadcastable to ``(..., T)``, True at real tokens; at least one in each row.
    """
    real = mask.to(p.dtype)
    uniform = real / real.sum(dim=-1, keepdim=True)
    return kullback_leibler(*((1 - SMOOTHING) * each + SMOOTHING * uniform for each in (p, q)))


def _log(values: Tensor, where: Tensor) -> Tensor:
    """Return the logarithm of each value where ``where`` is True, else 0; gradients are never NaN."""
    return torch.where(where, values, 1.0).log()
