"""LightningModules: how each kind of model is trained.

In: batches as ``datamodules`` describes them and a network as ``attest.models.networks`` builds it. Out: trained parameters
and logged metrics. Evidence is gathered elsewhere, in ``callbacks``. Start at ``classifier.py``;
``tagger.py`` is its sibling for one tag per token. ``trained_adversary.py``, ``tagging_adversary.py`` and ``guided.py`` are
trained against or with the network of another run, which they look at through ``base_network.py``.
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
