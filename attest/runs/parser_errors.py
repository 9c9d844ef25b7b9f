"""Parser errors, boiled down to one sentence: what was found, what was expected, what to type.

jsonargparse parses nested classes with nested parsers and quotes their errors inside its own, over up to twenty lines. Each of
our parsers therefore marks its sentence, and an outer one passes on the marked sentence of the inner.
"""

import re

from jsonargparse import ArgumentParser

from attest.runs.choices import stray_word
from attest.runs.option_names import unknown_option, unknown_parameter

MARK = "\N{INVISIBLE SEPARATOR}"
MARKED = re.compile(f"{MARK}(.+?){MARK}", re.DOTALL)
UNKNOWN_OPTION = re.compile(r"[Oo]ption '(?:--)?([\w.]+)' is not accepted|does not accept option '(?:--)?([\w.]+)")
UNRECOGNISED = re.compile(r"[Uu]nrecognized arguments: (\S+)")
WRONG_VALUE = re.compile(r'Parser key "([\w.]+)":(.+?)(?:Got value|Given value): (\S+)', re.DOTALL)
EXPECTED = re.compile(r"Expected an? (<class '[\w.]+'>|\S*Literal\[[^\]]*\]|[^.\n]+)")
OF_FILES = re.compile(r"path but|dot import path")
"""What the parser also would have taken where a class or a number belongs."""
NO_CLASS = re.compile(r'Parser key "([\w.]+)":.+Expected a dot import path string: (\S+)', re.DOTALL)
REQUIRED = re.compile(r"the following arguments are required: (.+)")
MISSING_FILE = re.compile(r"File does not exist: '?([^'\n]+)")
OURS = re.compile(r"(?:^|- )([^\n]+; expected [^\n]+)")
"""A sentence of ours, which says what was expected."""
BROKEN_CONFIG = re.compile(r"(?:Problems parsing|Unexpected) config: *(.*)", re.DOTALL)
MISSING_CLASS = re.compile(r"module '([\w.]+)' has no attribute '(\w+)'|No module named '([\w.]+)'")


def explain_parser_error(message: str, parser: ArgumentParser) -> str:
    """One sentence for a parser's message; call ``unmarked`` on it before showing it.

    Args:
        message: what jsonargparse says.
        parser: knows which options there are.
    """
    if match := MARKED.search(message):
        return match[0]
    return f"{MARK}{_sentence(message, parser)}{MARK}"


def explain_build_error(error: BaseException) -> str:
    """What a class said of its arguments, out of all that jsonargparse wraps around it."""
    message = str(error)
    ours = OURS.search(message)
    return (
        ours[1]
        if ours
        else f"the configuration cannot be built ({' '.join(message.split())}); expected values in their range."
    )


def unmarked(sentence: str) -> str:
    """The sentence as a user should see it."""
    return sentence.replace(MARK, "")


def _sentence(message: str, parser: ArgumentParser) -> str:
    if match := UNRECOGNISED.search(message):
        if not match[1].startswith("-"):
            return str(stray_word(match[1]))
        return unknown_option(match[1], match[1].lstrip("-").split("=")[0], _options(parser))
    if match := UNKNOWN_OPTION.search(message):
        return unknown_parameter(match[1] or match[2], _options(parser))
    if match := MISSING_FILE.search(message):
        return f"{match[1]} does not exist; expected a configuration file. Those that ship with Attest lie in configs/."
    if match := BROKEN_CONFIG.search(message):
        reason = " ".join(match[1].split())
        return f"a file given with --config is not a configuration ({reason}); expected YAML with keys of `attest fit --help`."
    if match := MISSING_CLASS.search(message):
        found = f"{match[1]}.{match[2]}" if match[1] else match[3]
        return f"there is no class {found}; expected the import path of one, as in the files below configs/."
    if (match := WRONG_VALUE.search(message)) and (expected := EXPECTED.findall(match[2])):
        kinds = [kind for kind in expected if not OF_FILES.match(kind)] or ["the import path of a class"]
        return f"{match[1]} is {match[3]}; expected {' or '.join(map(_plainly, kinds))}."
    if match := NO_CLASS.search(message):
        return f"{match[1]} is {match[2]}; expected the import path of a class, as in the files below configs/."
    if match := REQUIRED.search(message):
        return f"{match[1]} is missing, which a class that was named needs; expected its value. Add it to its init_args."
    return " ".join(message.split())


def _options(parser: ArgumentParser) -> list[str]:
    return [option.lstrip("-") for action in parser._actions for option in action.option_strings]


def _plainly(expected: str) -> str:
    """A type as a user would name it: ``<class 'int'>`` is int, a Literal its values, NoneType null."""
    if "Literal[" in expected:
        return "one of " + expected[expected.index("[") + 1 : -1].replace("'", "")
    name = re.sub(r"<class '([\w.]+)'>", r"\1", expected).strip()
    return "null" if name == "NoneType" else name
