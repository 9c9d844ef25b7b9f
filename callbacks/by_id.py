"""The callback of each experiment of a run, found by the experiment's id and by where the model has its attention.

``attest fit`` and ``attest evidence`` make their callbacks here from the settings of a run; in a Trainer of your own, name the
class. Start at ``callback_of``.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from pytorch_lightning import LightningModule
from pytorch_lightning.cli import instantiate_class

from attest.callbacks import experiment as callbacks
from attest.callbacks.evidence import Evidence
from attest.callbacks.instances import AttentionMaps, Instances, TaggedInstances
from attest.core.errors import AttestError
from attest.core.kinds import TAGS
from attest.experiments.registry import askable
from attest.models.traits import network_in, traits_of
from attest.runs.capabilities import learned_by
from attest.runs.experiment_settings import is_own_class

Named = Mapping[str, type[Evidence]]
POOLED: Named = {
    each.id: each
    for each in (
        Instances,
        callbacks.FeatureImportance,
        callbacks.AttentionPermutation,
        callbacks.AdversarialAttention,
        callbacks.ActivationSwap,
        callbacks.ImportanceEntropy,
        callbacks.SingleErasure,
        callbacks.ErasureUntilFlip,
        callbacks.Identifiability,
        callbacks.Erasure,
        callbacks.SideBySide,
        callbacks.WhatDecides,
    )
}
INSIDE: Named = {
    each.id: each
    for each in (
        AttentionMaps,
        callbacks.LayerPermutation,
        callbacks.LayerAdversarialAttention,
        callbacks.LayerActivationSwap,
        callbacks.KeyShuffle,
        callbacks.LayerIdentifiability,
    )
}
OF_TAGS: Named = {each.id: each for each in (TaggedInstances, callbacks.TagErasure, callbacks.TagDecides)}
"""The callbacks that only taggers have, by the id of their experiment or the name of their table. Those for other models are
in ``POOLED`` (attention that pools the tokens) and ``INSIDE`` (attention inside layers)."""


def callback_of(name: str, settings: Mapping[str, Any], model: LightningModule) -> Evidence:
    """Return the callback of an experiment.

    Args:
        name: the experiment's id, such as ``E2``, or the name of a table, such as ``instances``.
        settings: its settings by name; or ``class_path`` and ``init_args`` of somebody's own callback.
        model: what is tested. Its ``network`` says whether it pools by attention, and ``predicts`` whether it tags.
    Raises:
        AttestError: a setting is unknown, the experiment is not for such a model, or a class has another id than ``name``.
    """
    if is_own_class(settings):
        own = instantiate_class((), dict(settings))
        said = own.id if isinstance(own, Evidence) else None
        if said != name:
            raise AttestError(
                f"experiments.{name} is {type(own).__name__}, whose id is {said}; expected a callback for an experiment with "
                f"this id. Call it {name} in its class, or name it experiments.{said or name}."
            )
        return own
    make, known = _maker(name, model), {setting: _made(value) for setting, value in settings.items()}
    try:
        inspect.signature(make).bind(**known)
    except TypeError as error:
        known_to = ", ".join(inspect.signature(make).parameters) or "none"
        raise AttestError(f"{name} cannot be set like this ({error}); its settings: {known_to}.") from error
    return make(**known)


def _maker(name: str, model: LightningModule) -> Callable[..., Evidence]:
    tags = learned_by(model) == TAGS.label
    pools = traits_of(network_in(model)).pools_by_attention and not tags
    named = {**INSIDE, **OF_TAGS} if tags else POOLED if pools else {**POOLED, **INSIDE}
    if name in named:
        return named[name]
    known = askable(not pools, TAGS) if tags else askable(not pools)
    if name not in known:
        raise AttestError(
            f"{name} is not for {type(model).__name__}, which "
            f"{'decides each token' if tags else 'pools tokens by attention' if pools else 'has attention inside layers'}; "
            f"expected one or more of: {', '.join([*named, *(each for each in known if each not in named)])}. "
            f"Type --experiments.{name}=null"
        )
    generic = callbacks.LayerExperiment if known[name].inside else callbacks.Experiment
    return lambda **options: generic(name, **options)


def _made(value: Any) -> Any:
    """Return a setting in which each ``class_path`` has become an object, such as a projection."""
    if isinstance(value, Mapping) and "class_path" in value:
        return instantiate_class((), dict(value))
    return {name: _made(each) for name, each in value.items()} if isinstance(value, Mapping) else value
