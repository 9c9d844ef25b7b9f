"""Readings by gradients of the predicted class's probability with respect to the embedded input, signed.

Legend: B batch, T tokens, E embedding.
"""

import numpy as np
import torch
from torch import Tensor

from attest.core.measures import probabilities
from attest.core.memory import by_rows
from attest.experiments.erasure.soft import logits_of, of_predicted_class, reading_embedded
from attest.experiments.gradients import gradients_through_attention
from attest.experiments.leave_one_out import ACTIVATIONS
from attest.models.observation import Observation, cached_per_batch

STEPS, MOST = (20, 40, 80, 160), 0.01
"""Points of the path: more for texts whose sum is further than a tenth of the second from what it should be, as long as they
help; and how far it may be. On SST the attributions of 20 and 200 points differ by at most 0.0005 of the largest."""


def gradient_times_input(observation: Observation) -> Tensor:
    r"""Towards the predicted class, :math:`\langle \partial \hat y / \partial e_t, e_t \rangle`, through the attention too."""
    gradient = gradients_through_attention(observation)[0]
    return (gradient * observation.embedded.detach()).flatten(2).sum(dim=-1)


def integrated_gradients(observation: Observation) -> Tensor:
    """Integrated gradients (Sundararajan et al. 2017) from embeddings of 0, by Gauss-Legendre quadrature, ``(B, T)``.

    They add up to the prediction minus that of the baseline, where the boundaries of a text, which are no tokens, stay. NaN
    for texts of which they do not, to 0.01: at embeddings of 0 some networks jump, as all do that begin by scaling each
    embedding to one length (RMSNorm), and no number of points sees that.
    """
    values, gap = _integrated(observation)
    return values.masked_fill((gap > MOST).unsqueeze(-1), torch.nan).masked_fill(~observation.mask, 0)


def completeness_gap(observation: Observation) -> Tensor:
    """How far the sum of integrated gradients is from what it should be, in probability, ``(B,)``; also where it is large."""
    return _integrated(observation)[1]


@cached_per_batch
def _integrated(observation: Observation) -> tuple[Tensor, Tensor]:
    """Attributions ``(B, T)``, with those of padding and of questions, and the gap ``(B,)``."""
    before = of_predicted_class(observation, observation.probabilities)
    expected = before - reading_embedded(observation, torch.zeros_like(observation.embedded))
    values = torch.zeros_like(observation.embedded.detach().flatten(2).sum(dim=-1))
    gap = torch.full_like(expected, torch.inf)
    rows = torch.arange(len(expected), device=expected.device)
    for steps in STEPS:
        values[rows] = along_the_path(observation, rows, steps)
        last, now = gap[rows], (expected - values.sum(dim=-1)).abs()[rows]
        gap[rows] = now
        rows = rows[(now > MOST / 10) & ((now - last).abs() > now / 10)]
        if not len(rows):
            break
    return values, gap


def along_the_path(observation: Observation, texts: Tensor, steps: int) -> Tensor:
    """Return the attributions of some texts, int64 ``(N,)`` rows of the batch, by so many points, ``(N, T)``."""
    embedded = observation.embedded.detach()
    points, shares = (torch.tensor(each).to(embedded) for each in _gauss_legendre(steps))

    def of_points(rows: Tensor, point: Tensor) -> Tensor:
        gradient = _gradient_at(observation, rows, point.view(-1, *(1,) * (embedded.ndim - 1)))
        return (gradient * embedded[rows]).flatten(2).sum(dim=-1)

    per_point = embedded[0].nbytes * 4 + ACTIVATIONS * observation.hidden[0].nbytes * 2
    slopes = by_rows(of_points, per_point, texts.repeat_interleave(steps), points.repeat(len(texts)))
    return (slopes.unflatten(0, (-1, steps)) * shares[:, None]).sum(dim=1)


def _gauss_legendre(steps: int) -> tuple[list[float], list[float]]:
    """Points in (0, 1) and their shares, which sum to 1."""
    points, shares = np.polynomial.legendre.leggauss(steps)
    return ((points + 1) / 2).tolist(), (shares / 2).tolist()


@torch.enable_grad()
def _gradient_at(observation: Observation, rows: Tensor, point: Tensor) -> Tensor:
    embedded = (point * observation.embedded.detach()[rows]).requires_grad_()
    with torch.backends.cudnn.flags(enabled=False):
        logits = logits_of(observation.network, observation.tokens[rows], observation.mask[rows], embedded)
        predicted = probabilities(logits).gather(-1, observation.predicted[rows].unsqueeze(-1))
        return torch.autograd.grad(predicted.sum(), embedded)[0]
