"""Attention rollout (Abnar & Zuidema 2020): one weight per token from the attention of all layers."""

from collections.abc import Mapping

from torch import Tensor


def attention_rollout(attention: Mapping[str, Tensor], pooling: Tensor) -> Tensor:
    r"""Compute attention rollout, :math:`w^\top \tilde A_n \cdots \tilde A_1`, one weight per token.

    :math:`\tilde A = \tfrac12 (\bar A + I)`: the mean over heads, and I for the residual connection (eq. 1 of the paper).

    Args:
        attention: ``(B, N, T, T)`` of each layer, first to last; without layers, the result is ``pooling`` itself.
        pooling: w ``(B, T)``, how the last hidden states are pooled: uniform weights for a mean, else pooled attention.
    Returns:
        One weight for each token: ``(B, T)``, sums to 1 over real tokens, 0 at padding.
    """
    rollout_B1T = pooling.unsqueeze(1).to(next(iter(attention.values()), pooling))
    for weights_BNTT in reversed(list(attention.values())):
        rollout_B1T = 0.5 * (rollout_B1T @ weights_BNTT.mean(dim=1) + rollout_B1T)
    return rollout_B1T.squeeze(1)
