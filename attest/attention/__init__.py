"""Scoring functions and projections: the pure mathematics of attention.

In: hidden states. Out: scores, and from scores an attention distribution over the real tokens of each text.
Start at ``projections.py``. Nothing here trains, logs or reads files.
"""

from attest.attention.projections import Entmax15, Projection, Softmax, Sparsemax, Uniform
from attest.attention.scoring import AdditiveScoring

__all__ = ["AdditiveScoring", "Entmax15", "Projection", "Softmax", "Sparsemax", "Uniform"]
