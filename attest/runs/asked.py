"""The configuration that a user asked for in a run, and the run folder that follows from the configuration.

The name of a run follows from the merged files and options that were typed, and not from the defaults of classes: a new
default or a new experiment never renames a finished run. An option that is typed with its default value gives another name.
Start at ``AskedRun.of`` and ``run_path``.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from attest.core.bounded_yaml import YAML, bounded
from attest.core.errors import AttestError
from attest.runs.choices import CONFIG, CONFIG_FLAGS, choice_arguments, expand
from attest.runs.experiment_settings import EXPERIMENTS, sized, spelled_plainly


@dataclass
class RunSettings:
    """The settings in section ``run`` of a configuration: how a run is named, computed and stored.

    Args:
        root: folder of all runs.
        data, recipe, model, scoring, projection: readable names of the configurations that make up the run.
        monitor: logged validation score that chooses the best epoch.
        mode: whether the best score is the largest (``max``) or the smallest (``min``).
        patience: training stops when the best score is so many validations old, usually epochs. None leaves it to the recipe:
            some recipes stop early by a callback of their own, which a number here replaces.
        force: whether to delete an existing run and begin afresh.
        threads: intra-op threads of a process on the CPU; results are bit-identical only for equal numbers.
        compile: whether ``torch.compile`` compiles the network for its training steps. It takes a minute or two; whether steps
            are faster then, try. Weights differ, as dropout draws other numbers. Evidence reads the network as it is.
        processes: number of processes that compute evidence after training on the CPU; results are bit-identical for all
            numbers. None for one process for each core.
        checkpoint_every_n_batches: number of training batches between checkpoints, the most that a killed run loses.
        evidence_while_training: whether evidence is also computed after each validation; without it, training is faster and
            gives the same model, but there are no curves of evidence.
        validation_seconds: most seconds that each experiment may take at the end of one validation. One that takes longer is
            left out of all further validations, and stays in the test; None for no limit.
        memory_gib: working memory that evidence may use besides the loaded model and batch, in GiB.
        max_evidence_tokens: largest length of a text in evidence that compares every token with every other. Longer texts, and
            texts whose token pairs do not fit into ``memory_gib``, are left out: their columns are NaN, and they are counted.
        max_search_steps: upper limit on the steps of each experiment that searches, also if ``experiments`` has more; None for
            no limit.
        until: largest half-width of the 95 % intervals of means on the test split, in the units of the means, such as 0.01.
            Texts are then read in random order, and an experiment stops when its intervals are so narrow. None: all texts.
        upload_texts: whether W&B gets texts of your own data, ``DATA=files`` or a class of yours; texts of public corpora are
            logged in any case.
        upload_weights: whether W&B gets the weights of the model.
    """

    root: str = "runs"
    data: str = "unnamed"
    recipe: str = "unnamed"
    model: str = "unnamed"
    scoring: str = "unnamed"
    projection: str = "unnamed"
    monitor: str = "validation/loss"
    mode: Literal["max", "min"] = "min"
    patience: int | None = None
    force: bool = False
    threads: int = 1
    compile: bool = False
    processes: int | None = None
    checkpoint_every_n_batches: int = 100
    evidence_while_training: bool = True
    validation_seconds: float | None = None
    memory_gib: float = 1.0
    max_evidence_tokens: int = 3000
    max_search_steps: int | None = None
    until: float | None = None
    upload_texts: bool = False
    upload_weights: bool = True


NAME = re.compile(r"\w[\w.-]*")
NAME_PARTS = ("recipe", "model", "scoring", "projection")


def differing_keys(ours: dict[str, Any], theirs: dict[str, Any], prefix: str = "") -> list[str]:
    """Return the dotted names of all settings that occur in both configurations with different values."""
    keys = []
    for name in sorted({*ours} & {*theirs}):
        mine, other = ours[name], theirs[name]
        if isinstance(mine, dict) and isinstance(other, dict):
            keys += differing_keys(mine, other, f"{prefix}{name}.")
        elif mine != other:
            keys.append(f"{prefix}{name}")
    return keys


def readable_name(run: Mapping[str, Any]) -> str:
    """Return ``<recipe>-<model>-<scoring>-<projection>``, the readable part of a run folder's name."""
    return portable("-".join(run[part] for part in NAME_PARTS))


def portable(name: str) -> str:
    """Return a name that every system accepts for a folder, such as ``entmax-1.3`` for ``entmax:1.3``."""
    return name.replace(":", "-")


Settings = dict[str, Any]

NO_PART = ("seed_everything", "experiments", "config", "ckpt_path", "weights_only", "verbose")
"""Sections of a configuration that do not identify a run, and so are no part of its name. Runs with other seeds have folders
of their own, and experiments can be run at any time."""
OF_THE_MACHINE = {
    "run": (
        *("root", "force", "threads", "compile", "processes", "checkpoint_every_n_batches", "evidence_while_training"),
        *("validation_seconds", "memory_gib"),
        *("max_evidence_tokens", "max_search_steps", "until", "upload_texts", "upload_weights"),
    ),
    "trainer": (
        *("accelerator", "devices", "num_nodes", "strategy", "logger", "log_every_n_steps", "enable_progress_bar"),
        *("enable_model_summary", "default_root_dir", "profiler"),
    ),
    "data": ("num_workers",),
}
"""The settings that only say where and how a run is computed, by section of the configuration. They do not identify a run, and
so are no part of its name. Those listed under ``data`` are arguments of the DataModule."""
OWN_CLASS = re.compile(r"attest(?:\.\w+)*\.(\w+)")
"""Matches the import path of a class of Attest. Only the name of the class identifies a run, so that classes may be moved to
other modules."""


@dataclass(frozen=True)
class AskedRun:
    """The user's request for a run: choices on the command line, configuration files and options."""

    typed: tuple[str, ...]
    arguments: list[str]
    """The arguments that LightningCLI gets: all configuration files merged into one argument, then the options that the user
    typed."""
    settings: Settings
    """The configuration that results from the files and the typed options together, as a nested dictionary."""

    @classmethod
    def of(cls, words: Sequence[str]) -> "AskedRun":
        """Return the run that the user's choices, configuration files and options describe."""
        files, options = merged_files(expand(words))
        settings = with_options(files, options)
        if EXPERIMENTS in settings:  # the parser of LightningCLI would replace all settings of an experiment by a typed one
            settings[EXPERIMENTS] = files[EXPERIMENTS] = spelled_plainly(settings[EXPERIMENTS])
            options = _without_experiments(options)
        configuration = [as_argument(files)] if files else []
        return cls(tuple(words), [*configuration, *options], settings)


def merged_files(arguments: Sequence[str]) -> tuple[Settings, list[str]]:
    """Return the merged settings of all configuration files among the arguments, and the other arguments."""
    settings: Settings = {}
    options = []
    remaining = iter(arguments)
    for argument in remaining:
        if argument in CONFIG_FLAGS or argument.startswith(CONFIG):
            given = next(remaining, "") if argument in CONFIG_FLAGS else argument.removeprefix(CONFIG)
            settings = merged(settings, _sections(given))
        else:
            options.append(argument)
    return settings, options


def as_argument(settings: Settings) -> str:
    """Return a configuration as an argument ``--config={…}``, which LightningCLI reads like a configuration file."""
    return CONFIG + yaml.dump(settings, Dumper=_Quoting, sort_keys=False, default_flow_style=True, width=math.inf)


class _Quoting(yaml.SafeDumper):
    """A YAML writer that quotes all strings, because YAML readers disagree on which words are numbers."""


_Quoting.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


def _sections(file: str) -> Settings:
    inline = file.startswith("{")
    if not inline and not Path(file).is_file():
        raise AttestError(f"{file} does not exist; expected a configuration file. Type --config=<file>.yaml")
    try:
        content = yaml.load(bounded(file if inline else Path(file).read_text(encoding="utf-8")), YAML)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise AttestError(
            f"{file} is not a configuration ({reason}); expected YAML with the keys that `attest fit --help all` lists."
        ) from error
    if content is not None and not isinstance(content, dict):
        raise AttestError(f"{file} contains a {type(content).__name__}; expected sections such as data:, model:, trainer:.")
    return sized(content or {})


def merged(first: Any, second: Any, keep_arguments: bool = False) -> Any:
    """Merge two configurations; the second overrides the first.

    Args:
        keep_arguments: whether the arguments of a class remain if another class takes its place.
    """
    if not (isinstance(first, dict) and isinstance(second, dict)):
        return second
    if not keep_arguments and second.get("class_path", first.get("class_path")) != first.get("class_path"):
        return second
    both = {name: merged(first[name], value, keep_arguments) for name, value in second.items() if name in first}
    return first | second | both


def asked_settings(arguments: Sequence[str]) -> Settings:
    """Merge the user's configuration files and options into one configuration."""
    return with_options(*merged_files(arguments))


def with_options(settings: Settings, options: Sequence[str]) -> Settings:
    """Return the configuration changed by the options, such as ``--name=value`` or ``--name value``."""
    for name, value in _pairs(options):
        try:
            nested = yaml.load(value, YAML)
        except yaml.YAMLError:
            nested = value
        if name == EXPERIMENTS:  # all of them, in place of those of the files
            settings = settings | {name: nested}
            continue
        for section in reversed(name.split(".")):
            nested = {section: nested}
        settings = merged(settings, nested)
    return settings


def _without_experiments(options: Sequence[str]) -> list[str]:
    """Return the options without ``--experiments…``, and without the values that stand behind these."""
    kept: list[str] = []
    dropped = False
    for option in options:
        if option.startswith("--"):
            dropped = option.partition("=")[0].split(".")[0] == f"--{EXPERIMENTS}"
        if not dropped:
            kept.append(option)
    return kept


def _pairs(options: Sequence[str]) -> list[tuple[str, str]]:
    """Return the name and the value of each option; an option without a value is true."""
    pairs: list[tuple[str, str]] = []
    for option in options:
        name, equals, value = option.partition("=")
        if option.startswith("--"):
            pairs.append((name[2:], value if equals else "true"))
        elif pairs:
            pairs[-1] = (pairs[-1][0], option)
    return pairs


def identity(settings: Settings) -> Settings:
    """Return the settings that identify a run: all except seed, experiments and settings of the machine."""
    parts = {name: value for name, value in settings.items() if name not in NO_PART}
    for section, names in OF_THE_MACHINE.items():
        found = parts.get(section)
        if section == "data" and isinstance(found, dict):
            parts[section] = found | {"init_args": _without(found.get("init_args"), names)}
        else:
            parts[section] = _without(found, names)
    run = parts.get("run")
    if isinstance(run, dict) and run.get("patience") is None:  # as in runs that are older than this setting
        parts["run"] = _without(run, ["patience"])
    return by_class(parts)


def _without(section: Any, names: Sequence[str]) -> Any:
    return {key: value for key, value in section.items() if key not in names} if isinstance(section, dict) else section


def by_class(value: Any) -> Any:
    """Return settings in which each class of Attest is named without its module."""
    if isinstance(value, dict):
        return {key: by_class(below) for key, below in value.items()}
    if isinstance(value, list):
        return [by_class(below) for below in value]
    found = OWN_CLASS.fullmatch(value) if isinstance(value, str) else None
    return found[1] if found else value


def digest(settings: Settings) -> str:
    """Return the SHA-256 (64 hex digits) of the settings that ``identity`` returns."""
    return _sha256(identity(settings))


def evidence_digest(settings: Settings) -> str:
    """Return the SHA-256 (64 hex digits) of all settings that can change the results of experiments."""
    return _sha256([identity(settings), settings.get("seed_everything"), settings.get("experiments")])


def _sha256(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def run_path(settings: Settings, run: Mapping[str, Any], root: str, seed: int) -> Path:
    """Return the folder of a run, ``<root>/<data>/<recipe>-<model>-<scoring>-<projection>[-<8 hex digits>]/seed<n>``.

    The digits are there if more was asked for than the choices in the readable name.
    """
    for part in ("data", *NAME_PARTS):
        if not NAME.fullmatch(portable(run[part])):  # it would put the folder outside the root
            raise AttestError(
                f"run.{part} is {run[part]!r}, but it is a part of the path of the run folder; expected letters, digits, '.', "
                f"'-' and '_', with no '.' or '-' in front. Type --run.{part}=<name>; to choose where runs are saved, type "
                "--run.root=<folder>."
            )
    name = readable_name(run)
    try:
        of_choices = identity(asked_settings(choice_arguments({part.upper(): run[part] for part in ("data", *NAME_PARTS)})))
    except AttestError:
        of_choices = None
    if identity(settings) != of_choices:
        name = f"{name}-{digest(settings)[:8]}"
    return Path(root) / portable(run["data"]) / name / f"seed{seed}"


def folder_of_words(words: Sequence[str]) -> Path:
    """Return the run folder that ``attest fit`` uses for the user's choices and options."""
    settings = AskedRun.of(words).settings
    run = asdict(RunSettings()) | settings.get("run", {})
    return run_path(settings, run, run["root"], settings.get("seed_everything", 0))
