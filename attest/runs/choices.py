"""The words that people type, such as ``DATA=sst MODEL=bilstm SEED=1``, and the configuration files that they name.

A choice named X with value y is the file ``configs/x/y.yaml``. A value may have a parameter, ``PROJECTION=entmax:1.3``: the
header of ``configs/projection/entmax.yaml`` names the option that the parameter sets, with ``{}`` in place of the parameter.

Start at ``expand``, which turns all words of a training into options of LightningCLI.
"""

import math
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from attest.core.errors import AttestError, nearest, unknown_choice
from attest.core.places import configs_folder
from attest.core.spelled import spelled
from attest.core.vector_files import dimensions_in

WORD = re.compile(r"([A-Z]+)=(.*)", re.DOTALL)
"""Matches a choice: a name in capitals and its value, such as ``DATA=sst``."""
SMALL_CHOICE = re.compile(r"[A-Za-z]*[a-z][A-Za-z]*=.*")
"""Matches a choice that the user typed in small letters by mistake, such as ``data=sst`` in place of ``DATA=sst``."""
PLAIN = re.compile(r"(--)?[\w.]+=(?:-?[\d.]+(?:e-?\d+)?|[\w-]+(?::-?[\d.]+(?:e-?\d+)?)?)", re.IGNORECASE)
"""Matches a choice or an option that names no path and no class: its value is a number or a plain word, perhaps with a number
after it, such as ``sparsegen:-1``."""
OF_THE_RUN = "--run."
"""The prefix of the options that are about the run itself, such as ``--run.force``. Their values never name a class."""
MOST = 1000
"""The largest number that a user may give for seeds, steps or parallel jobs."""
DECLARED_OPTION = re.compile(r"^#.*?(--[\w.]+=\{\})", re.MULTILINE)
"""In the file of a choice with a parameter, such as ``entmax:1.3``: matches the comment that names the option which gets the
parameter, in the place of ``{}``."""
CONFIG = "--config="
CONFIG_FLAGS = ("-c", "--config")
ORDER = ("TRAINER", "LOGGER", "DATA", "MODEL", "SCORING", "PROJECTION", "RECIPE", "EXPERIMENTS")
"""The order in which the files of the choices are merged. A later file overrides earlier ones, so that a recipe, for example,
may change settings of the model."""
SETTINGS = {
    "SEED": "--seed_everything={}",
    "EPOCHS": "--trainer.max_epochs={}",
    "BATCH": "--data.init_args.batch_size={}",
    "LR": "--model.init_args.optimizer.init_args.lr={}",
    "PROTOCOL": "--data.init_args.protocol={}",
    "FORCE": "--run.force={}",
}
"""The choices that set a single option: the key is the choice, the value the option, with ``{}`` in the place of the value
that the user types."""
FAMILIES = ("albert", "bert", "deberta", "distilbert", "electra", "gpt2", "llama", "modernbert", "roberta", "xlnet")
"""Names of Transformers that users type by mistake as the value of ``MODEL=``. An error message then tells them to type
``MODEL=pretrained``."""
PRETRAINED, WEIGHTS = ("MODEL=pretrained", "RECIPE=fine-tune"), "--model.init_args.pretrained="
"""What an error message tells users to type in order to fine-tune a Transformer: two choices, and the beginning of the option
that names the model."""
ALSO_OPTIONS = ("DATA", "MODEL", "EXPERIMENTS", "TRAINER")
"""The choices whose names, in small letters, are also options of LightningCLI, such as ``--data=<class>``."""
FORCED = {"1": "true", "true": "true", "0": "false", "false": "false"}
"""The values that a user may type after ``FORCE=``, with the YAML that each stands for. All other values are refused, because
``FORCE=1`` deletes results."""
STANDS_FOR = {
    "--model.init_args.pretrained": ("--model.init_args.network.init_args.pretrained", "--data.init_args.subwords"),
}
"""A short option, with the longer options that it stands for: the name of a pretrained model gives the network its first
weights, and the data their subword tokenizer."""
TENSORBOARD = ("tensorboard", "tensorboardX")
"""The Python packages of which Lightning's TensorBoard logger needs one. The first is also the value to type after
``LOGGER=``."""
SIZE = "embedding_size"
"""The name of the network's constructor argument for the number of dimensions of its word embeddings."""
ROLE = re.compile(r":[\w:]+:`~?\.?([^`]+)`")


@dataclass(frozen=True)
class TypedWords:
    """The values of command-line words ``NAME=value``, by name; if a name is typed twice, the last value counts."""

    typed: Mapping[str, str]

    def text(self, name: str, otherwise: str = "") -> str:
        """Return the value in the typed word ``NAME=value``, or ``otherwise`` if the user did not type this word."""
        return self.typed.get(name, otherwise)

    def listed(self, name: str, otherwise: str = "") -> tuple[str, ...]:
        """Return the values that the user typed as ``NAME=value,value``, as a tuple; the default is ``otherwise``."""
        return tuple(filter(None, self.text(name, otherwise).split(",")))

    def flag(self, name: str, otherwise: bool = False) -> bool:
        """Return True if a word of the command line has the value 1, and False if it has the value 0."""
        value = self.text(name, str(int(otherwise)))
        if value not in ("0", "1"):
            raise AttestError(f"{name}={value} is not understood; expected {name}=1 for yes or {name}=0 for no.")
        return value == "1"

    def count(self, name: str, otherwise: int, least: int = 1) -> int:
        """Return the value of a word of the command line as a whole number; refuse a number below ``least``."""
        value = self.text(name, str(otherwise))
        if not value.isdecimal() or not least <= int(value) <= MOST:
            example = f"{name}={max(otherwise, least)}"
            raise AttestError(
                f"{name}={value} is not a valid number; expected a whole number from {least} to {MOST}. Type for example: "
                f"{example}"
            )
        return int(value)


def take_words(arguments: Sequence[str], names: Container[str] | None = None) -> tuple[TypedWords, list[str]]:
    """Return the words ``NAME=value`` among the arguments, and all other arguments in their order."""
    matches = [WORD.fullmatch(argument) for argument in arguments]
    mine = {place: match for place, match in enumerate(matches) if match and (names is None or match[1] in names)}
    typed = {match[1]: match[2] for match in mine.values() if match[2]}
    return TypedWords(typed), [argument for place, argument in enumerate(arguments) if place not in mine]


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the arguments of a base run, and those of its dependent runs: ``FORCE=…`` and all after ``--``."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    forced = [argument for argument in arguments if argument.startswith("FORCE=")]
    base = [argument for argument in arguments[:at] if argument not in forced]
    return base, [*forced, *arguments[at + 1 :]]


def are_plain(arguments: Sequence[str]) -> bool:
    """Return whether arguments contain only numbers and plain words, and no path or class."""
    return all(PLAIN.fullmatch(argument) or argument.startswith(OF_THE_RUN) for argument in arguments)


def stray_word(argument: str) -> AttestError:
    """Return the error for an argument such as ``data=planted``, ``--seed=3`` or ``sst``: neither choice nor option."""
    name, _, value = argument.lstrip("-").partition("=")
    choice = _choice_of(name)
    of_value = next((each for each in file_choices() if name in values_of(each)), None)
    hint = f" Type {of_value}={name}" if of_value else " `attest fit --help` lists the choices."
    if choice in (*file_choices(), *SETTINGS):
        hint = f" Type {choice}={value or '<value>'}"
    return AttestError(
        f"{argument} is not known; expected a choice in capitals, such as DATA=sst, or an option that begins with --.{hint}"
    )


def expand(arguments: Sequence[str]) -> list[str]:
    """Replace the user's choices such as ``DATA=sst`` by the options for which they stand; other arguments follow.

    Without any ``--config``, choices that are not typed take their defaults; the default of ``RECIPE`` is named by the model.
    """
    options = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        options += [f"{option}={value}" for option in STANDS_FOR[name]] if equals and name in STANDS_FOR else [argument]
    words, rest = take_words(options)
    typed = {name: value for name, value in words.typed.items() if name not in SETTINGS}
    if words.text("LOGGER") == TENSORBOARD[0] and not any(map(find_spec, TENSORBOARD)):
        raise ModuleNotFoundError(f"No module named {TENSORBOARD[0]!r}", name=TENSORBOARD[0])
    if stray := next((argument for place, argument in enumerate(rest) if _is_stray(argument, rest[:place])), None):
        raise stray_word(stray)
    configured = any(argument in CONFIG_FLAGS or argument.startswith(CONFIG) for argument in rest)
    chosen = [] if configured and not typed else choice_arguments(typed)
    settings = [SETTINGS[name].format(_as_yaml(name, value)) for name, value in words.typed.items() if name in SETTINGS]
    return [*chosen, *settings, *rest]


def _is_stray(argument: str, before: Sequence[str]) -> bool:
    """Return whether an argument is a choice in small letters, a choice typed as an option, or a value without its choice."""
    name, _, value = argument.removeprefix("--").partition("=")
    choice = _choice_of(name)
    if choice in ALSO_OPTIONS and argument.startswith("--"):
        return value in values_of(choice)
    if argument.startswith("-"):
        return argument.startswith("--") and choice in (*file_choices(), *SETTINGS)
    of_option = bool(before) and before[-1].startswith("-") and "=" not in before[-1]
    return bool(SMALL_CHOICE.fullmatch(argument)) or not of_option


def _choice_of(name: str) -> str:
    return "BATCH" if name in ("batch-size", "batch_size") else name.upper()


def _as_yaml(name: str, value: str) -> str:
    if name == "FORCE" and value not in FORCED:
        raise AttestError(
            f"FORCE={value} is not understood; expected FORCE=1, which deletes earlier results, or FORCE=0, which keeps them."
        )
    if name == "FORCE":
        return FORCED[value]
    if name == "SEED" and not value.isdigit():
        raise AttestError(
            f"SEED={value} is not a seed; expected a whole number from 0. Type for example: {spelled('fit', 'SEED=0')}"
        )
    if name in ("EPOCHS", "BATCH") and not (value.isdecimal() and int(value)):
        raise AttestError(
            f"{name}={value} is no number of {WHAT[name]}; expected a whole number from 1. Type for example: {name}=8"
        )
    if name == "LR" and not _is_rate(value):
        raise AttestError(f"LR={value} is no learning rate; expected a number above 0. Type for example: LR=0.001")
    return value


WHAT = {"EPOCHS": "epochs", "BATCH": "texts in a batch"}


def _is_rate(value: str) -> bool:
    try:
        return 0 < float(value) < math.inf
    except ValueError:
        return False


def choice_arguments(typed: dict[str, str]) -> list[str]:
    """Return the options for all choices, typed or default: first configuration files, then parameters."""
    chosen = complete(typed)
    files, parameters = [], []
    for choice in (*ORDER, *sorted({*chosen} - {*ORDER})):
        if choice == "EMBEDDINGS":
            parameters += _embedding_options(chosen[choice], config_file("MODEL", chosen["MODEL"]))
            continue
        value, colon, parameter = chosen[choice].partition(":")
        file = config_file(choice, value)
        files.append(f"{CONFIG}{file}")
        parameters += _parameter_options(choice, value, file, parameter if colon else None)
    return [*files, *parameters]


def complete(typed: dict[str, str]) -> dict[str, str]:
    """Return a value for every choice: the user's value, else the model's value, else the default."""
    chosen = default_choices(typed.get("MODEL")) | typed
    if "RECIPE" not in chosen:
        model = yaml.safe_load(config_file("MODEL", chosen["MODEL"]).read_text(encoding="utf-8"))
        chosen["RECIPE"] = model["run"]["recipe"]
    return chosen


def default_choices(model: str | None = None) -> dict[str, str]:
    """Return the default value of every choice except ``RECIPE``, for a given model or the default model."""
    defaults = {name: value for name, value in _defaults().items() if name in ORDER}
    return defaults | _defaults()["FOR_MODEL"].get(model or defaults["MODEL"], {})


@cache
def _defaults() -> dict[str, Any]:
    return yaml.safe_load((configs_folder() / "defaults.yaml").read_text(encoding="utf-8"))


def file_choices() -> tuple[str, ...]:
    """Return the choices that select configuration files, in the order in which these files are merged."""
    return (*ORDER, *_defaults()["OPTIONAL"])


def config_file(choice: str, value: str) -> Path:
    if choice not in file_choices():
        raise AttestError(
            f"{choice}={value} begins with an unknown name; expected one of: {', '.join((*file_choices(), *SETTINGS))}. The "
            f"nearest: {nearest(choice, (*file_choices(), *SETTINGS), 1)[0]}=… Type for example: {spelled('fit', 'DATA=sst')}"
        )
    file = configs_folder() / choice.lower() / f"{value}.yaml"
    if choice == "MODEL" and not file.is_file() and ("/" in value or not {*FAMILIES}.isdisjoint(_parts(value))):
        family = value.lower() in FAMILIES
        what = "names a family of Transformers, not its weights" if family else "names a Transformer, not a network of Attest"
        weights = "<folder or id>" if family else value
        raise AttestError(
            f"MODEL={value} {what}; expected MODEL=pretrained with a folder or an id on the Hub. Type for example: "
            f"{spelled('fit', *PRETRAINED, f'{WEIGHTS}{weights}')}; or, for a model that is trained already: "
            f"attest trial --model {weights} --data reviews.csv"
        )
    if choice == "DATA" and names_a_file(value) and not file.is_file():
        files = ("DATA=files", f"--data.init_args.train={value}", "--data.init_args.test=<file>")
        raise AttestError(
            f"DATA={value} names a file; expected DATA=files with a file for training and a file for testing. Type for "
            f"example: {spelled('fit', *files)}"
        )
    if Path(value).name != value or not file.is_file():
        raise unknown_choice(choice, value, values_of(choice), spelled("fit", f"{choice}={{}}"))
    return file


def _parts(value: str) -> list[str]:
    return re.split("[-_/]", value.lower())


def values_of(choice: str) -> list[str]:
    return sorted(path.stem for path in (configs_folder() / choice.lower()).glob("*.yaml"))


def takes_parameter(choice: str, value: str) -> bool:
    """Return whether a value needs a number after a colon, as in ``entmax:1.3``."""
    return DECLARED_OPTION.search(config_file(choice, value).read_text(encoding="utf-8")) is not None


def _parameter_options(choice: str, value: str, file: Path, parameter: str | None) -> list[str]:
    declared = DECLARED_OPTION.search(file.read_text(encoding="utf-8"))
    if declared and parameter is not None:
        return [declared[1].format(parameter), f"--run.{choice.lower()}={value}:{parameter}"]
    if declared:
        raise AttestError(
            f"{choice}={value} needs a number; expected {choice}={value}:<number>, for example {choice}={value}:0.5 or "
            f"{choice}={value}:1.3. The file {file.name} explains the number."
        )
    if parameter is not None:
        raise AttestError(
            f"{choice}={value}:{parameter} has a parameter, but {value!r} takes none; expected {choice}={value}."
        )
    return []


def names_a_file(value: str) -> bool:
    """Return whether a user's value is a path, and not one of the shipped names."""
    return "/" in value or Path(value).suffix != "" or Path(value).is_file()


def _embedding_options(value: str, model: Path) -> list[str]:
    if names_a_file(value):
        dimensions = dimensions_in(Path(value).expanduser())
        if dimensions is None:
            raise AttestError(
                f"the file of word vectors {value} does not exist; expected a text file with a word and its numbers on each "
                "line, in the format of fastText (.vec), GloVe (.txt) or word2vec (text). Type for example: "
                f"{spelled('fit', 'DATA=sst', 'EMBEDDINGS=glove-50')}"
            )
        return [f"--data.init_args.embeddings={value}", _size_option(dimensions, model)]
    name, colon, parameter = value.partition(":")
    shipped = config_file("EMBEDDINGS", name)
    if colon:
        if name != "random" or not parameter.isdigit() or not int(parameter):
            raise AttestError(
                f"EMBEDDINGS={name}:{parameter} is not known; expected a colon only in `random:<dimensions>`, with at least 1 "
                "dimension. Type for example: EMBEDDINGS=random:50"
            )
        return [f"{CONFIG}{shipped}", _size_option(int(parameter), model)]
    vectors = yaml.safe_load(shipped.read_text(encoding="utf-8"))["data"]["init_args"]["embeddings"]
    return [f"{CONFIG}{shipped}", *([] if vectors is None else [_size_option(vectors["dimensions"], model)])]


def _size_option(dimensions: int, model: Path) -> str:
    path = _path_to_size(yaml.safe_load(model.read_text(encoding="utf-8")))
    if path is None:
        raise AttestError(
            f"MODEL={model.stem} cannot use word vectors, because it has no word embedding of its own; expected a model such "
            "as MODEL=bilstm. Leave EMBEDDINGS out."
        )
    return f"--{path}={dimensions}"


def _path_to_size(settings: Any) -> str | None:
    if not isinstance(settings, dict):
        return None
    if SIZE in settings:
        return SIZE
    found = ((name, _path_to_size(below)) for name, below in settings.items())
    return next((f"{name}.{rest}" for name, rest in found if rest is not None), None)


def plain_help(text: str | None) -> str:
    """Return a docstring as plain text, without backticks and roles such as ``:class:``."""
    return ROLE.sub(r"\1", text or "").replace("`", "")
