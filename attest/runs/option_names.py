"""Names of the options of ``attest fit``, kept in a file, so that a mistyped one is found before Lightning is imported.

The file says which versions of the parser's libraries it was made with; with others nothing is found here, and the parser
itself says what is wrong. ``make docs`` writes it anew:

    python -m attest.runs.option_names
"""

from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path

from attest.errors import AttestError, nearest
from attest.runs.earlier_names import current

FILE = Path(__file__).with_suffix(".txt")
LIBRARIES = ("pytorch-lightning", "jsonargparse")
"""Which options there are depends on them."""
FEW = 16
"""So many names are listed; of more, only the nearest is told."""


def require_known(arguments: Sequence[str]) -> None:
    """Refuse the first option that the parser of ``fit`` would not know.

    Options that classes of data, model and experiments take are left to the parser, as is everything where help or the
    configuration is asked for.

    Args:
        arguments: what follows ``attest fit``, choices and options.
    Raises:
        AttestError: an option is not known.
    """
    names = _names()
    if not names or any(argument.startswith(("-h", "--help", "--print")) for argument in arguments):
        return
    for argument in map(current, arguments):
        if argument == "--":
            return
        if argument.startswith("--") and " " not in argument.split("=")[0] and not _may_be_known(_name(argument), names):
            raise AttestError(unknown_option(argument, _name(argument), {name.rstrip(".") for name in names}))


def unknown_option(what: str, name: str, known: Iterable[str]) -> str:
    """The sentence for an option that is not known.

    Args:
        what: was found.
        name: of the option.
        known: names of all that would have been taken.
    """
    names = sorted({*known} - {"h", "help"})
    expected = ", ".join(names) if len(names) <= FEW else "one that `attest fit --help` lists"
    guess = nearest(name, names, cutoff=0.3)
    hint = f" Did you mean {guess}?" if guess else ""
    return f"{what} is not known; expected {expected}.{hint}"


def _name(argument: str) -> str:
    return argument.lstrip("-").split("=")[0].rstrip("+")


def _may_be_known(name: str, names: frozenset[str]) -> bool:
    """Whether it is one of the names, begins one, as argparse allows, or lies below one that is no mere group of others."""
    parts = name.split(".")
    above = (".".join(parts[:count]) for count in range(1, len(parts)))
    return any(known.startswith(name) for known in names) or any(each in names for each in above)


@cache
def _names() -> frozenset[str]:
    """Groups of options end in a dot; nothing where the file was made with other versions."""
    made_with, *names = FILE.read_text(encoding="utf-8").splitlines()
    return frozenset(names) if made_with == _versions() else frozenset()


def _versions() -> str:
    return "# " + ", ".join(f"{library} {version(library)}" for library in LIBRARIES)


def file_content() -> str:
    """What the file should hold, by the parser itself."""
    from attest.runs.configured import option_groups

    lines = sorted(f"{name}." if is_group else name for name, is_group in option_groups().items())
    return "\n".join([_versions(), *lines, ""])


if __name__ == "__main__":
    FILE.write_text(file_content(), encoding="utf-8")
