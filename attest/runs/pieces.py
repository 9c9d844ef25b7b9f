"""The settings of many runs: each piece of a configuration is parsed once, however many runs have it.

Parsing a configuration takes a tenth of a second, and the runs of all tables have hundreds. They are combinations of a few
corpora, models, trainers and sets of experiments, which the parser reads independently of one another. So does it the classes
inside a class: an encoder, a scoring and a projection that were each read in some network are put together. A piece that
differs from one read before in numbers alone, such as the λ of a projection, is that one with its own numbers; and so are the
names of a run.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from jsonargparse import ActionConfigFile, get_loader
from pytorch_lightning import LightningDataModule, LightningModule
from pytorch_lightning.cli import LightningArgumentParser

from attest.errors import AttestError
from attest.runs.choices import configs_folder
from attest.runs.configured import CONFIG, PARSER_MODE, OnlyParsing, Parser, link_data, plain, resolve
from attest.runs.earlier_names import current
from attest.runs.naming import RunSettings

Settings = dict[str, Any]
Steps = tuple[str, ...]
"""The way to a value inside settings."""
Place = tuple[str, ...]
"""A section, what is read together with it, and the classes and parameters on the way to a class inside."""
Own = dict[Steps, int | float | str]
"""Numbers and names of a piece, in whose places another piece may have its own."""
REQUIRED = ("data", "model")
READS = {"experiments": ("experiments", "run.max_search_steps")}
"""Pieces that the parser reads together with something else: searches are cut short."""
BY_KEY = ("trainer", "run")
"""Sections whose keys are options, each with a value of its own."""
OF_A_CLASS = {"class_path", "init_args", "dict_kwargs"}
NAMES = {("run", field.name) for field in fields(RunSettings) if field.type is str}
"""Settings that may be any text."""


class Known(NamedTuple):
    """A piece that was parsed."""

    own: Own
    """Numbers and names as they were typed in it."""
    settings: Any
    """What it is resolved to."""


class Apart(NamedTuple):
    """What is said of one place, taken apart."""

    own: Own
    form: str
    """Everything but these and the classes inside."""
    classes: dict[str, list[Any]]
    """What is said of each, by the parameter that it is given as."""


class Pieces:
    """Resolves configurations as ``resolve`` does, with what it has parsed before."""

    def __init__(self) -> None:
        self._known: dict[Any, Known] = {}

    def resolve(self, arguments: Sequence[str]) -> Settings:
        """The whole configuration that files and options give, as plain values.

        Args:
            arguments: files and options; those that lie elsewhere than ours, or are not written ``--name=value``, are parsed
                as a whole.
        Raises:
            AttestError: an option is not known, or its value is none that may be.
        """
        typed = [current(argument) for argument in arguments]
        files = [argument.removeprefix(CONFIG) for argument in typed if argument.startswith(CONFIG)]
        options = [argument for argument in typed if not argument.startswith(CONFIG)]
        in_order = typed == [*(CONFIG + file for file in files), *options]
        if in_order and all(map(_is_ours, files)) and all(map(_is_option, options)):
            with suppress(AttestError):  # the parser of the whole says what is wrong
                return self._combined([_content(file) for file in files], options)
        return resolve(list(arguments))

    def _combined(self, configs: Sequence[Settings], options: Sequence[str]) -> Settings:
        names = dict.fromkeys([*(name for config in configs for name in config), *map(_top, options)])
        if not {*REQUIRED} <= {*names} <= {*_nothing()}:
            raise AttestError("a section is missing, or not known; expected data and model among those that are.")
        return deepcopy(_nothing()) | {name: self._piece(name, configs, options) for name in names}

    def _piece(self, name: str, configs: Sequence[Settings], options: Sequence[str]) -> Any:
        """What one section of the configuration resolves to."""
        reads = READS.get(name, (name,))
        given = merged([part for config in configs if (part := _part(config, reads))])
        typed = [option for option in options if any(_concerns(option, each) for each in reads)]
        parts = [*given, *map(_as_settings, typed)]
        said = [part[name] for part in parts if name in part]
        beside = [part[each] for part in parts for each in part if each != name]
        place = (name, json.dumps(beside, sort_keys=True))
        if (known := self._put_together(place, said)) is not None:
            return known
        settings = _parse(name, [*(CONFIG + json.dumps(part) for part in given), *typed])[name]
        self._learn(place, said, settings)
        return deepcopy(settings)

    def _put_together(self, place: Place, said: Sequence[Any]) -> Any:
        """What a place resolves to, out of pieces that are known; None where one is not."""
        apart = _taken_apart(place, said)
        known = self._known.get((place, apart.form))
        if known is None or (settings := _with_own(known, apart.own)) is None:
            return None
        for name, below in apart.classes.items():
            if (inside := self._put_together((*place, _class_of(said), name), below)) is None:
                return None
            settings["init_args"][name] = inside
        return settings

    def _learn(self, place: Place, said: Sequence[Any], settings: Any) -> None:
        """Remember what a place was resolved to, and the classes inside."""
        apart = _taken_apart(place, said)
        self._known[place, apart.form] = Known(apart.own, settings)
        for name, below in apart.classes.items():
            self._learn((*place, _class_of(said), name), below, settings["init_args"][name])


def _is_ours(file: str) -> bool:
    return configs_folder() in Path(file).parents


def _is_option(argument: str) -> bool:
    name, equals, _ = argument.partition("=")
    return bool(equals) and name.startswith("--") and not name.endswith("+")


def _top(option: str) -> str:
    return _name(option).partition(".")[0]


def _name(option: str) -> str:
    return option[2:].partition("=")[0]


def _concerns(option: str, part: str) -> bool:
    return f"{_name(option)}.".startswith(f"{part}.")


def _as_settings(option: str) -> Settings:
    """What a file would have to say for the same: used to tell pieces apart, never to parse one."""
    *above, last = _name(option).split(".")
    text = option.partition("=")[2]
    settings: Settings = {last: value if _is_number(value := get_loader(PARSER_MODE)(text)) else text}
    for name in reversed(above):
        settings = {name: settings}
    return settings


@cache
def _content(file: str) -> Settings:
    return get_loader(PARSER_MODE)(Path(file).read_text(encoding="utf-8")) or {}


def _part(config: Settings, names: Sequence[str]) -> Settings:
    """Some sections of a file, or values in them: ``data``, ``run.max_search_steps``."""
    found: Settings = {}
    for name in names:
        section, _, key = name.partition(".")
        if section in config and not key:
            found[section] = config[section]
        elif key in (config.get(section) or {}):
            found[section] = {key: config[section][key]}
    return found


def merged(parts: Sequence[Settings]) -> list[Settings]:
    """As few parts as say the same when they are read one after the other.

    Example:
        >>> merged([{"trainer": {"devices": 1}}, {"trainer": {"max_epochs": 3}}])
        [{'trainer': {'devices': 1, 'max_epochs': 3}}]
    """
    found: list[Settings] = []
    for part in parts:
        if found and all(_can_merge_section(name, found[-1][name], part[name]) for name in part.keys() & found[-1].keys()):
            found[-1] = _merged(found[-1], part)
        else:
            found.append(part)
    return found


def _can_merge_section(name: str, first: Any, second: Any) -> bool:
    return _each_can_merge(first, second) if name in BY_KEY else _can_merge(first, second)


def _can_merge(first: Any, second: Any) -> bool:
    """Whether a parser, too, takes these together key by key, or the second alone.

    Another class may take over arguments of the one before it, and of two dictionaries that are values the parser knows which
    to take: both are left to it.
    """
    if not isinstance(first, dict) and not isinstance(second, dict):
        return True
    if isinstance(first, dict) and isinstance(second, dict) and {*first, *second} <= OF_A_CLASS and "class_path" in first:
        same = second.get("class_path", first["class_path"]) == first["class_path"]
        return same and _each_can_merge(first.get("init_args"), second.get("init_args"))
    return first is None or second is None


def _each_can_merge(first: Mapping[str, Any] | None, second: Mapping[str, Any] | None) -> bool:
    first, second = first or {}, second or {}
    return all(_can_merge(first[name], second[name]) for name in first.keys() & second.keys())


def _merged(first: Any, second: Any) -> Any:
    if isinstance(first, dict) and isinstance(second, dict):
        return first | {name: _merged(first.get(name), value) for name, value in second.items()}
    return second


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _taken_apart(place: Place, said: Sequence[Any]) -> Apart:
    """Numbers, names and classes of what files and options say of a place one after the other, and everything else of it."""
    classes = _classes_inside(said)
    own: Own = {}
    form = [_form(part, place[:1], own) for part in (_without(part, classes) for part in said) if part != {"init_args": {}}]
    return Apart(own, json.dumps(form, sort_keys=True), classes)


def _form(value: Any, steps: Steps, own: Own) -> Any:
    """A value with the kind of each number and name in its place; these are noted."""
    if isinstance(value, dict):
        return {key: _form(below, (*steps, key), own) for key, below in value.items()}
    if _is_number(value) or (steps in NAMES and isinstance(value, str)):
        own[steps] = value
        return {"": type(value).__name__}
    return value


def _classes_inside(said: Sequence[Any]) -> dict[str, list[Any]]:
    """What is said of each parameter of a class that is a class itself; nothing where another class may follow the first."""
    first, *others = said
    if not _names_class(first) or not all(_adds_to_class(part) for part in others):
        return {}
    parameters = [part.get("init_args") or {} for part in said]
    inside = (name for name, value in parameters[0].items() if _names_class(value))
    return {name: [each[name] for each in parameters if name in each] for name in inside}


def _names_class(value: Any) -> bool:
    return isinstance(value, dict) and {*value} <= OF_A_CLASS and "class_path" in value


def _adds_to_class(value: Any) -> bool:
    return isinstance(value, dict) and {*value} == {"init_args"} and isinstance(value["init_args"], dict)


def _class_of(said: Sequence[Any]) -> str:
    return said[0]["class_path"]


def _without(part: Any, classes: Collection[str]) -> Any:
    """What a part says of a place itself: nothing of the classes inside."""
    if not classes:
        return part
    left = {name: value for name, value in (part.get("init_args") or {}).items() if name not in classes}
    return part | {"init_args": left}


def _with_own(known: Known, own: Own) -> Any:
    """A piece with other numbers and names; None where the parser has not taken over such a one as it was typed."""
    section = next(iter(own), ("",))[0]
    whole = {section: deepcopy(known.settings)}
    for (*above, last), value in own.items():
        typed = known.own[*above, last]
        if value == typed:
            continue
        place = _at(whole, above)
        if last not in place or type(place[last]) not in (int, float, str) or place[last] != typed:
            return None
        place[last] = type(place[last])(value)
    return whole[section]


def _at(settings: Any, steps: Sequence[str]) -> Settings:
    """What lies at the end of a way; nothing where it leads nowhere."""
    for step in steps:
        settings = settings.get(step) if isinstance(settings, dict) else None
    return settings if isinstance(settings, dict) else {}


@cache
def _parser() -> Parser:
    return _NothingRequired(["fit"]).parser_of_fit()


@cache
def _parser_of_classes() -> Parser:
    return _OnlyClasses(["fit"]).parser_of_fit()


@cache
def _parser_of_run() -> Parser:
    """Of the names of a run alone, which differ in every run and need no other option."""
    parser = Parser(parser_mode=PARSER_MODE)
    parser.add_argument("--config", action=ActionConfigFile)
    parser.add_class_arguments(RunSettings, "run")
    return parser


SMALL = {"run": _parser_of_run, **dict.fromkeys(REQUIRED, _parser_of_classes)}
"""Parsers that know some sections only: each reads all that it knows, whatever is said of it."""


def _parse(name: str, arguments: Sequence[str]) -> Settings:
    parser = SMALL.get(name, _parser)()
    return plain(parser, parser.parse_args(list(arguments)))


@cache
def _nothing() -> Settings:
    """What the parser says of the sections that nothing was said of."""
    return _parse("", [])


class _NothingRequired(OnlyParsing):
    """Parses a corpus without a model, and a model without a corpus."""

    def add_core_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        parser.add_lightning_class_args(self.trainer_class, "trainer")
        parser.set_defaults({f"trainer.{name}": value for name, value in self.trainer_defaults.items()})
        _add_classes(parser)


class _OnlyClasses(OnlyParsing):
    """Parses corpora and models alone."""

    def add_core_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        _add_classes(parser)

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        link_data(parser)


def _add_classes(parser: LightningArgumentParser) -> None:
    parser.add_lightning_class_args(LightningModule, "model", subclass_mode=True, required=False)
    parser.add_lightning_class_args(LightningDataModule, "data", subclass_mode=True, required=False)
