"""The words that everyone types (``DATA=sst MODEL=bilstm SEED=1``) and the configuration files they stand for.

A choice named X with value y is the file ``configs/x/y.yaml``: adding a value needs a file and no code, a new kind of choice
also its name in ``configs/defaults.yaml``. A value may carry a parameter, ``PROJECTION=entmax:1.3``: the header of
``configs/projection/entmax.yaml`` names the option that it sets, with ``{}`` where the parameter goes.

``EMBEDDINGS=glove-50``, ``EMBEDDINGS=random:50`` or ``EMBEDDINGS=vectors.vec``: the options that it stands for.

The network's embedding has as many dimensions as the vectors. Where that number stands is told by the file of the model: the
``embedding_size`` in it.

Words such as ``DATA=sst SEEDS=3 JOBS=2``: parted from everything else that was typed, and read as what they mean.
"""

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from attest.core.errors import AttestError, unknown_choice
from attest.core.places import configs_folder
from attest.core.vector_files import dimensions_in

SIZE = "embedding_size"


def names_a_file(value: str) -> bool:
    """Whether what was typed is a path, and not one of the shipped names."""
    return "/" in value or Path(value).suffix != "" or Path(value).is_file()


def embedding_options(value: str, shipped: Path | None, model: Path) -> list[str]:
    """The options.

    Args:
        value: as typed: a name, ``random:<dimensions>``, or the path of a file of vectors.
        shipped: the configuration file of a name; None for a path.
        model: the configuration file of the model.
    Raises:
        AttestError: there is no such file, no number behind the colon, or the model has no embedding of its own.
    """
    if shipped is None:
        return [f"--data.init_args.embeddings={value}", _size_option(_dimensions(value), model)]
    name, colon, parameter = value.partition(":")
    if colon:
        return [f"--config={shipped}", _size_option(_drawn(name, parameter), model)]
    vectors = yaml.safe_load(shipped.read_text())["data"]["init_args"]["embeddings"]
    return [f"--config={shipped}", *([] if vectors is None else [_size_option(vectors["dimensions"], model)])]


def _dimensions(path: str) -> int:
    found = dimensions_in(Path(path).expanduser())
    if found is None:
        raise AttestError(
            f"There is no file of vectors {path}; expected text, a word and its numbers on each line, as fastText (.vec), "
            "GloVe (.txt) or word2vec (text) write it. Type for example: make train DATA=sst EMBEDDINGS=glove-50"
        )
    return found


def _drawn(name: str, parameter: str) -> int:
    if name != "random" or not parameter.isdigit() or not int(parameter):
        raise AttestError(
            f"EMBEDDINGS={name}:{parameter} is not known; expected a number of dimensions after random only, for example "
            "EMBEDDINGS=random:50"
        )
    return int(parameter)


def _size_option(dimensions: int, model: Path) -> str:
    path = _path_to_size(yaml.safe_load(model.read_text()))
    if path is None:
        raise AttestError(
            f"MODEL={model.stem} has no word embedding for the vectors; expected a model that learns one, for example "
            "MODEL=bilstm. Leave EMBEDDINGS out."
        )
    return f"--{path}={dimensions}"


def _path_to_size(settings: Any) -> str | None:
    """The dotted name of the embedding's size in a configuration."""
    if not isinstance(settings, dict):
        return None
    if SIZE in settings:
        return SIZE
    found = ((name, _path_to_size(below)) for name, below in settings.items())
    return next((f"{name}.{rest}" for name, rest in found if rest is not None), None)


WORD = re.compile(r"([A-Z]+)=(.*)", re.DOTALL)
"""Capitals; whatever else holds an equals sign is an option or a mistake."""
OURS = re.compile(r"(--)?[\w.]+=(?:-?[\d.]+(?:e-?\d+)?|[\w-]+(?::-?[\d.]+(?:e-?\d+)?)?)", re.IGNORECASE)
"""A choice or an option whose value is a number or a plain word, a number after it (``sparsegen:-1``) included."""
OF_THE_RUN = "--run."
"""How options begin that name no class."""


MOST = 1000
"""Of seeds, steps or jobs."""


@dataclass(frozen=True)
class Words:
    """What was typed behind each word; the last of two alike counts, and an empty one is not typed."""

    typed: Mapping[str, str]

    def text(self, name: str, otherwise: str = "") -> str:
        """As it was typed."""
        return self.typed.get(name, otherwise)

    def listed(self, name: str, otherwise: str = "") -> tuple[str, ...]:
        """Several with commas between them; none where nothing was typed."""
        return tuple(filter(None, self.text(name, otherwise).split(",")))

    def flag(self, name: str, otherwise: bool = False) -> bool:
        """Yes or no.

        Raises:
            AttestError: neither 0 nor 1 was typed.
        """
        value = self.text(name, str(int(otherwise)))
        if value not in ("0", "1"):
            raise AttestError(f"{name}={value} is neither yes nor no; expected {name}=1 or {name}=0.")
        return value == "1"

    def count(self, name: str, otherwise: int, least: int = 1) -> int:
        """A whole number that runs can be counted by.

        Raises:
            AttestError: something else was typed, less than the least, or more than ``MOST``.
        """
        value = self.text(name, str(otherwise))
        if not value.isdecimal() or not least <= int(value) <= MOST:
            example = f"{name}={max(otherwise, least)}"
            raise AttestError(
                f"{name}={value} is not a count; expected a whole number from {least} to {MOST}. Type for example: {example}"
            )
        return int(value)


def are_ours(arguments: Sequence[str]) -> bool:
    """Whether nothing but choices, numbers and plain words was typed: no file, and no class from elsewhere.

    Args:
        arguments: choices and options.
    """
    return all(OURS.fullmatch(argument) or argument.startswith(OF_THE_RUN) for argument in arguments)


def take_words(arguments: Sequence[str], names: Container[str] | None = None) -> tuple[Words, list[str]]:
    """Part words from everything else.

    Args:
        arguments: what follows a command.
        names: of the words that are meant; all if None.
    Returns:
        The words, and everything else in its order.
    """
    matches = [(argument, WORD.fullmatch(argument)) for argument in arguments]
    mine = {place: match for place, (_, match) in enumerate(matches) if match and (names is None or match[1] in names)}
    typed = {match[1]: match[2] for match in mine.values() if match[2]}
    return Words(typed), [argument for place, argument in enumerate(arguments) if place not in mine]


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """What concerns the base, and, after a lone ``--``, what concerns the dependent runs alone; FORCE goes to these."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    forced = [argument for argument in arguments if argument.startswith("FORCE=")]
    base = [argument for argument in arguments[:at] if argument not in forced]
    return base, [*forced, *arguments[at + 1 :]]


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


ROLE = re.compile(r":[\w:]+:`~?\.?([^`]+)`")


def plain_help(text: str | None) -> str:
    """A docstring with `names` in single marks, without roles such as `:class:`.

    Args:
        text: as it stands in the code; nothing if None.
    """
    return ROLE.sub(r"\1", text or "").replace("``", "`")
