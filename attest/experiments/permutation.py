"""E2: does the prediction change when attention is shuffled over the tokens? (Jain & Wallace 2019, Algorithm 2.)"""

from torch import Tensor

from attest.compute.randomness import random_permutations
from attest.compute.sorting import sort_rows
from attest.experiments.observation import Observation
from attest.measures import total_variation


def attention_permutation(observation: Observation, permutations: int, seed: int) -> dict[str, Tensor]:
    """Permute attention over the real tokens, hidden states unchanged, and see how far the prediction moves.

    Args:
        observation: the batch.
        permutations: D, permutations per instance (100 in the paper).
        seed: with an instance's id it fixes that instance's permutations.
    Returns:
        Per instance ``(B,)``: ``tvd_median`` in [0, 1], the paper's median TVD between original and permuted predictions;
        ``tvd_max``; ``flipped``, the share of permutations that change the decision; and ``max_attention``, against which
        the paper plots.
    """
    order_BDT = random_permutations(seed, observation.ids, permutations, observation.mask)
    permuted_BDT = observation.attention.unsqueeze(1).expand_as(order_BDT).gather(-1, order_BDT)
    outcomes_BDK = observation.probabilities_under(permuted_BDT)
    tvd_BD = total_variation(outcomes_BDK, observation.probabilities.unsqueeze(1))
    flips_BD = outcomes_BDK.argmax(dim=-1) != observation.predicted.unsqueeze(-1)
    return {
        "tvd_median": median(tvd_BD),
        "tvd_max": tvd_BD.amax(dim=-1),
        "flipped": flips_BD.float().mean(dim=-1),
        "max_attention": observation.attention.amax(dim=-1),
    }


def median(values: Tensor) -> Tensor:
    """The middle of ``(B, D)``, or the mean of the two; torch's own takes the lower."""
    ordered, draws = sort_rows(values), values.shape[-1]
    return (ordered[:, (draws - 1) // 2] + ordered[:, draws // 2]) / 2
