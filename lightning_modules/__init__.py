"""The LightningModules, which train each kind of model.

In: batches as ``datamodules`` describes them and a network as ``attest.models.networks`` builds it. Out: trained parameters
and logged metrics. Evidence is gathered elsewhere, in ``callbacks``. Start at ``text_module.py``, the base class:
``classifier.py`` learns one label per text, ``tagger.py`` one tag per token. ``trained_adversary.py`` and ``guided.py``
train a network against or with the network of another run, which ``base_network.py`` provides; ``key_adversary.py`` learns
other keys for a trained Transformer.
"""

from attest.lightning_modules.classifier import Classifier, Retrained
from attest.lightning_modules.guided import GuidedClassifier, ProbedTagger
from attest.lightning_modules.key_adversary import KeyAdversary
from attest.lightning_modules.tagger import Tagger
from attest.lightning_modules.trained_adversary import TaggingAdversary, TrainedAdversary

__all__ = [
    "Classifier",
    "GuidedClassifier",
    "KeyAdversary",
    "ProbedTagger",
    "Retrained",
    "Tagger",
    "TaggingAdversary",
    "TrainedAdversary",
]
