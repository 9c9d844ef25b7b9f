"""Names of the options of ``attest fit``, kept in a file, so that a mistyped one is found before Lightning is imported.

The file says which versions of the parser's libraries it was made with; with others nothing is found here, and the parser
itself says what is wrong. It also has the parameters of every class that a shipped configuration names, so that a mistyped
``--model.init_args.…`` is found too; and what is a number, a truth value or one of some words, so that another word in its
place is. ``make docs`` writes it anew:

    python -m attest.runs.option_names
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, reduce
from importlib.metadata import version
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from attest.errors import AttestError, nearest
from attest.runs.choices import configs_folder, corpora_with_protocols, expand, options_of_words
from attest.runs.earlier_names import current
from attest.runs.folder import YAML
from attest.runs.typed_values import kinds_of, require_kind
from attest.runs.words import are_ours

FILE = Path(__file__).with_suffix(".txt")
LIBRARIES = ("pytorch-lightning", "jsonargparse")
"""Which options there are depends on them."""
FEW = 16
"""So many names are listed; of more, only the nearest is told."""
INIT_ARGS, HELP = "init_args", ("h", "help", "print_shtab")
LINKED = ("vocab_size", "num_classes", "label_names", "positive_weight", "pretrained_embeddings")
"""What the DataModule gives the model, and nobody types."""
NAMED_CLASS = re.compile(r"class_path:\s*([\w.]+)")
CLASS = re.compile(r"([\w.]+)\((.*)\)")
Settings = dict[str, Any]


class Known(NamedTuple):
    """What the file holds: names, and which numbers, truth values and words each stands for, as ``kinds_of`` says it."""

    names: dict[str, str]
    """Of options; groups of them end in a dot."""
    classes: dict[str, dict[str, str]]
    """Of what each class takes, by its path."""


def require_known(arguments: Sequence[str]) -> None:
    """Refuse the first option that the parser of ``fit`` would not know, or whose value is surely none that it takes.

    What only the parser can know is left to it: everything where help or the configuration is asked for, other values, and
    what classes take that may come from elsewhere.

    Args:
        arguments: what follows ``attest fit``, choices and options; after a lone ``--`` options of runs with other classes.
    Raises:
        AttestError: an option is not known, or its value is of the wrong kind.
    """
    names = _known().names
    if not names or any(argument.startswith(("-h", "--help", "--print")) for argument in arguments):
        return
    chosen = _chosen(arguments)
    for option in options_of_words([*takewhile(lambda argument: argument != "--", arguments)]):
        _require_parameter(option, chosen)
    for argument in map(current, arguments):
        if argument == "--":
            chosen = {}
        if not argument.startswith("--") or " " in argument.split("=")[0]:
            continue
        if not _may_be_known(_name(argument), names):
            raise AttestError(unknown_option(argument, _name(argument), {name.rstrip(".") for name in names}))
        require_kind(_name(argument), _value(argument), names.get(_name(argument), ""))
        _require_parameter(argument, chosen)


def unknown_option(what: str, name: str, known: Iterable[str]) -> str:
    """The sentence for an option that is not known.

    Args:
        what: was found.
        name: of the option.
        known: names of all that would have been taken.
    """
    names = sorted(name for name in known if name.split(".")[-1] not in (*HELP, *LINKED))
    expected = ", ".join(names) if len(names) <= FEW else "one that `attest fit --help` lists"
    guess = nearest(name, names, cutoff=0.3)
    hint = f" Did you mean {guess}?" if guess else ""
    return f"{what} is not known; expected {expected}.{hint}"


def unknown_parameter(name: str, known: Iterable[str]) -> str:
    """The same for what a class does not take."""
    if name == "protocol":
        corpora = ", ".join(corpora_with_protocols())
        return f"this corpus has no PROTOCOL; expected one that has: {corpora}. Leave PROTOCOL out, or type DATA=sst"
    return unknown_option(f"option {name}", name, known)


def _name(argument: str) -> str:
    return argument.lstrip("-").split("=")[0].rstrip("+")


def _value(argument: str) -> str:
    return argument.partition("=")[2]


def _may_be_known(name: str, names: Collection[str]) -> bool:
    """Whether it is one of the names, begins one, as argparse allows, or lies below one that is no mere group of others."""
    parts = name.split(".")
    above = (".".join(parts[:count]) for count in range(1, len(parts)))
    return any(known.startswith(name) for known in names) or any(each in names for each in above)


def _require_parameter(argument: str, settings: Mapping[str, Any]) -> None:
    """The same of a class that the settings name at that place."""
    parts = _name(argument).split(".")
    for place in (place for place, part in enumerate(parts[:-1]) if part == INIT_ARGS):
        parameters, name = _known().classes.get(_part(settings, [*parts[:place], "class_path"])), parts[place + 1]
        if parameters is None:
            continue
        if name not in parameters:
            raise AttestError(unknown_parameter(name, parameters))
        if name == parts[-1]:
            require_kind(name, _value(argument), parameters[name])


def _part(settings: Mapping[str, Any], names: Sequence[str]) -> Any:
    """What lies so deep in settings; None where nothing does."""
    found: Any = settings
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _chosen(arguments: Sequence[str]) -> Settings:
    """The settings of the files that choices stand for; nothing of a class in whose place another may have been typed."""
    typed = [argument for argument in arguments if argument != "--"]
    if not are_ours(typed) or any(argument.startswith(("-c", "--config")) for argument in typed):
        return {}
    options = expand(typed)
    files = (option.removeprefix("--config=") for option in options if option.startswith("--config="))
    read = (yaml.load(Path(file).read_text(encoding="utf-8"), YAML) or {} for file in files)
    settings: Settings = reduce(_over, read, {})
    for option in options:
        _forget_class(settings, _name(option).split("."))
    return settings


def _forget_class(settings: Settings, names: Sequence[str]) -> None:
    """Empty the place of a class that an option names anew: ``--data=…``, ``--data.class_path=…``, ``--model.network=…``."""
    found: Any = settings
    for name in names if names[-1] != "class_path" else names[:-1]:
        found = found.get(name, (found.get(INIT_ARGS) or {}).get(name))
        if not isinstance(found, dict):
            return
    if "class_path" in found:
        found.clear()


def _over(settings: Settings, later: Settings) -> Settings:
    """Later settings over earlier ones; of another class none of the earlier ones stays."""
    if later.get("class_path", settings.get("class_path")) != settings.get("class_path"):
        return later
    both = {name: _over(settings[name], value) for name, value in later.items() if _are_parts(settings.get(name), value)}
    return settings | later | both


def _are_parts(*values: Any) -> bool:
    return all(isinstance(value, dict) for value in values)


@cache
def _known() -> Known:
    """Nothing where the file was made with other versions."""
    made_with, *lines = FILE.read_text(encoding="utf-8").splitlines()
    if made_with != _versions():
        return Known({}, {})
    classes = {match[1]: dict(map(_read, match[2].split(", "))) for line in lines if (match := CLASS.fullmatch(line))}
    return Known(dict(_read(line) for line in lines if not CLASS.fullmatch(line)), classes)


def _read(written: str) -> tuple[str, str]:
    name, _, kinds = written.partition(": ")
    return name, kinds


def _written(types: Mapping[str, Any]) -> list[str]:
    """``texts: int or null``, ``mode: one of max|min``; of what may be anything else the name alone."""
    return [f"{name}: {kinds}" if (kinds := kinds_of(kind)) else name for name, kind in types.items()]


def _versions() -> str:
    return "# " + ", ".join(f"{library} {version(library)}" for library in LIBRARIES)


def file_content() -> str:
    """What the file should hold, by the parser itself."""
    from attest.runs.configured import option_types, parameter_types

    texts = (file.read_text(encoding="utf-8") for file in configs_folder().rglob("*.yaml"))
    paths = sorted({path for text in texts for path in NAMED_CLASS.findall(text)})
    classes = (f"{path}({', '.join(_written(parameter_types(path)))})" for path in paths)
    lines = sorted(_written(option_types()))
    return "\n".join([_versions(), *lines, *classes, ""])


if __name__ == "__main__":
    FILE.write_text(file_content(), encoding="utf-8")
