"""The settings of many runs: each piece of a configuration is parsed once, however many runs have it.

Parsing a configuration takes a tenth of a second, and the runs of all tables have hundreds. They are combinations of a few
corpora, models, trainers and sets of experiments, which the parser reads independently of one another. A piece that differs
from one read before in numbers alone, such as the λ of a projection, is that one with its own numbers.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from jsonargparse import ActionConfigFile, get_loader
from pytorch_lightning import LightningDataModule, LightningModule
from pytorch_lightning.cli import LightningArgumentParser

from attest.errors import AttestError
from attest.runs.choices import configs_folder
from attest.runs.configured import PARSER_MODE, OnlyParsing, Parser, plain, resolve
from attest.runs.earlier_names import current
from attest.runs.naming import RunSettings

Settings = dict[str, Any]
Steps = tuple[str, ...]
"""The way to a value inside settings."""
Numbers = dict[Steps, int | float]
CONFIG = "--config="
REQUIRED = ("data", "model")
READS = {"experiments": ("experiments", "run.max_search_steps")}
"""Pieces that the parser reads together with something else: searches are cut short."""
BY_KEY = ("trainer", "run")
"""Sections whose keys are options, each with a value of its own."""
OF_A_CLASS = {"class_path", "init_args", "dict_kwargs"}


class Known(NamedTuple):
    """A piece that was parsed."""

    numbers: Numbers
    """That were typed in it."""
    settings: Any
    """What it is resolved to."""


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
        numbers, form = _taken_apart(name, [*given, *map(_as_settings, typed)])
        known = self._known.get((name, form))
        if known is None or (settings := _with_numbers(name, known, numbers)) is None:
            settings = _parse(name, [*(CONFIG + json.dumps(part) for part in given), *typed])[name]
            self._known[name, form] = Known(numbers, settings)
        return deepcopy(settings)


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


def _taken_apart(name: str, parts: Sequence[Settings]) -> tuple[Numbers, str]:
    """The numbers of a piece, and everything else of it. What is only read together with it stands there as it is."""
    numbers: Numbers = {}
    form = [{key: _form(value, (key,), numbers) if key == name else value for key, value in part.items()} for part in parts]
    return numbers, json.dumps(form, sort_keys=True)


def _form(value: Any, steps: Steps, numbers: Numbers) -> Any:
    """A value with the kind of each number in its place; the numbers are noted."""
    if isinstance(value, dict):
        return {key: _form(below, (*steps, key), numbers) for key, below in value.items()}
    if _is_number(value):
        numbers[steps] = value
        return {"": type(value).__name__}
    return value


def _with_numbers(name: str, known: Known, numbers: Numbers) -> Any:
    """A piece with other numbers; None where the parser has not taken over such a number as it was typed."""
    whole = {name: deepcopy(known.settings)}
    for (*above, last), number in numbers.items():
        typed = known.numbers[*above, last]
        if number == typed:
            continue
        place = _at(whole, above)
        if last not in place or type(place[last]) not in (int, float) or place[last] != typed:
            return None
        place[last] = type(place[last])(number)
    return whole[name]


def _at(settings: Any, steps: Sequence[str]) -> Settings:
    """What lies at the end of a way; nothing where it leads nowhere."""
    for step in steps:
        settings = settings.get(step) if isinstance(settings, dict) else None
    return settings if isinstance(settings, dict) else {}


@cache
def _parser() -> Parser:
    return _NothingRequired(["fit"]).parser_of_fit()


@cache
def _parser_of_run() -> Parser:
    """Of the names of a run alone, which differ in every run and need no other option."""
    parser = Parser(parser_mode=PARSER_MODE)
    parser.add_argument("--config", action=ActionConfigFile)
    parser.add_class_arguments(RunSettings, "run")
    return parser


def _parse(name: str, arguments: Sequence[str]) -> Settings:
    parser = _parser_of_run() if name == "run" else _parser()
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
        parser.add_lightning_class_args(LightningModule, "model", subclass_mode=True, required=False)
        parser.add_lightning_class_args(LightningDataModule, "data", subclass_mode=True, required=False)
