"""Where the run of a command lies, without running it."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attest.runs.choices import complete, expand
from attest.runs.naming import NAME_PARTS, UNNAMED, folder_of, readable_name, run_name
from attest.runs.uncompiled import import_uncompiled
from attest.runs.words import take_words
from attest.tables.remembered import Name, RememberedNames

if TYPE_CHECKING:
    from attest.runs.pieces import Pieces

ROOT = "--run.root="
HOW = (ROOT, "--run.processes=")
"""Options that say where and by how many a run is computed, not what it is; a reproduction gives them to all its runs."""
NAMED = {"DATA", *(part.upper() for part in NAME_PARTS)}
"""Choices that stand in the name of a run's folder."""
ELSEWHERE = {"LOGGER"}
"""Choices that say where a run is logged, not what it is."""


class RunLocator:
    """From what follows ``attest fit`` to the run's folder, as ``attest fit`` itself would name it.

    A run of nothing but the choices in its name lies where these say. All others are resolved as ``attest fit`` resolves them,
    by one parser, which takes a second to make, and remembered.
    """

    def __init__(self) -> None:
        self._names = RememberedNames()
        self._references: dict[tuple[tuple[str, str], ...], dict[str, Any] | None] = {}

    def __call__(self, arguments: Sequence[str]) -> Path:
        return self._by_choices(arguments) or self._resolved(arguments)

    def keep(self) -> None:
        """Remember for other plans what was resolved for this one."""
        self._names.keep()

    def _by_choices(self, arguments: Sequence[str]) -> Path | None:
        words, rest = take_words(arguments)
        seed = words.text("SEED", "0")
        if {*words.typed} - NAMED - ELSEWHERE - {"SEED"} or not all(option.startswith(HOW) for option in rest):
            return None
        choices = {name: value for name, value in words.typed.items() if name in NAMED}
        chosen = {name.lower(): value for name, value in complete(choices).items()}
        return folder_of(_root(rest), chosen["data"], readable_name(chosen), seed)

    def _resolved(self, arguments: Sequence[str]) -> Path:
        naming = [argument for argument in arguments if not argument.startswith(HOW)]
        if (name := self._names[naming]) is None:
            name = self._names[naming] = self._name(naming)
        return folder_of(_root(arguments), *name)

    def _name(self, arguments: Sequence[str]) -> Name:
        """Corpus, setting and seed, as ``attest fit`` resolves what was typed."""
        import_uncompiled(arguments)
        settings = self._pieces.resolve(expand(_logged_lightly(arguments)))
        choices = {part: settings["run"][part] for part in ("data", *NAME_PARTS)}
        name = run_name(settings, self._reference(tuple(choices.items())))
        return settings["run"]["data"], name, str(settings["seed_everything"])

    def _reference(self, choices: tuple[tuple[str, str], ...]) -> dict[str, Any] | None:
        """What a readable name stands for, resolved once, however many runs it is compared with."""
        from attest.runs.configured import resolve_choices

        if choices not in self._references:
            self._references[choices] = resolve_choices(dict(choices), self._pieces.resolve)
        return self._references[choices]

    @cached_property
    def _pieces(self) -> "Pieces":
        from attest.runs.pieces import Pieces  # seconds that a plan of plain runs does not wait for

        return Pieces()


def _logged_lightly(arguments: Sequence[str]) -> list[str]:
    """With the logger that names are resolved with, where none was typed: which it is, is no part of a name."""
    typed = any(argument.startswith(("LOGGER=", "--trainer.logger")) for argument in arguments)
    return [*arguments, *([] if typed else [f"{name}={value}" for name, value in UNNAMED.items()])]


def _root(arguments: Sequence[str]) -> Path:
    typed = (option.removeprefix(ROOT) for option in reversed(arguments) if option.startswith(ROOT))
    return Path(next(typed, "runs"))
