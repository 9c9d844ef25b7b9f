"""The experiments, one in each file. Each turns an observed forward pass into columns with one row per instance.

Every experiment is the same model with a changed attention, so each meets the network only through the four steps encode,
score, project and decode. Start at ``attest/models/observation.py``. Attention inside the layers of Transformers, which these
steps do not show, is changed in ``layers``. Nothing here knows of Lightning, loggers or files.
"""

from attest.experiments.activation_swap import activation_swap
from attest.experiments.adversarial_attention import adversarial_attention
from attest.experiments.erasure_until_flip import erasure_until_flip
from attest.experiments.feature_importance import feature_importance
from attest.experiments.identifiability import identifiability
from attest.experiments.importance_entropy import importance_entropy
from attest.experiments.permutation import attention_permutation
from attest.experiments.sampling import sample_of_ids
from attest.experiments.single_erasure import single_erasure
from attest.models.observation import Network, Observation, observe

__all__ = [
    "Network",
    "Observation",
    "activation_swap",
    "adversarial_attention",
    "attention_permutation",
    "erasure_until_flip",
    "feature_importance",
    "identifiability",
    "importance_entropy",
    "observe",
    "sample_of_ids",
    "single_erasure",
]
