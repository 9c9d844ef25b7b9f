"""All experiments by id, found in the modules below ``attest.experiments`` that define ``SPEC`` or ``SPECS``.

Adding an experiment takes its file here, an entry in ``configs/sizes.yaml`` and one test; “Your own experiment” in the
documentation has an example.
"""

import inspect
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from importlib import import_module
from typing import Any, Literal, get_args, get_origin

from torch import Tensor

import attest.experiments as room
from attest.core.bounds import require_bounds, require_given
from attest.core.errors import AttestError
from attest.core.kinds import CLASSES, NUMBER, TAGS, Kind
from attest.experiments.deciding.neutral import Neutral
from attest.experiments.erasure.operators import Background
from attest.experiments.readings.compared import Clock
from attest.experiments.sampling import Everyone
from attest.experiments.spec import Column, Inside, Spec
from attest.models.layers_observed import LayerObservation
from attest.models.observation import Observation
from attest.models.prediction import kind_of

NO_EXPERIMENTS = ("registry", "stopping", "verdict")
"""The modules in ``attest/experiments`` that the search for experiments skips: they define none, and importing them could
import this module again while it is being loaded."""


def _stated(name: str) -> list[Any]:
    files = (module.name for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."))
    found = (getattr(import_module(file), name, None) for file in files if file.split(".")[2] not in NO_EXPERIMENTS)
    return [each for each in found if each is not None]


def by_id(specs: Iterable[Spec]) -> dict[str, Spec]:
    """Return descriptions by their ids, in the order of reports; a ``ValueError`` if two have the same id."""
    found: dict[str, Spec] = {}
    for spec in sorted(specs, key=lambda spec: spec.order):
        if spec.id in found:
            raise ValueError(f"two experiments have the id {spec.id}: {found[spec.id].name} and {spec.name}")
        found[spec.id] = spec
    return found


EXPERIMENTS = by_id([*_stated("SPEC"), *(spec for several in _stated("SPECS") for spec in several)])
"""The description of every experiment, by its id, in the order in which reports list them."""

INSIDE: dict[str, Inside] = {each.id: each for each in _stated("INSIDE") if not each.of_tags}
OF_TAGS: dict[str, Inside] = INSIDE | {each.id: each for each in _stated("INSIDE") if each.of_tags}
"""The experiments on attention inside the layers of a Transformer that suit taggers, by id. Those for models that decide about
whole texts are in ``INSIDE``."""


def measures() -> dict[str, Column]:
    """Return every measure by its key, such as ``E1/tau_gradient_inputs``, in the order of the report."""
    return {f"{spec.id}/{measure.name}": measure for spec in EXPERIMENTS.values() for measure in spec.measures}


@dataclass(frozen=True)
class Context:
    """The data that experiments may need in addition to a batch, such as gold labels and a seed."""

    labels: Tensor | None
    """int64 ``(B,)``: the true class of each text of the batch; for a tagger int64 ``(B, T)``, true tags. None if they are not
    known."""
    everyone: Everyone
    """The ids of all texts, or only their number, so that an experiment can draw the same random sample of texts in every
    batch. None if not even the number is known."""
    seed: int = 0
    """The seed of all random draws. Together with the id of a text it fixes the draws for this text."""
    background: Background | None = None
    """Training texts, from which replacements of erased tokens are drawn; None if there are none."""
    truth: Tensor | None = None
    """bool ``(B, T)``: True at the tokens that decide the label according to the corpus; None if the corpus does not say
    so."""
    clock: Clock | None = None
    """A record of the seconds that experiment E15 spends on each explanation that it compares; None if they are not
    recorded."""
    place: Tensor | None = None
    """For taggers, int64 ``(B,)``: people have marked the words that decide the tag of one token; this is the position of that
    token in each sentence, below 0 in sentences without marks. None if there are no marks at all."""
    marks: Tensor | None = None
    """float ``(B, T, A)``: what each of A annotators marked: 1 at the tokens that, in their opinion, decide the label, 0 at
    others, NaN in a text that the annotator did not mark. None if nobody marked tokens."""
    words: Tensor | None = None
    """int64 ``(B, T)``: the index of the word that each token belongs to, below 0 if it belongs to none; None if words are not
    known."""
    neutral: tuple[Neutral, Neutral] | None = None
    """Two pools of neutral words (words that hardly move the model); experiment E19 puts them in the place of other words.
    None if they have not been searched for."""
    head_means: Mapping[str, Tensor] | None = None
    """By layer, float64 ``(N, D)``: the mean output of each of N attention heads over all tokens of all texts; it replaces the
    output of a head that is switched off. None if it is not known."""


@dataclass(frozen=True)
class ConfiguredExperiment:
    """An experiment with its settings, ready to be run on observed batches."""

    id: str
    run: Callable[..., dict[str, Tensor]]
    reads: tuple[str, ...] = ()
    """The names of the fields of ``Context`` that the function ``run`` needs; it gets them as keyword arguments."""
    samples: bool = False
    """Whether the experiment measures some of its columns only on a random sample of the texts; it is then never stopped
    early."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    inside: bool = False
    """Whether ``run`` takes a ``LayerObservation`` (attention inside the layers of a Transformer), and not an ``Observation``
    (attention that pools the tokens)."""

    def __call__(self, observation: Observation | LayerObservation, context: Context) -> dict[str, Tensor]:
        """Run the experiment on a batch; return columns with a number per text ``(B,)`` or per token ``(B, T)``.

        If the network returns one number, ``of_numbers`` of the experiment names the columns.
        """
        columns = self.run(observation, **{name: getattr(context, name) for name in self.reads}, **self.settings)
        described = EXPERIMENTS.get(self.id)  # None for a function of somebody's own
        if described is None or described.of_numbers is None or kind_of(observation.network) != NUMBER:
            return columns
        return described.of_numbers.named(columns)

    @property
    def defaults(self) -> dict[str, Any]:
        """Return the settings with their defaults, by name: all other parameters of the function."""
        _, *parameters = inspect.signature(self.run).parameters.values()
        return {each.name: each.default for each in parameters if each.name not in self.reads}


def _described(described: Spec | Inside) -> ConfiguredExperiment:
    assert described.run is not None
    inside = isinstance(described, Inside)
    return ConfiguredExperiment(described.id, described.run, described.reads, described.samples, inside=inside)


def own_experiment(id: str, run: Callable[..., dict[str, Tensor]], reads: Sequence[str] | None = None) -> ConfiguredExperiment:
    """Return an experiment from a function that no ``SPEC`` describes.

    Args:
        reads: the attributes of ``Context`` that the function is given. None: those that its parameters are named after.
            A parameter ``texts`` is the size of a sample.
    Raises:
        AttestError: ``Context`` has no such attribute, or the function no such parameter; or the id is that of an experiment
            whose columns mean something else.
    """
    theirs = [of[id].run for of in (EXPERIMENTS, OF_TAGS) if id in of]
    if theirs and (run.func if isinstance(run, partial) else run) not in theirs:
        raise AttestError(
            f"{id} is an experiment of Attest, and the given function is another; expected an id that no experiment has. "
            "Write for example: Experiment('mine', function)"
        )
    known, (_, *parameters) = [each.name for each in fields(Context)], inspect.signature(run).parameters
    given = [name for name in known if name in parameters]
    if wrong := [name for name in reads or () if name not in given]:
        raise AttestError(
            f"reads={wrong[0]!r} of {id}: "
            + (f"{run.__name__} has no such parameter" if wrong[0] in known else "nothing of this name can be read")
            + f"; expected parameters of {run.__name__} that are among: {', '.join(known)}."
        )
    return ConfiguredExperiment(id, run, tuple(given if reads is None else reads), samples="texts" in parameters)


def runnable() -> dict[str, Spec]:
    """Return the experiments that can be run on observed batches, by id."""
    return {name: spec for name, spec in EXPERIMENTS.items() if spec.run is not None}


def askable(inside: bool = False, kind: Kind = CLASSES) -> dict[str, ConfiguredExperiment]:
    """Return each experiment that suits a kind of network, with default settings, by its id.

    Args:
        inside: whether its attention is inside the layers of a Transformer alone. Experiments that ask which tokens matter
            are then run on attention rollout, which leads from the decision down to the tokens.
        kind: what it decides. Of a tagger nothing is asked about the text as a whole, and of one number only what a spec has
            ``of_numbers`` for.
    """
    within = {} if not inside else OF_TAGS if kind == TAGS else INSIDE
    found = {}
    for name, spec in EXPERIMENTS.items():
        if not kind.chooses and spec.of_numbers is None:
            continue
        if name in within:
            found[name] = _described(within[name])
        elif spec.run is not None and (not inside or (spec.of_tokens and kind != TAGS)):
            found[name] = _described(spec)
    return found


def suited(network: Any) -> list[str]:
    """Return the ids of the experiments for a network that has attention only inside its layers."""
    kind = kind_of(network)
    within, asked = OF_TAGS if kind == TAGS else INSIDE, askable(True, kind)
    return [name for name in asked if name not in within or within[name].suits(network)]


def require_declared(
    settings: Mapping[str, Any], run: Callable[..., Any], shown: Callable[[str], str] = "`{}`".format
) -> None:
    """Raise an ``AttestError`` if a setting is not of the values that the signature of an experiment declares.

    Truth values must be ``True`` or ``False``, and lists of words (``Sequence[Literal[…]]``) may have these words alone. None
    is always allowed.
    """
    parameters = inspect.signature(run).parameters
    for name, value in settings.items():
        declared = parameters[name].annotation if name in parameters else None
        words = next((get_args(each) for each in get_args(declared) if get_origin(each) is Literal), ())
        if value is None:
            continue
        if declared is bool and not isinstance(value, bool):
            raise AttestError(f"{shown(name)} is {value!r}; expected True or False.")
        if words and (not isinstance(value, list | tuple) or not {*value} <= {*words} or not value):
            known = ", ".join(map(repr, words))
            raise AttestError(f"{shown(name)} is {value!r}; expected a list with one or more of: {known}.")


def chosen(
    experiments: Iterable[str] | Mapping[str, Mapping[str, Any]],
    inside: bool = False,
    kind: Kind = CLASSES,
) -> dict[str, ConfiguredExperiment]:
    """Return the experiments that a user asks for, by id.

    Args:
        experiments: ids, or the settings of each by id: ``{"E2": {"permutations": 20}}``.
        inside, kind: as in ``askable``.
    Raises:
        AttestError: an id or a setting is not known, or there is no id.
    """
    names = [experiments] if isinstance(experiments, str) else list(experiments)
    settings = experiments if isinstance(experiments, Mapping) else {}
    known = askable(inside, kind)
    others = [name for name in names if name in askable(inside) and name not in known]
    if kind == TAGS and others:
        raise AttestError(
            f"{others[0]} is for models that decide about a text, and this model decides about each token; expected one or "
            f"more of: {', '.join(known)}."
        )
    if not kind.chooses and others:
        raise AttestError(
            f"{others[0]} is for models that choose a class, and this model returns one number; expected one or more of: "
            f"{', '.join(known)}."
        )
    if not names or (unknown := [name for name in names if name not in known]):
        wrong = f"the experiment {unknown[0]!r} is not known" if names else "no experiment was given"
        raise AttestError(f"{wrong}; expected one or more of: {', '.join(known)}. For example: experiments=('E1', 'E2')")
    found = {}
    for name in names:
        given, expected = settings.get(name, {}), known[name].defaults
        if unknown := [setting for setting in given if setting not in expected]:
            raise AttestError(f"{name} has no setting {unknown[0]!r}; its settings: {', '.join(expected) or 'none'}.")
        said = f"the setting `{{}}` of {name}".format
        require_given({setting: value for setting, value in given.items() if expected[setting] is not None}, said)
        require_bounds(given, said)
        require_declared(given, known[name].run, said)
        found[name] = replace(known[name], settings=given)
    return found
