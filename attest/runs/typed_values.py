"""A word typed where a number, a truth value or one of some words belongs: found before the parser is there, in its words."""

import re
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from attest.errors import AttestError

KINDS = {int: "int", float: "float", bool: "bool", NoneType: "null"}
"""As the parser names them."""
OR, ONE_OF, AMONG = " or ", "one of ", "|"
"""Between kinds; before words to choose from, and between these."""
LEFT_TO_THE_PARSER = frozenset(("true", "false", "yes", "no", "on", "off", "y", "n", "null", "none"))
"""Words that YAML or the parser may take for something else."""
WORD, WHOLE, DECIMAL = re.compile(r"[A-Za-z_]+"), re.compile(r"-?[1-9]\d*"), re.compile(r"-?\d+\.\d+")
CHOICE = re.compile(r"[A-Za-z][\w-]*")


def kinds_of(annotation: Any) -> str:
    """``int or null`` of ``int | None``, ``one of max|min`` of a Literal; empty where anything else may be meant."""
    members = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    kinds = [KINDS[member] if member in KINDS else _choices_of(member) for member in members]
    return OR.join(kinds) if all(kinds) else ""


def _choices_of(annotation: Any) -> str:
    """Empty where a choice is no plain word."""
    choices = get_args(annotation) if get_origin(annotation) is Literal else ()
    plain = all(isinstance(choice, str) and CHOICE.fullmatch(choice) for choice in choices)
    return ONE_OF + AMONG.join(choices) if choices and plain else ""


def require_kind(name: str, value: str, kinds: str) -> None:
    """Refuse what is surely of none of the kinds; what may be is left to the parser.

    Args:
        name: of the option, or of the parameter of a class.
        value: as typed.
        kinds: what ``kinds_of`` says of it.
    Raises:
        AttestError: the value is a word that is none of the choices, a decimal number where whole ones belong, or a number
            where a truth value or a choice belongs.
    """
    known = kinds.split(OR) if kinds else []
    choices = [choice for kind in known if kind.startswith(ONE_OF) for choice in kind.removeprefix(ONE_OF).split(AMONG)]
    is_word = (CHOICE if choices else WORD).fullmatch(value) and value.lower() not in LEFT_TO_THE_PARSER
    is_decimal = DECIMAL.fullmatch(value) and str(float(value)) == value and "float" not in known
    is_whole = WHOLE.fullmatch(value) and not {"int", "float"} & set(known)
    if known and value not in choices and (is_word or is_decimal or is_whole):
        raise AttestError(f"{name} is {value}; expected {kinds.replace(AMONG, ', ')}.")
