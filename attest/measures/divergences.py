"""Distances between distributions; weights may be exactly zero, as in sparse attention and padding."""

import torch
from torch import Tensor


def class_logits(logits: Tensor) -> Tensor:
    """One logit a class: ``(..., C) -> (..., K)``; a single logit, of the positive class, is set beside a 0."""
    if logits.shape[-1] == 1:
        return torch.cat([torch.zeros_like(logits), logits], dim=-1)
    return logits


def probabilities(logits: Tensor) -> Tensor:
    """Predicted class probabilities.

    Args:
        logits: float ``(..., C)``; one logit stands for the positive class of a binary task.
    Returns:
        float ``(..., K)``, K = 2 for one sigmoid output and C otherwise; rows sum to 1.
    """
    return class_logits(logits).softmax(dim=-1)


def total_variation(p: Tensor, q: Tensor) -> Tensor:
    """TVD of output distributions, half the L1 distance: ``(..., K), (..., K) -> (...)`` in [0, 1].

    On the two classes of one sigmoid output this is |p - q|, the convention of Jain & Wallace's code; Wiegreffe & Pinter's
    code halves it.
    """
    return 0.5 * (p - q).abs().sum(dim=-1)


def jensen_shannon(p: Tensor, q: Tensor) -> Tensor:
    """JSD of attention distributions in nats: ``(..., T), (..., T) -> (...)`` in [0, ln 2].

    Written with the contrast (p - q) / (p + q), whose logarithms keep the digits of two nearly equal distributions. Zeros need
    no smoothing; the derivative at one is large and finite.
    """
    return jensen_shannon_terms(p, q).sum(dim=-1).clamp(min=0)


def jensen_shannon_terms(p: Tensor, q: Tensor) -> Tensor:
    """What each token contributes to the JSD: ``(..., T), (..., T) -> (..., T)``, at least 0 but for rounding."""
    finfo = torch.finfo(p.dtype)
    contrast = ((p - q) / (p + q).clamp(min=finfo.tiny)).clamp(finfo.eps - 1, 1 - finfo.eps)
    return 0.5 * (p * contrast.log1p() + q * (-contrast).log1p())
