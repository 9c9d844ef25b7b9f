"""All experiments by id: every module below ``attest.experiments`` that holds a ``SPEC`` is one.

Adding an experiment takes its file here, one line of configuration and one test; docs/your-own-experiment.md has an example.
"""

import inspect
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from torch import Tensor

import attest.experiments as room
from attest.core.bounds import require_bounds
from attest.core.errors import AttestError
from attest.experiments.layers.inside import INSIDE, OF_ROLLOUT, OF_TAGS
from attest.experiments.spec import Measure, Spec
from attest.models.layers_observed import LayerObservation
from attest.models.observation import Observation

NO_EXPERIMENTS = ("judges", "registry", "stopping")
"""What lies in the folder of the experiments and imports this file."""


def _found() -> dict[str, Spec]:
    names = (module.name for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."))
    specs = (getattr(import_module(name), "SPEC", None) for name in names if name.split(".")[2] not in NO_EXPERIMENTS)
    return {spec.id: spec for spec in sorted(filter(None, specs), key=lambda spec: spec.order)}


EXPERIMENTS: dict[str, Spec] = _found()
"""By id, in the order in which reports list them."""


def measures() -> dict[str, Measure]:
    """Every measure by its key, ``E1/tau_gradient_inputs``, in the order of the report."""
    return {f"{spec.id}/{measure.column}": measure for spec in EXPERIMENTS.values() for measure in spec.measures}


def range_of(key: str) -> tuple[float, float]:
    """The least and the greatest value of a measure; of one that is not described, 0 and 1.

    Args:
        key: ``E1/tau_gradient_inputs``.
    """
    experiment, _, name = key.partition("/")
    column = EXPERIMENTS[experiment].column(name) if experiment in EXPERIMENTS else None
    return (0.0, 1.0) if column is None or column.range is None else column.range


TOLD = ("labels", "everyone", "seed")
"""Parameters of experiments that are no settings."""


@dataclass(frozen=True)
class Asked:
    """What experiments may need to know beside an observed batch."""

    labels: Tensor | None
    """int64 ``(B,)``, gold classes of the batch; None where they are not known."""
    everyone: Tensor
    """int64 ``(N,)``, the ids of all texts, of which some experiments take a sample."""
    seed: int = 0
    """With an instance's id it fixes that instance's random draws."""


@dataclass(frozen=True)
class Run:
    """An experiment with its settings, ready to be run on one observed batch after the other."""

    spec: Spec
    settings: Mapping[str, Any]
    inside: Callable[..., dict[str, Tensor]] | None = None
    """What runs in its place inside the layers of a Transformer, on a ``LayerObservation``."""

    def __call__(self, observation: Observation | LayerObservation, asked: Asked) -> dict[str, Tensor]:
        """Columns ``(B,)``, one number a text, and ``(B, T)``, one a token."""
        run = self.inside or self.spec.run
        assert run is not None, "chosen() takes those alone that can be run"
        known = inspect.signature(run).parameters
        told = {name: getattr(asked, name) for name in TOLD if name in known}
        return run(observation, **told, **self.settings)

    @property
    def takes(self) -> set[str]:
        """Names of the settings that it can be given."""
        run = self.inside or self.spec.run
        return set() if run is None else {*settings_of(run)}


def runnable() -> dict[str, Spec]:
    """The experiments that one observed batch after the other can answer."""
    return {name: spec for name, spec in EXPERIMENTS.items() if spec.run is not None}


def runnable_inside(tags: bool = False) -> dict[str, Callable[..., dict[str, Tensor]] | None]:
    """What can be asked of a Transformer with attention inside its layers alone, by id in the order of reports.

    The function that is run inside the layers; None where the experiment itself is run on attention rollout.

    Args:
        tags: whether it decides each token; then nothing is left of those with None.
    """
    known = INSIDE | OF_TAGS if tags else INSIDE
    return {name: known.get(name) for name in EXPERIMENTS if name in known or name in OF_ROLLOUT}


def settings_of(run: Callable[..., Any]) -> dict[str, Any]:
    """The settings of an experiment with their defaults, by name."""
    given = list(inspect.signature(run).parameters.values())[1:]
    return {each.name: each.default for each in given if each.name not in TOLD}


def chosen(
    experiments: Iterable[str] | Mapping[str, Mapping[str, Any]], inside: bool = False, tags: bool = False
) -> dict[str, Run]:
    """The experiments that somebody asks for, by id.

    Args:
        experiments: ids, or the settings of each by id: ``{"E2": {"permutations": 20}}``.
        inside: whether they are asked of the layers of a Transformer.
        tags: whether that decides each token.
    Raises:
        AttestError: an id or a setting is not known, or there is no id.
    """
    names = [experiments] if isinstance(experiments, str) else list(experiments)
    settings = experiments if isinstance(experiments, Mapping) else {}
    known = runnable_inside(tags) if inside else dict.fromkeys(runnable())
    if not names or (unknown := [name for name in names if name not in known]):
        found = f"the experiment {unknown[0]!r} is not known" if names else "no experiment was asked for"
        raise AttestError(f"{found}; expected some of {', '.join(known)}. For example: experiments=('E1', 'E2')")
    return {name: _with_settings(EXPERIMENTS[name], known[name], settings.get(name, {})) for name in names}


def _with_settings(spec: Spec, inside: Callable[..., dict[str, Tensor]] | None, given: Mapping[str, Any]) -> Run:
    run = inside or spec.run
    assert run is not None
    known = settings_of(run)
    if unknown := [setting for setting in given if setting not in known]:
        raise AttestError(f"{spec.id} has no setting {unknown[0]!r}; expected {', '.join(known) or 'none'}.")
    require_bounds(given, f"the setting {{}} of {spec.id}".format)
    return Run(spec, given, inside)
