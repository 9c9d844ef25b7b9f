"""E3: how different can the attention be if the prediction stays the same? (Jain & Wallace 2019, Algorithm 3.)"""

from typing import Any

import torch
from torch import Tensor

from attest.core.measures import probabilities, total_variation
from attest.core.measures.numbers import number
from attest.experiments.adversarial_search import largest_jsd, search_adversaries
from attest.experiments.exact_adversary import exact_adversaries
from attest.experiments.says import MISLEADING
from attest.experiments.spec import LN2, Column, Drawing, Means, OfNumbers, Row, Spec, TokenWeights
from attest.models.observation import Observation, skips_long_texts


def adversarial_attention(
    observation: Observation,
    epsilon: float = 0.01,
    filter_epsilon: float = 0.05,
    restarts: int = 5,
    steps: int = 500,
    seed: int = 0,
) -> dict[str, Tensor]:
    """Find the attention that differs most (JSD) from the model's but moves the prediction by at most ``epsilon``.

    Args:
        epsilon: how far the prediction may move in TVD; the paper says 0.01.
        filter_epsilon: how far it may have moved in the end; the released code keeps results up to 0.05.
        restarts, steps: of the published search; 0 restarts leave it out.
        seed: with an instance's id it fixes where the search starts.
    Returns:
        The columns of ``SPEC``, ``(B,)``, and per token ``(B, T)`` ``adversary``. Exact columns only for two classes and a
        linear decoder; NaN for a text that is too long for the exact answer, which looks at every pair of tokens.
    """
    columns = {}
    if restarts:
        candidates = search_adversaries(observation, epsilon=epsilon, restarts=restarts, steps=steps, seed=seed)
        columns["jsd_search"], columns["jsd_search_filter"] = largest_jsd(observation, candidates, (epsilon, filter_epsilon))
    if observation.margins is not None:
        columns |= _solved(observation, epsilon, filter_epsilon)
    return columns | {"max_attention": observation.attention.amax(dim=-1)}


@skips_long_texts
@torch.no_grad()
def _solved(observation: Observation, epsilon: float, filter_epsilon: float) -> dict[str, Tensor]:
    assert observation.margins is not None
    problem = observation.margins, observation.attention, observation.probabilities[:, 1], observation.mask
    exact, filtered = exact_adversaries(*problem, (epsilon, filter_epsilon))
    weights = exact.attention.to(observation.attention)
    logits = observation.decode(weights)
    return {
        "jsd_exact": exact.jsd,
        "jsd_exact_filter": filtered.jsd,
        "tvd_exact": total_variation(probabilities(logits), observation.probabilities),
        "adversary": weights,
    }


def _answer(mean: Means) -> str | None:
    exact = mean.share("E3/jsd_exact", of=LN2)
    found = mean.share("E3/jsd_search", of=LN2) if exact is None else exact
    if found is None:
        return None
    how, one = "There are" if exact is not None else "A search finds", mean.called_one
    return (
        f"{how} other attention weights that move the prediction by at most 0.01{mean.unit}. In the average {one}, their "
        f"distance (JSD) from the model's attention is {found} of the largest possible distance."
    )


def _note(row: Row) -> str:
    return f"JSD {number(row['E3/jsd_exact'])} to attention, moves the prediction by {number(row['E3/tvd_exact'])}"


def _caption(rows: Any) -> str:
    how = "Exact." if "jsd_exact" in rows else "By search: an exact answer needs two classes and a linear decoder."
    return (
        "Distance (JSD) to the most different attention with the same prediction, by the largest weight of the text. "
        f"{how} The maximum is ln 2. A large value at a large weight means: attention was sure, but a very different one "
        "gives the same prediction."
    )


SPEC = Spec(
    id="E3",
    name="adversarial attention",
    question="Would a very different attention have given the same prediction?",
    does="Searches for such attention as published, and computes the exact answer for a linear decoder",
    source="Jain & Wallace 2019; exact: ours",
    about="states",
    cost="quadratic in T for the exact answer; 500 gradient steps for the search",
    says=MISLEADING,
    columns=(
        Column.nats(
            "jsd_exact",
            "The largest Jensen-Shannon divergence between the model's attention and another attention that moves the "
            "prediction by at most 0.01; at most ln 2 = 0.693. A large JSD says that very different attention gives nearly "
            "the same prediction.",
            only="two classes and a linear decoder",
            title="ε-max JSD, exact",
            misread="Training might never produce the most different attention, so the model's own attention may still "
            "explain the prediction.",
            suspicious="high",
            short=("ε-max JSD", "Largest distance of an attention with the same prediction, 0 to 0.693 (E3)."),
        ),
        Column.nats(
            "jsd_search",
            "A gradient search from five starts looks for the most different attention (JSD) that moves the prediction by at "
            "most 0.01. The JSD that the gradient search finds is a lower bound of the largest possible JSD.",
            title="ε-max JSD, by search",
            misread="A small JSD may mean only that the gradient search failed: very different attention with the same "
            "prediction may still exist.",
            suspicious="high",
        ),
        Column.nats(
            "jsd_search_filter",
            "The largest JSD from the model's attention that a gradient search finds if the prediction may move by 0.05, as "
            "in the code of Jain & Wallace (2019).",
            title="ε-max JSD, found by search with ε = 0.05",
            misread="The JSD found by search with ε = 0.05 may exceed the exact JSD for ε = 0.01, because the prediction may "
            "move further.",
            suspicious="high",
        ),
        Column.nats("jsd_exact_filter", "exact largest JSD from the model's attention if the prediction moves by TVD ≤ 0.05"),
        Column.share("tvd_exact", "how far (TVD) the prediction moves with the attention in `adversary`"),
        Column.share("adversary", "the attention whose JSD is `jsd_exact`", unit="sums to 1", type="list of float"),
        Column.share("max_attention", "the largest weight"),
    ),
    answer=_answer,
    weights=(TokenWeights("adversary", "Another attention, same prediction", "adversary", _note, ("jsd_exact", "tvd_exact")),),
    drawings=(
        Drawing("jsd_by_max_attention", "Adversarial attention", _caption, "largest_jsd_violins"),
        Drawing(
            "jsd_histograms",
            "Largest JSD of attention at almost the same prediction",
            "How far (JSD) attention can change while the prediction moves by at most ε: found by gradient search, and "
            "computed exactly.",
            "adversary_histograms",
            needs=("jsd_search",),
        ),
        Drawing(
            "exact_against_search",
            "What the search misses",
            "One point per text. On the diagonal, the gradient search found the largest possible JSD; above the diagonal, a "
            "smaller JSD.",
            "exact_against_search",
            needs=("jsd_search", "jsd_exact"),
        ),
    ),
    run=adversarial_attention,
    reads=("seed",),
    at_validation={"restarts": 0},
    quadratic="the exact adversary",
    when_explaining={"restarts": 0},
    of_numbers=OfNumbers("the number may move by 0.01 (`jsd_search_filter`: 0.05) standard deviations of all predictions"),
)
