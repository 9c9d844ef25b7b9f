"""The settings of a run's experiments, spelled as in a trial: ``{"E2": {"permutations": 20}}``; None leaves one out.

A choice of experiments, such as ``EXPERIMENTS=pooled``, is a file that names a row of ``configs/sizes.yaml``. Which
experiments run at each place of attention, and how large they are, stands there alone. Start at ``sized``.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import yaml

from attest.core.errors import AttestError
from attest.core.places import configs_folder

Experiments = dict[str, dict[str, Any] | None]
EXPERIMENTS = "experiments"
"""The section of a configuration that holds the settings of the experiments."""
OURS = "attest.callbacks."
NAMED = ("Experiment", "LayerExperiment")
"""The class names of the callbacks that can run any experiment; their argument ``id`` says which one."""
ATTACKS = ("AttackedInstances", "KeyAttack", "KeyAttackMaps")
"""The class names of the callbacks for runs whose attention keys are attacked. A configuration must name them by class,
because the id of their experiment stands for another callback."""
SHIPPED = {
    "softmax": {"class_path": "attest.core.attention.Softmax"},
    "sparsemax": {"class_path": "attest.core.attention.Sparsemax"},
    "entmax15": {"class_path": "attest.core.attention.Entmax15"},
}
"""The projections (functions from scores to attention) that experiment E8 uses by default, in the form in which configurations
before 2026-11-29 wrote them."""


def sized(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a configuration file with the sizes of its experiments in place of ``sizes: <row>``.

    Without experiments of its own the file has all those with this row in ``configs/sizes.yaml``. What it says of an
    experiment overrides the size that stands there.

    Raises:
        AttestError: there are no sizes of this name.
    """
    if "sizes" not in content:
        return content
    row, rows = content["sizes"], {row for sizes in _sizes().values() for row in sizes}
    if row not in rows:
        raise AttestError(f"sizes is {row!r}; expected a row of configs/sizes.yaml: {', '.join(sorted(rows))}.")
    rest = {name: value for name, value in content.items() if name != "sizes"}
    asked = content.get(EXPERIMENTS, {name: {} for name, sizes in _sizes().items() if row in sizes})
    experiments = spelled_plainly(asked)
    return rest | {
        "experiments": {
            name: given if given is None or is_own_class(given) else _sizes().get(name, {}).get(row, {}) | given
            for name, given in experiments.items()
        }
    }


@cache
def _sizes() -> dict[str, dict[str, dict[str, Any]]]:
    return yaml.safe_load((configs_folder() / "sizes.yaml").read_text(encoding="utf-8"))


def spelled_plainly(experiments: Any) -> Experiments:
    """Return the settings of experiments in today's spelling.

    Until 2026-11-29, runs named the callback of each experiment: ``{"class_path": "attest.callbacks.AttentionPermutation",
    "init_args": {"permutations": 20}}``. Files and commands of that time are read by this function. A class of somebody else
    is still named like this.

    Raises:
        AttestError: settings are not a mapping of names to values.
    """
    if not isinstance(experiments, Mapping):
        raise AttestError(
            f"experiments is {experiments!r}; expected the settings of each experiment by its id, such as "
            "{E2: {permutations: 20}}. Type for example: --experiments.E2.permutations=20"
        )
    return {str(name): _plain(str(name), given) for name, given in experiments.items()}


def _plain(name: str, given: Any) -> dict[str, Any] | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise AttestError(
            f"experiments.{name} is {given!r}; expected its settings by name, such as {{permutations: 20}}, or null, which "
            f"leaves it out. Type for example: --experiments.{name}.every_n_epochs=0 or --experiments.{name}=null"
        )
    path = given.get("class_path")
    if is_own_class(given):
        return dict(given)
    beside = {setting: value for setting, value in given.items() if setting not in ("class_path", "init_args")}
    return beside | dict(_settings_of_old(given.get("init_args") or {}, path))


def is_own_class(given: Mapping[str, Any]) -> bool:
    """Return whether settings name the class of a callback, which the id of the experiment does not tell."""
    path = given.get("class_path")
    return path is not None and not (str(path).startswith(OURS) and str(path).rpartition(".")[2] not in ATTACKS)


def _settings_of_old(arguments: Mapping[str, Any], path: Any) -> Iterator[tuple[str, Any]]:
    """Yield the arguments of a callback that say more than its defaults."""
    named = str(path).rpartition(".")[2] in NAMED
    for setting, value in arguments.items():
        default = value is None or (setting, value) == ("explanation", "attention") or _are_shipped(setting, value)
        if not default and not (named and setting in ("id", "experiment")):
            yield setting, value


def _are_shipped(setting: str, value: Any) -> bool:
    if setting != "projections" or not isinstance(value, Mapping):
        return False
    return {name: _bare(each) for name, each in value.items()} == SHIPPED


def _bare(projection: Any) -> Any:
    if not isinstance(projection, Mapping):
        return projection
    return {name: value for name, value in projection.items() if name != "init_args" or value}
