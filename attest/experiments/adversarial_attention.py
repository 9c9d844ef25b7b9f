"""E3: how different an attention gives the same prediction? (Jain & Wallace 2019, Algorithm 3, and exactly.)"""

import torch
from torch import Tensor

from attest.experiments.adversarial_search import largest_jsd, search_adversaries
from attest.experiments.exact_adversary import exact_adversary
from attest.experiments.observation import Observation, skips_long_texts
from attest.measures import probabilities, total_variation


def adversarial_attention(
    observation: Observation, epsilon: float = 0.01, filter_epsilon: float = 0.05, search: dict[str, int] | None = None
) -> dict[str, Tensor]:
    """The epsilon-max JSD by search and exactly.

    Args:
        observation: the batch.
        epsilon: how far the prediction may move in TVD; the paper says 0.01.
        filter_epsilon: how far it may have moved in the end; the released code keeps results up to 0.05.
        search: ``restarts``, ``steps`` and ``seed`` of the published search; None leaves it out.
    Returns:
        Per instance ``(B,)``, JSD in nats in [0, ln 2]: ``jsd_search``, the largest within epsilon that the search found,
        and ``jsd_search_filter``, the largest within filter_epsilon. For two classes and a linear decoder also ``jsd_exact``
        and ``jsd_exact_filter``, the largest there is; ``tvd_exact``, how far the real decoder moves under the first, and
        ``adversary``, that attention itself, per token ``(B, T)``; NaN where a text is too long for the exact answer, which
        looks at every pair of tokens. More than two classes or another decoder: the search alone. And ``max_attention``,
        against which the paper plots.
    """
    columns = {} if search is None else _searched(observation, epsilon, filter_epsilon, search)
    if observation.margins is not None:
        columns |= _solved(observation, epsilon, filter_epsilon)
    return columns | {"max_attention": observation.attention.amax(dim=-1)}


def _searched(observation: Observation, epsilon: float, filter_epsilon: float, search: dict[str, int]) -> dict[str, Tensor]:
    candidates = search_adversaries(observation, epsilon=epsilon, **search)
    return {
        "jsd_search": largest_jsd(observation, candidates, epsilon),
        "jsd_search_filter": largest_jsd(observation, candidates, filter_epsilon),
    }


@skips_long_texts
@torch.no_grad()
def _solved(observation: Observation, epsilon: float, filter_epsilon: float) -> dict[str, Tensor]:
    assert observation.margins is not None
    problem = observation.margins, observation.attention, observation.probabilities[:, 1], observation.mask
    exact, filtered = (exact_adversary(*problem, each) for each in (epsilon, filter_epsilon))
    weights = exact.attention(observation.mask.shape[-1]).to(observation.attention)
    logits = observation.network.decode(observation.hidden, weights)
    return {
        "jsd_exact": exact.jsd,
        "jsd_exact_filter": filtered.jsd,
        "tvd_exact": total_variation(probabilities(logits), observation.probabilities),
        "adversary": weights,
    }
