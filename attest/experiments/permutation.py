"""E2: does the prediction change when attention is shuffled over the tokens? (Jain & Wallace 2019, Algorithm 2.)"""

from dataclasses import replace

from torch import Tensor

from attest.core.measures import total_variation
from attest.core.memory import sort_rows
from attest.core.randomness import random_permutations
from attest.experiments.says import OTHER_ATTENTION
from attest.experiments.sink import SPARED, and_for_decoders
from attest.experiments.spec import Column, Drawing, Means, OfNumbers, Spec
from attest.models.observation import Observation


def attention_permutation(observation: Observation, permutations: int = 100, seed: int = 0) -> dict[str, Tensor]:
    """Permute attention over the real tokens without other changes, and measure how far the prediction moves.

    Args:
        permutations: D, permutations per instance (100 in the paper).
        seed: with an instance's id it fixes that instance's permutations.
    Returns:
        The columns ``tvd_median``, as in the paper, ``tvd_max``, ``flipped`` and ``max_attention`` of ``SPEC``, ``(B,)``.
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
    """Return the median of each row of ``values (B, D)``; if D is even, the mean of the middle two values."""
    ordered, draws = sort_rows(values), values.shape[-1]
    return (ordered[:, (draws - 1) // 2] + ordered[:, draws // 2]) / 2


def _answer(mean: Means) -> str | None:
    moves, flipped, of_number = mean.number("E2/tvd_median"), mean.share("E2/flipped"), mean.number("E2/moved_median")
    shuffling = "Shuffling the attention weights among the tokens moves the prediction by"
    if of_number is not None:
        return f"{shuffling} {of_number}{mean.unit} in the average {mean.called_one}."
    if moves is None or flipped is None:
        return None
    return f"{shuffling} {moves} in the average {mean.called_one} and changes {flipped} of decisions."


TVD_MEDIAN = Column.share(
    "tvd_median",
    "Median total variation distance of the prediction when attention is shuffled over the tokens, 0 to 1. Near 0: "
    "the prediction does not depend on which tokens get attention.",
    title="Δŷ under permuted attention",
    misread="If shuffled attention moves the prediction, attention was not necessarily on the right tokens before.",
    suspicious="low",
    short=("Δŷ shuffled", "Median change of the prediction when attention is shuffled, 0 to 1 (E2)."),
)
FLIPPED = Column.share(
    "flipped",
    "Share of random permutations of attention that change the decision.",
    title="decisions flipped",
    misread="A confident decision seldom changes, whichever tokens get attention.",
    suspicious="low",
)
TVD_MEDIAN_DECIDING = Column.share(
    "tvd_median_deciding",
    "Median total variation distance of a decoder's prediction if, in every layer, only the attention of the last (deciding) "
    "token is shuffled.",
    only="decoders",
    title="Δŷ if only the last token's attention is permuted",
    misread="The attention of earlier tokens is not shuffled, so they may still pass information to the last token.",
    suspicious="low",
)
FLIPPED_DECIDING = replace(
    FLIPPED,
    name="flipped_deciding",
    means="Share of permutations of the deciding token's attention that change the decision.",
    only="decoders",
    title="flips if only the last token's attention is permuted",
)
UNTITLED = (
    Column.share("tvd_max", "largest TVD of the prediction over random permutations of attention"),
    Column.share(
        "correct_permuted",
        "share of permutations of attention after which the decision is correct",
        only="Transformers",
    ),
)

SPEC = Spec(
    id="E2",
    name="permuted attention",
    question="Does the prediction depend on where attention lies?",
    does="Permutes the attention of each text at random, 100 times; inside Transformers in each layer and in all layers",
    source="Jain & Wallace 2019",
    about="states",
    cost="linear in T where the decoder is linear; inside layers one forward pass for each permutation and layer",
    says=OTHER_ATTENTION,
    about_columns="Inside layers, each row is permuted over the tokens that it may attend to. With `_layer<l>` at the end, a "
    "column is about the l-th layer alone; columns of all rows without sinks have no such copy.",
    columns=(
        *and_for_decoders((TVD_MEDIAN, FLIPPED), SPARED),
        *and_for_decoders((TVD_MEDIAN_DECIDING, FLIPPED_DECIDING), SPARED),
        *and_for_decoders(UNTITLED, SPARED),
        *and_for_decoders([TVD_MEDIAN.moved()], SPARED),
        *and_for_decoders([TVD_MEDIAN_DECIDING.moved()], SPARED),
        *and_for_decoders([UNTITLED[0].moved()], SPARED),
        Column.share("max_attention", "the largest weight"),
    ),
    answer=_answer,
    drawings=(
        Drawing(
            "permutation_by_max_attention",
            "Permuting attention",
            "Median change of the prediction over random permutations of the attention, by the text's largest attention "
            "weight and by predicted class (Jain & Wallace 2019, Fig. 3). If permutations hardly change the prediction even "
            "in texts with a large attention weight, it did not matter which token got this weight.",
            "permutation_violins",
            ("tvd_median",),
        ),
    ),
    run=attention_permutation,
    reads=("seed",),
    of_numbers=OfNumbers.moves("and nothing flips"),
)
