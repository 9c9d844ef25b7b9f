"""LightningModules: how each kind of model is trained.

In: batches as ``datamodules`` describes them and a network as ``attest.networks`` builds it. Out: trained parameters and
logged metrics. Evidence is gathered elsewhere, in ``callbacks``. Start at ``classifier.py``;
``tagger.py`` is its sibling for one tag per token.
"""

from lightning_modules.classifier import Classifier
from lightning_modules.key_adversary import KeyAdversary
from lightning_modules.tagger import Tagger

__all__ = ["Classifier", "KeyAdversary", "Tagger"]
