"""The mathematics of attention: scoring functions, projections, pooling attention and self-attention.

Hidden states give scores, scores give a distribution over the real tokens of each text, and the distribution gives a context.
Start at ``projections.py``; in ``pooled.py`` one query attends to a whole text, in ``multihead.py`` every token attends to
every token. Experiments can replace the keys, scores and weights of both (``interventions.py``). Nothing here trains, logs or
reads files.
"""

from attest.core.attention.interventions import HookedModule, HookPoint
from attest.core.attention.multihead import MultiHeadAttention
from attest.core.attention.pooled import PooledAttention
from attest.core.attention.projections import Entmax, Entmax15, Last, Projection, Softmax, Sparsegen, Sparsemax, Uniform
from attest.core.attention.scoring import AdditiveScoring, DotScoring

__all__ = [
    "AdditiveScoring",
    "DotScoring",
    "Entmax",
    "Entmax15",
    "HookPoint",
    "HookedModule",
    "Last",
    "MultiHeadAttention",
    "PooledAttention",
    "Projection",
    "Softmax",
    "Sparsegen",
    "Sparsemax",
    "Uniform",
]
