"""Measures: how far apart are two distributions, how spread is one, do two rankings agree?

In: batches of distributions or scores. Out: one number per instance. Batched, masked, no loop over instances; every
measure is defined where its input is, and NaN where it is not.
"""

from attest.measures.comparison import Paired, in_seed_spreads, mcnemar, signed_rank
from attest.measures.divergences import class_logits, jensen_shannon, probabilities, total_variation
from attest.measures.entropy import normalised_entropy
from attest.measures.majority import Majority, against_majority
from attest.measures.rank_correlation import KendallTau, critical_tau, kendall_tau_b, kendall_top_k, tau_b
from attest.measures.summary import summarise
from attest.measures.top_k import top_k_overlap

__all__ = [
    "KendallTau",
    "Majority",
    "Paired",
    "against_majority",
    "class_logits",
    "critical_tau",
    "in_seed_spreads",
    "jensen_shannon",
    "kendall_tau_b",
    "kendall_top_k",
    "mcnemar",
    "normalised_entropy",
    "probabilities",
    "signed_rank",
    "summarise",
    "tau_b",
    "top_k_overlap",
    "total_variation",
]
