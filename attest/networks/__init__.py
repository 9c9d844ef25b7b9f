"""Networks, each offering its forward pass in named steps: encode, score, project, decode.

In: token ids ``(B, T)`` and a mask, True at real tokens. Out: logits ``(B, C)``, for a tagger ``(B, T, K)``. ``forward`` is
nothing but the composition of the steps, so that an experiment can repeat the last ones with other weights.
Start at ``pooling.py``, which pools by attention whatever an encoder makes of a text; encoders lie beside it, one a file.
``conditioned.py`` does the same of a passage with a question beside it.
Networks whose attention is inside a Transformer's layers alone are in ``self_attention.py``.
"""

from attest.networks.average import Average
from attest.networks.bigru import BiGRU
from attest.networks.bilstm import BiLSTM
from attest.networks.cnn import Cnn
from attest.networks.conditioned import ConditionedClassifier
from attest.networks.hierarchical import Hierarchical
from attest.networks.pooling import PoolingClassifier
from attest.networks.self_attention import TransformerClassifier, TransformerTagger
from attest.networks.tokens import Embedded
from attest.networks.transformer import TransformerEncoder

__all__ = [
    "Average",
    "BiGRU",
    "BiLSTM",
    "Cnn",
    "ConditionedClassifier",
    "Embedded",
    "Hierarchical",
    "PoolingClassifier",
    "TransformerClassifier",
    "TransformerEncoder",
    "TransformerTagger",
]
