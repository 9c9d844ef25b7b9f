"""The mathematics of attention: scoring functions, projections, pooling attention and self-attention.

In: hidden states. Out: scores, from scores a distribution over the real tokens of each text, and from that a context.
Start at ``projections.py``; ``pooled.py`` attends once to a whole text, ``multihead.py`` from every token to every other.
Each computes its keys, scores and weights in the open (``interventions.py``), so that an experiment can replace them.
Nothing here trains, logs or reads files.
"""

from attest.core.attention.interventions import HookedModule, HookPoint
from attest.core.attention.multihead import MultiHeadAttention
from attest.core.attention.pooled import PooledAttention
from attest.core.attention.projections import Entmax, Entmax15, Projection, Softmax, Sparsegen, Sparsemax, Uniform
from attest.core.attention.scoring import AdditiveScoring, DotScoring

__all__ = [
    "AdditiveScoring",
    "DotScoring",
    "Entmax",
    "Entmax15",
    "HookPoint",
    "HookedModule",
    "MultiHeadAttention",
    "PooledAttention",
    "Projection",
    "Softmax",
    "Sparsegen",
    "Sparsemax",
    "Uniform",
]
