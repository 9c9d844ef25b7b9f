"""E1: does attention rank the tokens as feature importance ranks them? (Jain & Wallace 2019; Meister et al. 2021)"""

import torch
from torch import Tensor

from attest.experiments.gradients import gradient_norm_hidden, gradient_norm_inputs, gradient_times_input
from attest.experiments.leave_one_out import leave_one_out_hidden, leave_one_out_hidden_renormalised, leave_one_out_inputs
from attest.experiments.observation import Observation
from attest.measures import kendall_tau_b, kendall_top_k

GRADIENTS = {
    "gradient_inputs": gradient_times_input,
    "gradient_norm_inputs": gradient_norm_inputs,
    "gradient_norm_hidden": gradient_norm_hidden,
}
LEAVE_ONE_OUT = {
    "leave_one_out_inputs": leave_one_out_inputs,
    "leave_one_out_hidden": leave_one_out_hidden,
    "leave_one_out_hidden_renormalised": leave_one_out_hidden_renormalised,
}


def feature_importance(observation: Observation, leave_one_out: bool = True) -> dict[str, Tensor]:
    """Correlate attention, or what the observation is explained by, with every importance.

    Args:
        observation: the batch.
        leave_one_out: False for the gradients alone, which cost two backward passes instead of one forward pass a token.
    Returns:
        Per token ``(B, T)``, at least 0: ``gradient_inputs``, ``gradient_norm_inputs``, ``gradient_norm_hidden``,
        ``leave_one_out_inputs``, ``leave_one_out_hidden``, ``leave_one_out_hidden_renormalised``.
        Per instance ``(B,)`` float64, NaN where undefined, for each importance: ``tau_<importance>``, tau-b in [-1, 1];
        ``significant_…``, 1 where its p < 0.05; ``ceiling_…``, the largest |tau| that ties allow; ``ratio_…``, tau over
        ceiling; ``concordant_…``, of the pairs of tokens that differ in attention and in importance the share that both order
        alike, in [0, 1]; ``tau_support_…``, tau-b among the tokens that get attention; ``tau_top_k_…``, agreement of the top-k
        lists at k = size of the support. Also ``tau_gradient_and_leave_one_out`` and
        ``concordant_gradient_and_leave_one_out``, how far the two importances of Jain & Wallace (of inputs) agree.
    """
    kinds = GRADIENTS | LEAVE_ONE_OUT if leave_one_out else GRADIENTS
    importances = {name: importance(observation) for name, importance in kinds.items()}
    columns = importances | _correlations(observation, importances)
    if leave_one_out:
        pair = importances["gradient_inputs"], importances["leave_one_out_inputs"]
        between = kendall_tau_b(*pair, observation.mask)
        columns["tau_gradient_and_leave_one_out"] = between.tau
        columns["concordant_gradient_and_leave_one_out"] = between.concordant
    return columns


def _correlations(observation: Observation, importances: dict[str, Tensor]) -> dict[str, Tensor]:
    """All taus at once: the importances stand below one another as rows of one batch."""
    count = len(importances)
    attention, mask = (rows.repeat(count, 1) for rows in (observation.explanation, observation.mask))
    stacked, support = torch.cat(list(importances.values())), mask & (attention > 0)
    tau = kendall_tau_b(attention, stacked, mask)
    measured = {
        "tau": tau.tau,
        "significant": tau.significant,
        "ceiling": tau.ceiling,
        "ratio": tau.tau / tau.ceiling,
        "concordant": tau.concordant,
        "tau_support": kendall_tau_b(attention, stacked, support).tau,
        "tau_top_k": kendall_top_k(attention, stacked, support.sum(dim=-1), mask),
    }
    return {
        f"{statistic}_{name}": column
        for statistic, rows in measured.items()
        for name, column in zip(importances, rows.chunk(count), strict=True)
    }
