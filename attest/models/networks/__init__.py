"""Networks, each offering its forward pass in named steps: encode, score, project, decode.

In: token ids ``(B, T)`` and a mask, True at real tokens. Out: logits ``(B, C)``, for a tagger ``(B, T, K)``. ``forward`` is
nothing but the composition of the steps, so that an experiment can repeat the last ones with other weights.
Start at ``pooling.py``, which pools by attention whatever an encoder makes of a text; encoders lie beside it.
``conditioned.py`` does the same of a passage with a question beside it. Networks whose attention is inside a Transformer's
layers alone are in ``transformer.py``.
"""

from attest.models.networks.cnn import Cnn
from attest.models.networks.conditioned import ConditionedClassifier
from attest.models.networks.hierarchical import Hierarchical
from attest.models.networks.pooling import PoolingClassifier
from attest.models.networks.recurrent import BiGRU, BiLSTM
from attest.models.networks.tokens import Average, Embedded
from attest.models.networks.transformer import TransformerClassifier, TransformerEncoder, TransformerTagger

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
