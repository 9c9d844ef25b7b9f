"""Parser errors, boiled down to one sentence."""

import difflib
import inspect
import re
from collections.abc import Iterable
from importlib import import_module

from jsonargparse import ArgumentParser

UNKNOWN_OPTION = re.compile(r"(?:Option|option) '(?:[\w.]+\.)?(\w+)' is not accepted|does not accept option '(?:--)?([\w.]+)")
UNRECOGNISED = re.compile(r"[Uu]nrecognized arguments: (.+)")
CLASS_PATH = re.compile(r"class_path[ =:]+'([\w.]+)'")
EXPECTED = re.compile(r'Parser key "([\w.]+)":\s*(Expected .*?)\.? Got value: (\S+)', re.DOTALL)
MISSING_CLASS = re.compile(r"module '([\w.]+)' has no attribute '(\w+)'|No module named '([\w.]+)'")


def readable_parser_error(message: str, parser: ArgumentParser) -> str:
    """What was found, what was expected, what to type, from a message that may run over twenty lines.

    Args:
        message: what jsonargparse says.
        parser: knows which options there are.
    """
    if match := UNRECOGNISED.search(message):
        found = match[1].split()[0]
        return _unknown(f"argument {found}", found.lstrip("-").split("=")[0], _options(parser), "the command")
    if match := UNKNOWN_OPTION.search(message):
        found = match[1] or match[2]
        classes = CLASS_PATH.findall(message)
        if match[1] and classes:
            owner, parameters = _owner(found, classes)
            return _unknown(f"option {found}", found, parameters, owner)
        return _unknown(f"option {found}", found, _options(parser), "the command")
    if match := EXPECTED.search(message):
        return f"{match[1]} is {match[3]}; {match[2][0].lower()}{match[2][1:]}. Correct it and run the command again."
    if match := MISSING_CLASS.search(message):
        found = f"{match[1]}.{match[2]}" if match[1] else match[3]
        return f"there is no class {found}; expected the import path of one. See configs/ for those that ship with Attest."
    return " ".join(message.split())


def _unknown(what: str, found: str, known: Iterable[str], owner: str) -> str:
    names = sorted(set(known))
    nearest = difflib.get_close_matches(found, names, n=1, cutoff=0.3)
    expected = ", ".join(names) if len(names) <= 12 else "one that `attest fit --help` lists"
    hint = f" Did you mean {nearest[0]}?" if nearest else ""
    return f"{what} is not known to {owner}; expected {expected}.{hint}"


def _options(parser: ArgumentParser) -> list[str]:
    return [option.lstrip("-") for action in parser._actions for option in action.option_strings]


def _owner(found: str, class_paths: list[str]) -> tuple[str, list[str]]:
    """The class whose parameters come nearest to the name that was mistyped, innermost first."""
    candidates = [(path, _parameters(path)) for path in reversed(class_paths)]
    return max(candidates, key=lambda c: max((difflib.SequenceMatcher(None, found, p).ratio() for p in c[1]), default=0.0))


def _parameters(class_path: str) -> list[str]:
    module, _, name = class_path.rpartition(".")
    try:
        return [p for p in inspect.signature(getattr(import_module(module), name)).parameters if p not in ("args", "kwargs")]
    except (ImportError, AttributeError, ValueError, TypeError):
        return []
