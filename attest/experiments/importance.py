"""Importance of tokens: by gradients of the predicted probability, and by how far the prediction moves without a token.

The probability is that of the predicted class; with one sigmoid output, both classes have the same absolute gradient. If a
network returns one number, gradients are those of this number, and its changes are measured in its standard deviations. Jain &
Wallace hold attention constant; Meister et al. let the gradient flow through it. If tokens are sentences, the input of a
sentence is that of all its words.

Legend: B batch, T tokens, V removed tokens (one variant of the text each), E embedding, H hidden, K classes.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from attest.core.measures import movement
from attest.core.memory import by_rows, bytes_at_once
from attest.core.modes import without_cudnn
from attest.models.inputs import Inputs
from attest.models.observation import Observation, cached_per_batch, skips_long_texts
from attest.models.prediction import predictions_of
from attest.models.variants import ACTIVATIONS, read_each


@cached_per_batch
@torch.enable_grad()
def gradient_times_input(observation: Observation) -> Tensor:
    r"""Compute :math:`|\langle \partial \hat y / \partial e_t, e_t \rangle|` (Jain & Wallace) at fixed attention, ``(B, T)``.

    They normalise it to sum 1 over a text, which changes no rank correlation; here it is not normalised.
    """
    logits = observation.decode(observation.attention)
    (gradient,) = _gradients_of_prediction(observation, logits, observation.embedded)
    return (gradient * observation.embedded.detach()).flatten(2).sum(dim=-1).abs()


def gradient_norm_inputs(observation: Observation) -> Tensor:
    r"""Return each input's gradient norm, :math:`\lVert \partial \hat y / \partial X_t \rVert_2`, ``(B, T)``, scaled to sum 1.

    Source: Meister et al. (eq. 4).
    """
    return _normalised_norms(gradients_through_attention(observation)[0], observation.mask)


def gradient_norm_hidden(observation: Observation) -> Tensor:
    r"""Return each state's gradient norm, :math:`\lVert \partial \hat y / \partial h_t \rVert_2`, ``(B, T)``, scaled to sum 1.

    Gradients flow through the attention too.
    """
    return _normalised_norms(gradients_through_attention(observation)[1], observation.mask)


def gradient_l1_norm_inputs(observation: Observation) -> Tensor:
    r"""Return :math:`\lVert \partial \hat y / \partial X_t \rVert_1` of each input, ``(B, T)``, scaled to sum 1.

    Meister et al. (appendix A) name the L1 norm beside the L2 norm.
    """
    return _normalised_norms(gradients_through_attention(observation)[0], observation.mask, order=1)


def gradient_l1_norm_hidden(observation: Observation) -> Tensor:
    r"""Return :math:`\lVert \partial \hat y / \partial h_t \rVert_1` of each hidden state, ``(B, T)``, scaled to sum 1."""
    return _normalised_norms(gradients_through_attention(observation)[1], observation.mask, order=1)


@cached_per_batch
def gradients_through_attention(observation: Observation) -> tuple[Tensor, ...]:
    """Return the probability's gradients with respect to inputs ``(B, T, E)`` and to hidden states ``(B, T, H)``."""
    return _gradients_of_prediction(observation, observation.logits, observation.embedded, observation.hidden)


@torch.enable_grad()
def _gradients_of_prediction(observation: Observation, logits: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
    with without_cudnn():
        return torch.autograd.grad(
            observation.of_predicted(predictions_of(observation.network, logits)).sum(), inputs, retain_graph=True
        )


def _normalised_norms(gradient: Tensor, mask: Tensor, order: int = 2) -> Tensor:
    norms = gradient.flatten(2).norm(p=order, dim=-1).masked_fill(~mask, 0)
    total = norms.sum(dim=-1, keepdim=True)
    return norms / torch.where(total > 0, total, 1.0)


COPIES = 8
"""To estimate memory: how many copies of the token ids of a text exist at once, at most, for each of its variants without one
token."""
WEIGHTS_A_PAIR = 12
"""To estimate memory: while the attention without each token is computed, how many numbers exist at once for each pair of a
removed token and another token."""


@cached_per_batch
@skips_long_texts
def leave_one_out_inputs(observation: Observation) -> Tensor:
    """Return how far the prediction moves when the text is read without one token, for each token, ``(B, T)``.

    NaN for a text of one token, and for one too long to compare its tokens pair by pair; 0 at padding. Equal tokens in a
    row get the same number, because the text is the same without each of them.
    """
    moved = _movements(observation, predictions_without_each(observation).unsqueeze(1)).squeeze(1)
    return _tied_in_runs(moved, observation.texts)


def _tied_in_runs(importance: Tensor, texts: Inputs) -> Tensor:
    """Give equal neighbouring tokens the same importance: that of the first one of them."""
    if texts.tokens.ndim > 2:
        return importance
    begins, columns = torch.ones_like(texts.mask), texts.columns
    begins[:, 1:] = (columns[:, 1:] != columns[:, :-1]).any(dim=-1)
    position = torch.arange(begins.shape[-1], device=begins.device)
    return importance.gather(-1, (position * begins).cummax(dim=-1).values)


def leave_one_out_hidden(observation: Observation) -> Tensor:
    """Return for each hidden state the TVD of the prediction if attention is computed without it, ``(B, T)``."""
    return _unattended(observation)["reprojected"]


def leave_one_out_hidden_renormalised(observation: Observation) -> Tensor:
    """Return how far (TVD) the prediction moves if a weight is set to 0 and the others are renormalised, ``(B, T)``.

    For softmax it equals ``leave_one_out_hidden``, for sparse projections not. NaN also for a token that has all attention.
    """
    return _unattended(observation)["renormalised"]


def predictions_without_each(observation: Observation) -> Tensor:
    """Return for each token the prediction for the text without it, ``(B, T, K)``; arbitrary at padding.

    If the network also reads questions, their tokens are not among the T tokens.
    """
    if observation.reach == 1:
        return observation.prediction.unsqueeze(1)
    read = getattr(observation.network, "read_without_each", None)
    return _by_encoding(observation) if read is None or _fit_at_once(observation) else _by_reading(observation, read)


def _fit_at_once(observation: Observation) -> bool:
    """Return whether an accelerator has room for all shortened texts: one pass then takes less time than many small steps."""
    device, mask = observation.mask.device, observation.mask
    read = observation.embedded[0].nbytes + ACTIVATIONS * observation.hidden[0].nbytes
    return device.type != "cpu" and mask.numel() * read <= bytes_at_once(device)


def _by_reading(observation: Observation, read: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]) -> Tensor:
    @torch.no_grad()
    def of_rows(tokens: Tensor, mask: Tensor) -> Tensor:
        scores, token_logits = read(tokens, mask)
        kept = _others(mask)
        weights = observation.network.project(scores.flatten(0, 1), kept.flatten(0, 1)).view_as(scores)
        return predictions_of(observation.network, (weights.unsqueeze(2) @ token_logits).squeeze(2))

    readings = observation.mask.shape[-1] ** 2 * (1 + observation.logits.shape[-1]) * observation.hidden.element_size()
    per_text = ACTIVATIONS * (readings + observation.embedded[0].nbytes + observation.hidden[0].nbytes)
    return by_rows(of_rows, per_text, observation.tokens, observation.mask)


def _by_encoding(observation: Observation) -> Tensor:
    texts, removed = observation.mask[:, : observation.reach].nonzero(as_tuple=True)

    def of_variants(rows: Tensor, place: Tensor) -> Tensor:
        kept = observation.mask[rows].scatter(-1, place.unsqueeze(-1), False)
        return read_each(observation, rows, observation.texts.rows(rows).only(kept))

    found = by_rows(of_variants, COPIES * observation.tokens[0].nbytes, texts, removed)
    outcomes = found.new_zeros(*observation.mask[:, : observation.reach].shape, found.shape[-1])
    outcomes[texts, removed] = found
    return outcomes


@cached_per_batch
@skips_long_texts
def _unattended(observation: Observation) -> dict[str, Tensor]:
    """Return how far the prediction moves without attention to each token, ``(B, T)``, by each of ``WITHOUT_EACH``."""
    size, everyone = observation.mask.shape[-1], torch.arange(len(observation.ids), device=observation.ids.device)

    def of_rows(rows: Tensor) -> Tensor:
        part = observation if len(rows) == len(everyone) else observation.part(rows)
        outcomes = torch.stack([part.probabilities_under(each(part)) for each in WITHOUT_EACH.values()], dim=1)
        moved = _movements(part, outcomes)
        return functional.pad(moved, (0, size - moved.shape[-1]))

    per_text = WEIGHTS_A_PAIR * size**2 * observation.scores.element_size()
    return dict(zip(WITHOUT_EACH, by_rows(of_rows, per_text, everyone).unbind(dim=1), strict=True))


def _others(mask: Tensor) -> Tensor:
    kept = mask.unsqueeze(1) & ~torch.eye(mask.shape[-1], dtype=torch.bool, device=mask.device)
    kept[..., 0].logical_or_(~kept.any(dim=-1))
    return kept


@torch.no_grad()
def _reprojected_without_each(observation: Observation) -> Tensor:
    kept = _others(observation.mask)
    scores = observation.scores.unsqueeze(1).expand(kept.shape)
    return observation.network.project(scores.flatten(0, 1), kept.flatten(0, 1)).view_as(scores)


def _renormalised_without_each(observation: Observation) -> Tensor:
    others = ~torch.eye(observation.mask.shape[-1], dtype=torch.bool, device=observation.mask.device)
    rest = observation.attention.unsqueeze(1) * others
    return rest.div_(rest.sum(dim=-1, keepdim=True))


WITHOUT_EACH = {"reprojected": _reprojected_without_each, "renormalised": _renormalised_without_each}
"""Two ways to compute the attention without each token, by name. Each function returns ``(B, T, T)``, where row v is the
attention without token v: ``reprojected`` projects the scores of the other tokens again, ``renormalised`` scales their weights
to sum to 1."""


def _movements(observation: Observation, outcomes: Tensor) -> Tensor:
    """Return how far each outcome in ``outcomes (B, R, ≤ T, K)`` is from the prediction, ``(B, R, T)``; 0 at padding."""
    moved = movement(outcomes, observation.prediction[:, None, None])
    moved = functional.pad(moved, (0, observation.mask.shape[-1] - moved.shape[-1]))
    moved = moved.masked_fill((observation.lengths == 1)[:, None, None], torch.nan)
    return moved.masked_fill(~observation.mask.unsqueeze(1), 0)
