"""What to type for the controls of a run, so that it runs as it stands: its choices and its options."""

import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from attest.errors import AttestError
from attest.runs.choices import choice_arguments, configs_folder, default_choices
from attest.runs.class_paths import strange_class
from attest.runs.folder import RunFolder, read_yaml
from attest.runs.identity import identity_of
from attest.runs.lightly import import_lightly
from attest.runs.naming import UNNAMED, without_machine_keys
from attest.runs.remembered import Remembered

Settings = dict[str, Any]

NAME = re.compile(r"[\w.:+-]+")
CHOICES = ("data", "model", "scoring", "projection", "recipe")
"""The choices that a run's settings name."""
WHOLE = ("experiments",)
"""Settings whose entries are typed as a whole."""
UNIFORM = "--run.projection=uniform --model.init_args.network.init_args.projection=attest.attention.Uniform"


def control_commands(folder: RunFolder, settings: Settings) -> dict[str, str]:
    """What trains the ``uniform`` twin of a run and its other ``seeds``; a control itself has no ``uniform``.

    Args:
        folder: of the run.
        settings: its configuration.
    """
    run, seed = settings["run"], settings["seed_everything"]
    typed = _typed(folder, settings)
    if typed is None:
        again = f"attest fit {shlex.quote(f'--config={folder.config}')}"
        return {"uniform": f"{again} {UNIFORM}", "seeds": f"{again} --seed_everything={seed + 1}"}
    choices, options = typed
    arguments = f" ARGS={shlex.quote(shlex.join(options).replace('$', '$$'))}" if options else ""
    named = " ".join(shlex.quote(f"{name}={value}") for name, value in choices.items())
    if run["projection"] == "uniform" or run["model"] == "average":
        return {"seeds": f"make train {named} SEED={seed + 1}{arguments}"}
    return dict.fromkeys(("uniform", "seeds"), f"make controls {named} SEED={seed}{arguments}")


def _typed(folder: RunFolder, settings: Settings) -> tuple[dict[str, str], list[str]] | None:
    """The choices and options that give these settings; None where our choices do not."""
    run, root = settings["run"], _root(folder, settings)
    if strange_class(settings) or not all(NAME.fullmatch(str(run[name])) for name in CHOICES):
        return None  # nothing that a stranger may have written is resolved or put into a command
    choices = {name.upper(): run[name] for name in CHOICES if name != "recipe" or not _is_default_recipe(run)}
    elsewhere = [] if root == "runs" else [f"--run.root={root}"]
    if not identity_of(folder).variant:
        return choices, elsewhere
    if (experiments := _experiments(settings)) != default_choices(run["model"])["EXPERIMENTS"]:
        choices["EXPERIMENTS"] = experiments
    options = _remembered_options(choices, settings)
    return None if options is None else (choices, [*options, *elsewhere])


def _root(folder: RunFolder, settings: Settings) -> str:
    """The folder that the run lies in by its setting and its seed; of one that was copied elsewhere, where it was made."""
    run = identity_of(folder)
    place = Path(run.setting, f"seed{run.seed}")
    if Path(os.path.abspath(folder.path)).parts[-len(place.parts) :] != place.parts:
        return str(settings["run"]["root"])
    return str(folder.path.parents[2] if len(folder.path.parents) > 2 else folder.corpus.parent)


def _remembered_options(choices: dict[str, str], settings: Settings) -> list[str] | None:
    """As ``_options``; what they were for these settings before, unless they name a class that may change without us."""
    asked = hashlib.sha256(json.dumps([choices, without_machine_keys(settings)], sort_keys=True).encode()).hexdigest()
    remembered = Remembered("commands.json")
    if asked not in remembered:
        import_lightly(())
        remembered[asked] = _options(choices, settings)
        remembered.keep()
    return remembered[asked]


def _options(choices: dict[str, str], settings: Settings) -> list[str] | None:
    """What must be typed beside the choices to get these settings; None where nothing does."""
    try:
        options = [f"--{key}={_as_typed(value)}" for key, value in _differences(settings, _resolved(choices))]
        reached = without_machine_keys(_resolved(choices, options)) == without_machine_keys(settings)
    except AttestError:
        return None
    return options if reached else None


def _is_default_recipe(run: Settings) -> bool:
    file = configs_folder() / "model" / f"{run['model']}.yaml"
    return file.is_file() and read_yaml(file)["run"]["recipe"] == run["recipe"]


def _experiments(settings: Settings) -> str:
    """The choice of experiments that names most of those that the run names, and no other; the model's own where none does."""
    named, default = {*(settings.get("experiments") or {})}, default_choices(settings["run"]["model"])["EXPERIMENTS"]
    files = sorted((configs_folder() / "experiments").glob("*.yaml"))
    shipped = {file.stem: {*(read_yaml(file)["experiments"] or {})} for file in files}
    within = {name: (len(identities), name == default) for name, identities in shipped.items() if identities <= named}
    return max(within, key=lambda name: within[name], default=default)


def _resolved(choices: dict[str, str], options: list[str] | None = None) -> Settings:
    """The whole configuration that choices and options give."""
    from attest.runs.configured import resolve, resolve_once  # which takes seconds to import

    named = choice_arguments(UNNAMED | choices)
    return resolve([*named, *options]) if options else resolve_once(named)


def _differences(ours: Settings, theirs: Settings, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Settings that must be typed to get from theirs to ours, machine keys left out, by dotted name."""
    if not prefix:
        ours, theirs = without_machine_keys(ours), without_machine_keys(theirs)
    for name in sorted({*ours, *theirs}):
        mine, other = ours.get(name), theirs.get(name)
        if name in ours and name in theirs and mine == other:
            continue
        if isinstance(mine, dict) and isinstance(other, dict) and _mergeable(mine, other, prefix):
            yield from _differences(mine, other, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", mine


def _mergeable(ours: Settings, theirs: Settings, prefix: str) -> bool:
    """Whether entries of a setting can be typed one by one: its class is the same, and it takes them so."""
    return ours.get("class_path") == theirs.get("class_path") and prefix.rstrip(".") not in WHOLE


def _as_typed(value: Any) -> str:
    """A value as YAML reads it back; plain words stay as they are."""
    return value if isinstance(value, str) and yaml.safe_load(value) == value else json.dumps(value)
