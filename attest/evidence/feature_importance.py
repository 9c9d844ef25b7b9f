"""E1: does attention rank the tokens as feature importance ranks them? (Jain & Wallace 2019, Algorithm 1.)"""

import torch
from torch import Tensor

from attest.evidence.observation import Observation
from attest.measures import kendall_tau_b, probabilities


def feature_importance(observation: Observation) -> dict[str, Tensor]:
    """Correlate attention with gradients of the predicted probability with respect to the embedded input.

    Returns:
        Per token ``(B, T)``: ``gradient_inputs``, ``gradient_norm_inputs``. Per instance ``(B,)``, float64, NaN where
        undefined: for each of the two, ``tau_<importance>`` in [-1, 1], ``significant_…`` (p < 0.05), its
        ``ceiling_…`` (the largest |tau| that ties allow) and ``ratio_…`` = tau / ceiling.
    """
    importances = {
        "gradient_inputs": gradient_times_input(observation),
        "gradient_norm_inputs": gradient_norm(observation),
    }
    columns: dict[str, Tensor] = dict(importances)
    for name, importance in importances.items():
        correlation = kendall_tau_b(observation.attention, importance, observation.mask)
        columns[f"tau_{name}"] = correlation.tau
        columns[f"significant_{name}"] = correlation.significant
        columns[f"ceiling_{name}"] = correlation.ceiling
        columns[f"ratio_{name}"] = correlation.tau / correlation.ceiling
    return columns


def gradient_times_input(observation: Observation) -> Tensor:
    r"""Jain & Wallace's :math:`g_t = |\langle \partial \hat y / \partial e_t, e_t \rangle|`, attention held constant, ``(B, T)``.

    The probability is the predicted class's; for one sigmoid output both classes have the same absolute gradient.
    """
    logits = observation.network.decode(observation.hidden, observation.attention)
    gradient = _gradient_of_prediction(observation, logits)
    return (gradient * observation.embedded.detach()).sum(dim=-1).abs()


def gradient_norm(observation: Observation) -> Tensor:
    r"""Meister et al.'s (eq. 4) :math:`\lVert \partial \hat y / \partial X_t \rVert_2`, normalised over tokens, ``(B, T)``.

    It flows through the attention too. A text on which every gradient vanishes gives zeros.
    """
    norms = _gradient_of_prediction(observation, observation.logits).norm(dim=-1).masked_fill(~observation.mask, 0)
    total = norms.sum(dim=-1, keepdim=True)
    return norms / torch.where(total > 0, total, 1.0)


def _gradient_of_prediction(observation: Observation, logits: Tensor) -> Tensor:
    with torch.backends.cudnn.flags(enabled=False):
        predicted = probabilities(logits).gather(-1, observation.predicted.unsqueeze(-1))
        (gradient,) = torch.autograd.grad(predicted.sum(), observation.embedded, retain_graph=True)
    return gradient
