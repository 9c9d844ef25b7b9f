"""The words that everyone types (``DATA=sst MODEL=bilstm SEED=1``) and the configuration files they stand for.

A choice named X with value y is the file ``configs/x/y.yaml``: adding a value needs a file and no code, a new kind of choice
also its name in ``configs/defaults.yaml``. A value may carry a parameter, ``PROJECTION=entmax:1.3``: the header of
``configs/projection/entmax.yaml`` names the option that it sets, with ``{}`` where the parameter goes.
"""

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from attest.errors import AttestError, unknown_choice
from attest.runs.embedding_choice import embedding_options, names_a_file
from attest.runs.words import Words, take_words

SMALL_CHOICE = re.compile(r"[A-Za-z]*[a-z][A-Za-z]*=.*")
"""What is typed by whoever does not know that choices stand in capitals."""
DECLARED_OPTION = re.compile(r"^#.*?(--[\w.]+=\{\})", re.MULTILINE)
ORDER = ("TRAINER", "LOGGER", "DATA", "MODEL", "SCORING", "PROJECTION", "RECIPE", "EXPERIMENTS")
"""Later files override earlier ones; a recipe may so change what a model or corpus set."""
SETTINGS = {"SEED": "--seed_everything={}", "PROTOCOL": "--data.init_args.protocol={}", "FORCE": "--run.force={}"}
"""Choices that stand for one option."""


TENSORBOARD = ("tensorboard", "tensorboardX")
"""Packages of which Lightning's logger of this name needs one; the first is the name of the choice."""
STANDS_FOR = {
    "--model.init_args.pretrained": ("--model.init_args.network.init_args.pretrained", "--data.init_args.subwords"),
}
"""What one option says to several parts: a pretrained model is what the network starts from and what cuts the texts."""


FORCED = {"1": "true", "true": "true", "0": "false", "false": "false"}
"""What may be typed behind ``FORCE=``; a word that means neither must not delete a run."""


def configs_folder() -> Path:
    """The shipped configuration files, inside the package; in a checkout that is a link to the folder at its top."""
    return Path(__file__).parents[1] / "configs"


def file_choices() -> tuple[str, ...]:
    """The choices that stand for files, in the order in which these are merged; those without a default come last."""
    return (*ORDER, *_defaults()["OPTIONAL"])


def config_file(choice: str, value: str) -> Path:
    """The file that a choice stands for.

    Raises:
        AttestError: there is no such file; the message lists those there are.
    """
    if choice not in file_choices():
        raise AttestError(
            f"{choice}={value} is not a choice; expected one of: {', '.join((*file_choices(), *SETTINGS))}. "
            "Type for example: make train DATA=sst"
        )
    folder = configs_folder() / choice.lower()
    file = folder / f"{value}.yaml"
    if Path(value).name != value or not file.is_file():
        raise unknown_choice(choice, value, values_of(choice), f"make train {choice}={{}}")
    return file


def values_of(choice: str) -> list[str]:
    """All values of a choice that stands for files."""
    return sorted(path.stem for path in (configs_folder() / choice.lower()).glob("*.yaml"))


def takes_parameter(choice: str, value: str) -> bool:
    """Whether a value needs a number behind it, ``entmax:1.3``."""
    return DECLARED_OPTION.search(config_file(choice, value).read_text()) is not None


def stray_word(argument: str) -> AttestError:
    """The error for what is neither a choice nor an option: ``data=planted``, ``sst``."""
    name, _, value = argument.partition("=")
    known = (*file_choices(), *SETTINGS)
    hint = f" Type {name.upper()}={value}" if value and name.upper() in known else ""
    return AttestError(
        f"{argument} is not known; expected a choice in capitals, such as DATA=sst, or an option that begins with --.{hint}"
    )


def expand(arguments: list[str]) -> list[str]:
    """Turn choices into the options they stand for; everything else stays as typed and comes later, so it wins.

    Words that stand for one option, such as SEED and FORCE, come after the files given with ``--config``, which say these too.

    Without any ``--config`` the choices not typed take their defaults; ``RECIPE`` is then the one the model names.

    Args:
        arguments: what follows the subcommand.
    """
    words, rest = take_words([option for argument in arguments for option in _spelt_out(argument)])
    typed = {name: value for name, value in words.typed.items() if name not in SETTINGS}
    _require_logger(words.text("LOGGER"))
    if stray := next((argument for argument in rest if SMALL_CHOICE.fullmatch(argument)), None):
        raise stray_word(stray)
    settings, (files, options) = _options_of(words), _parted(rest)
    return [*([] if files and not typed else choice_arguments(typed)), *files, *settings, *options]


def _require_logger(name: str) -> None:
    """Refuse the logger that comes with an extra, before the libraries are imported that train."""
    if name == TENSORBOARD[0] and not any(map(find_spec, TENSORBOARD)):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _options_of(words: Words) -> list[str]:
    return [SETTINGS[name].format(_as_yaml(name, value)) for name, value in words.typed.items() if name in SETTINGS]


def _spelt_out(argument: str) -> list[str]:
    """One option that stands for several, as they are; any other alone."""
    name, equals, value = argument.partition("=")
    return [f"{option}={value}" for option in STANDS_FOR[name]] if equals and name in STANDS_FOR else [argument]


def _parted(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Configuration files that were named, and everything else."""
    named = [argument in ("-c", "--config") for argument in arguments]
    of_file = [flag or before or argument.startswith("--config=")
               for argument, flag, before in zip(arguments, named, [False, *named], strict=False)]  # fmt: skip
    files, options = ([argument for argument, mine in zip(arguments, of_file, strict=True) if mine is wanted]
                      for wanted in (True, False))  # fmt: skip
    return files, options


def choice_arguments(typed: dict[str, str]) -> list[str]:
    """The options that a full set of choices stands for: files in the order in which they are merged, then parameters.

    Raises:
        AttestError: a value that does not exist, lacks its parameter, or takes none.
    """
    chosen = complete(typed)
    extra = sorted(set(chosen) - set(ORDER))
    files, parameters = [], []
    for choice in (*ORDER, *extra):
        if choice == "EMBEDDINGS":
            parameters += _embeddings(chosen)
            continue
        value, colon, parameter = chosen[choice].partition(":")
        file = config_file(choice, value)
        files.append(f"--config={file}")
        parameters += _parameter_options(choice, value, file, parameter if colon else None)
    return [*files, *parameters]


def _embeddings(chosen: dict[str, str]) -> list[str]:
    value = chosen["EMBEDDINGS"]
    shipped = None if names_a_file(value) else config_file("EMBEDDINGS", value.partition(":")[0])
    return embedding_options(value, shipped, config_file("MODEL", chosen["MODEL"]))


def _parameter_options(choice: str, value: str, file: Path, parameter: str | None) -> list[str]:
    declared = DECLARED_OPTION.search(file.read_text())
    if (declared is None) == (parameter is None):
        return [declared[1].format(parameter), f"--run.{choice.lower()}={value}:{parameter}"] if declared else []
    found = value if parameter is None else f"{value}:{parameter}"
    expected = f"{value}:<number>, for example {choice}={value}:0.5 or {value}:1.3" if declared else f"{choice}={value}"
    raise AttestError(f"{choice}={found} is not complete; expected {expected}. The file {file.name} says what the number is."
                      if declared else f"{choice}={found} takes no parameter; expected {expected}.")  # fmt: skip


def default_choices(model: str | None = None) -> dict[str, str]:
    """What is chosen where nothing is typed, for a model or for the default one; without ``RECIPE``."""
    defaults = {name: value for name, value in _defaults().items() if name in ORDER}
    return defaults | _defaults()["FOR_MODEL"].get(model or defaults["MODEL"], {})


@cache
def _defaults() -> dict[str, Any]:
    return yaml.safe_load((configs_folder() / "defaults.yaml").read_text())


def complete(typed: dict[str, str]) -> dict[str, str]:
    """Every choice that stands for files: as typed, else as the model has it, else as everyone has it.

    Args:
        typed: by name.
    """
    chosen = default_choices(typed.get("MODEL")) | typed
    if "RECIPE" not in chosen:
        model = yaml.safe_load(config_file("MODEL", chosen["MODEL"]).read_text())
        chosen["RECIPE"] = model["run"]["recipe"]
    return chosen


def _as_yaml(name: str, value: str) -> str:
    if name == "FORCE" and value not in FORCED:
        raise AttestError(f"FORCE={value} is neither yes nor no; expected FORCE=1, which deletes what is there, or FORCE=0.")
    if name == "FORCE":
        return FORCED[value]
    if name == "SEED" and not value.isdigit():
        raise AttestError(f"SEED={value} is not a seed; expected a whole number from 0. Type for example: make train SEED=0")
    return value
