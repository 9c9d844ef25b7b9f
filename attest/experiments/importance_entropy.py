"""E10: how concentrated is the influence of the inputs? (Meister et al. 2021, Figure 2 and Table 1.)

Sparse attention concentrates weights on few hidden states; whether few inputs then decide is another question. The sweep
over sparsegen's lambda is one run a value; here is what one model can say.

Legend: B batch, P sampled positions, T tokens, E embedding, H hidden.
"""

import torch
from torch import Tensor

from attest.compute.memory import by_rows
from attest.compute.randomness import random_bits, random_order
from attest.experiments.gradients import gradient_norm_inputs
from attest.experiments.leave_one_out import leave_one_out_inputs
from attest.experiments.observation import Observation, observe
from attest.measures import normalised_entropy

ACTIVATIONS = 24
"""Tensors as large as the hidden states that a forward pass keeps for its backward pass."""


def importance_entropy(
    observation: Observation, leave_one_out: bool = True, sampled: Tensor | None = None, positions: int = 16, seed: int = 0
) -> dict[str, Tensor]:
    """Normalised entropies of importance over the tokens.

    Args:
        observation: the batch.
        leave_one_out: False for the entropy of gradients alone.
        sampled: bool ``(B,)``, the instances whose hidden states are looked into; None for none.
        positions: P, random hidden states of each of them, all where there are fewer; each costs a backward pass.
        seed: with an instance's id it fixes its positions.
    Returns:
        Per instance ``(B,)`` in [0, 1], NaN where undefined: ``entropy_gradient``, of the gradient norms of the inputs;
        ``entropy_leave_one_out``; ``entropy_attention``, of the attention itself; where asked for, ``entropy_hidden``, the
        mean over positions p of the entropy of the gradient norms of h_p (Table 1), NaN outside the sample.
    """
    columns = {
        "entropy_gradient": normalised_entropy(gradient_norm_inputs(observation), observation.mask),
        "entropy_attention": normalised_entropy(observation.attention, observation.mask),
    }
    if leave_one_out:
        columns["entropy_leave_one_out"] = normalised_entropy(leave_one_out_inputs(observation), observation.mask)
    if sampled is not None:
        columns["entropy_hidden"] = _hidden_entropy(observation, sampled, positions, seed)
    return columns


def sample_of_ids(seed: int, ids: Tensor, size: int) -> Tensor:
    """A random sample of instances, the same however they are dealt out: the ids with the smallest hashes.

    Args:
        seed: the run's seed.
        ids: int64 ``(N,)``, all instances there are.
        size: of the sample.
    """
    return ids[random_bits(seed, ids).argsort()[:size]]


def _hidden_entropy(observation: Observation, sampled: Tensor, positions: int, seed: int) -> Tensor:
    entropy = observation.attention.new_full((len(sampled),), torch.nan)
    rows = sampled.nonzero().flatten()
    if len(rows):
        entropy[rows] = _entropy_over_positions(observation, rows, positions, seed)
    return entropy


def _entropy_over_positions(observation: Observation, rows: Tensor, positions: int, seed: int) -> Tensor:
    """Mean over sampled positions of each row, ``(rows,)``; a text read P times side by side needs one backward pass."""
    tokens, mask = observation.tokens[rows], observation.mask[rows]
    position_RP, real_RP = _random_positions(observation.ids[rows], mask, positions, seed)
    count = position_RP.shape[1]
    per_reading = observation.embedded[0].nbytes + ACTIVATIONS * observation.hidden[0].nbytes

    def of_readings(tokens: Tensor, mask: Tensor, position: Tensor) -> Tensor:
        return normalised_entropy(_influence_on_hidden(observation, tokens, mask, position), mask)

    readings = (each.repeat_interleave(count, dim=0) for each in (tokens, mask))
    entropy_RP = by_rows(of_readings, per_reading, *readings, position_RP.flatten()).view(-1, count)
    return entropy_RP.where(real_RP, torch.nan).nanmean(dim=-1)


def _random_positions(ids: Tensor, mask: Tensor, positions: int, seed: int) -> tuple[Tensor, Tensor]:
    """Different real positions of each text ``(B, P)``, and which of them are real, for a text may be too short."""
    keys = random_order(seed, ids, 1, mask)[:, 0]
    chosen = keys.argsort(dim=-1, descending=True)[:, :positions]
    return chosen, mask.gather(-1, chosen)


@torch.enable_grad()
def _influence_on_hidden(observation: Observation, tokens: Tensor, mask: Tensor, position: Tensor) -> Tensor:
    r"""Meister et al.'s :math:`\lVert \partial \lVert h_p \rVert_2 / \partial X_i \rVert_2` of every token, ``(B, T)``."""
    again = observe(observation.network, position, tokens, mask)
    with torch.backends.cudnn.flags(enabled=False):
        lengths = again.hidden[torch.arange(len(position), device=position.device), position].norm(dim=-1)
        (gradient,) = torch.autograd.grad(lengths.sum(), again.embedded)
    return gradient.flatten(2).norm(dim=-1)
