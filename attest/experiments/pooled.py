"""The experiments on pooled attention by id, with the settings that ``configs/experiments/pooled.yaml`` ships.

For whoever asks for several of them by name. Each asks of a batch what it needs, and no more than ``Asked`` holds.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from attest.attention import Entmax15, Projection, Softmax, Sparsemax
from attest.errors import AttestError
from attest.experiments.activation_swap import activation_swap
from attest.experiments.adversarial_attention import adversarial_attention
from attest.experiments.erasure_until_flip import erasure_until_flip
from attest.experiments.feature_importance import feature_importance
from attest.experiments.identifiability import identifiability
from attest.experiments.importance_entropy import importance_entropy, sample_of_ids
from attest.experiments.observation import Observation
from attest.experiments.permutation import attention_permutation
from attest.experiments.single_erasure import single_erasure


@dataclass(frozen=True)
class Asked:
    """What experiments need to know beside an observed batch."""

    labels: Tensor | None
    """int64 ``(B,)``, gold classes of the batch; None where they are not known."""
    everyone: Tensor
    """int64 ``(N,)``, the ids of all texts, of which E10 takes a sample."""
    seed: int = 0
    """With an instance's id it fixes that instance's random draws."""


Measure = Callable[[Observation, Asked], dict[str, Tensor]]
"""Columns ``(B,)`` and ``(B, T)`` of one experiment."""


def _importance(observation: Observation, asked: Asked) -> dict[str, Tensor]:
    return feature_importance(observation)


def _permutation(observation: Observation, asked: Asked, permutations: int = 100) -> dict[str, Tensor]:
    return attention_permutation(observation, permutations, asked.seed)


def _adversary(
    observation: Observation,
    asked: Asked,
    epsilon: float = 0.01,
    filter_epsilon: float = 0.05,
    restarts: int = 5,
    steps: int = 500,
) -> dict[str, Tensor]:
    search = {"restarts": restarts, "steps": steps, "seed": asked.seed} if restarts else None
    return adversarial_attention(observation, epsilon, filter_epsilon, search)


def _swap(observation: Observation, asked: Asked, projections: Mapping[str, Projection] | None = None) -> dict[str, Tensor]:
    shipped = {"softmax": Softmax(), "sparsemax": Sparsemax(), "entmax15": Entmax15()}
    return activation_swap(observation, shipped if projections is None else projections, asked.labels)


def _entropy(observation: Observation, asked: Asked, texts: int = 200, positions: int = 16) -> dict[str, Tensor]:
    sampled = torch.isin(observation.ids, sample_of_ids(asked.seed, asked.everyone, texts))
    return importance_entropy(observation, True, sampled, positions, asked.seed)


def _erasure(observation: Observation, asked: Asked) -> dict[str, Tensor]:
    return single_erasure(observation, asked.seed)


def _until_flip(observation: Observation, asked: Asked, draws: int = 5) -> dict[str, Tensor]:
    return erasure_until_flip(observation, asked.seed, draws)


def _determined(observation: Observation, asked: Asked) -> dict[str, Tensor]:
    return identifiability(observation)


POOLED: dict[str, Callable[..., dict[str, Tensor]]] = {
    "E1": _importance,
    "E2": _permutation,
    "E3": _adversary,
    "E8": _swap,
    "E10": _entropy,
    "E11": _erasure,
    "E12": _until_flip,
    "E13": _determined,
}
"""By id; parameters after the first two are the experiment's settings."""
OF_TOKENS = ("E1", "E10")
"""Those that follow the prediction down to the embedded tokens, and so need attention over tokens, not over sentences."""


def chosen(experiments: Iterable[str] | Mapping[str, Mapping[str, Any]]) -> dict[str, Measure]:
    """The experiments that somebody asks for, by id.

    Args:
        experiments: ids, or the settings of each by id: ``{"E2": {"permutations": 20}}``.
    Raises:
        AttestError: an id or a setting is not known, or there is no id.
    """
    names = [experiments] if isinstance(experiments, str) else list(experiments)
    settings = experiments if isinstance(experiments, Mapping) else {}
    if not names or (unknown := [name for name in names if name not in POOLED]):
        found = f"the experiment {unknown[0]!r} is not known" if names else "no experiment was asked for"
        raise AttestError(f"{found}; expected some of {', '.join(POOLED)}. For example: experiments=('E1', 'E2')")
    return {name: _with_settings(name, settings.get(name, {})) for name in names}


def settings_of(name: str) -> dict[str, Any]:
    """The settings of an experiment with their defaults, by name."""
    return {each.name: each.default for each in list(inspect.signature(POOLED[name]).parameters.values())[2:]}


def _with_settings(name: str, given: Mapping[str, Any]) -> Measure:
    known = settings_of(name)
    if unknown := [setting for setting in given if setting not in known]:
        raise AttestError(f"{name} has no setting {unknown[0]!r}; expected {', '.join(known) or 'none'}.")
    return partial(POOLED[name], **given)
