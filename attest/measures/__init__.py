"""Measures: how far apart are two distributions, how spread is one, do two rankings agree?

In: batches of distributions or scores. Out: one number per instance. Batched, masked, no loop over instances; every
measure is defined where its input is, and NaN where it is not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
_HOMES = {
    "KendallTau": "rank_correlation",
    "Majority": "majority",
    "Paired": "comparison",
    "against_majority": "majority",
    "class_logits": "divergences",
    "critical_tau": "rank_correlation",
    "in_seed_spreads": "comparison",
    "jensen_shannon": "divergences",
    "kendall_tau_b": "rank_correlation",
    "kendall_top_k": "rank_correlation",
    "mcnemar": "comparison",
    "normalised_entropy": "entropy",
    "probabilities": "divergences",
    "signed_rank": "comparison",
    "summarise": "summary",
    "tau_b": "rank_correlation",
    "top_k_overlap": "top_k",
    "total_variation": "divergences",
}
"""The file of each, imported when it is first asked for: numbers are written without the libraries that compute them."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
