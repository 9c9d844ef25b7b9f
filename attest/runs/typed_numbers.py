"""A word typed where a number or a truth value belongs: found before the parser of configurations is there, in its words."""

import re
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from attest.errors import AttestError

KINDS = {int: "int", float: "float", bool: "bool", NoneType: "null"}
"""As the parser names them."""
OR = " or "
LEFT_TO_THE_PARSER = frozenset(("true", "false", "yes", "no", "on", "off", "y", "n", "null", "none"))
"""Words that YAML or the parser may take for something else."""
WORD, WHOLE, DECIMAL = re.compile(r"[A-Za-z_]+"), re.compile(r"-?[1-9]\d*"), re.compile(r"-?\d+\.\d+")


def kinds_of(annotation: Any) -> str:
    """``int or null`` of ``int | None``; empty where anything else than numbers, truth values and null may be meant."""
    members = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return OR.join(KINDS[member] for member in members) if all(member in KINDS for member in members) else ""


def require_kind(name: str, value: str, kinds: str) -> None:
    """Refuse what is surely of none of the kinds; what may be is left to the parser.

    Args:
        name: of the option, or of the parameter of a class.
        value: as typed.
        kinds: what ``kinds_of`` says of it.
    Raises:
        AttestError: the value is a word, a decimal number where whole ones belong, or a number where a truth value belongs.
    """
    known = kinds.split(OR) if kinds else []
    is_word = WORD.fullmatch(value) and value.lower() not in LEFT_TO_THE_PARSER
    is_decimal = DECIMAL.fullmatch(value) and str(float(value)) == value and "float" not in known
    is_whole = WHOLE.fullmatch(value) and not {"int", "float"} & set(known)
    if known and (is_word or is_decimal or is_whole):
        raise AttestError(f"{name} is {value}; expected {kinds}.")
