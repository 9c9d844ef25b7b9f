"""The networks that Attest trains; each offers its forward pass in named steps: encode, score, project, decode.

In: token ids ``(B, T)`` and a mask, True at real tokens. Out: logits ``(B, C)``, for a tagger ``(B, T, K)``. ``forward`` calls
the steps, so that an experiment can repeat the last ones with other weights. Start at ``pooling.py``, which pools the states
of any encoder by attention; ``conditioned.py`` does so with a question beside the text. ``transformer.py`` has attention only
inside its layers.
"""

from attest.models.networks.cnn import Cnn, Windows
from attest.models.networks.conditioned import ConditionedClassifier
from attest.models.networks.hierarchical import Hierarchical
from attest.models.networks.pooling import PoolingClassifier
from attest.models.networks.recurrent import BiGRU, BiLSTM
from attest.models.networks.tokens import Average, Embedded
from attest.models.networks.transformer import TransformerClassifier, TransformerEncoder, TransformerTagger
from attest.models.networks.weighted import WeightedStatesTagger

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
    "WeightedStatesTagger",
    "Windows",
]
