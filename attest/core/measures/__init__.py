"""Measures of distance between distributions, of spread, and of agreement between rankings.

A measure takes a batch of distributions or scores with a mask, and returns one number per instance, without a loop over
instances. The number is NaN only if the input is undefined.
"""

from attest.core.measures.comparison import (
    Learned,
    Majority,
    OverSeeds,
    Paired,
    against_majority,
    classes_apart,
    in_seed_spreads,
    mcnemar,
    signed_rank,
    standard_errors,
)
from attest.core.measures.divergences import (
    class_logits,
    jensen_shannon,
    movement,
    normalised_entropy,
    probabilities,
    total_variation,
)
from attest.core.measures.rank_correlation import (
    KendallTau,
    critical_tau,
    kendall_tau_b,
    kendall_tau_b_of_each,
    kendall_top_k,
    tau_b,
    top_k_lists,
    top_k_overlap,
)
from attest.core.measures.summary import summarise

__all__ = [
    "KendallTau",
    "Learned",
    "Majority",
    "OverSeeds",
    "Paired",
    "against_majority",
    "class_logits",
    "classes_apart",
    "critical_tau",
    "in_seed_spreads",
    "jensen_shannon",
    "kendall_tau_b",
    "kendall_tau_b_of_each",
    "kendall_top_k",
    "mcnemar",
    "movement",
    "normalised_entropy",
    "probabilities",
    "signed_rank",
    "standard_errors",
    "summarise",
    "tau_b",
    "top_k_lists",
    "top_k_overlap",
    "total_variation",
]
