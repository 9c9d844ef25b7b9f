"""Networks, each offering its forward pass in named steps: encode, score, project, decode.

In: token ids ``(B, T)`` and a mask, True at real tokens. Out: logits ``(B, C)``. ``forward`` is nothing but the
composition of the four steps, so that an experiment can repeat the last ones with other weights.
Start at ``pooling.py``; encoders lie beside it, one a file.
"""

from attest.networks.bilstm import BiLSTM
from attest.networks.pooling import PoolingClassifier

__all__ = ["BiLSTM", "PoolingClassifier"]
