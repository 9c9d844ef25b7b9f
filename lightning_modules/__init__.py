"""LightningModules: how each kind of model is trained.

In: batches as ``datamodules`` describes them and a network as ``attest.networks`` builds it. Out: trained parameters and
logged metrics. Evidence is gathered elsewhere, in ``callbacks``. Start at ``classifier.py``.
"""

from lightning_modules.classifier import Classifier

__all__ = ["Classifier"]
