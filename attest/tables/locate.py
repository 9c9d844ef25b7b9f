"""Where the run of a command lies, without running it."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from attest.runs.choices import expand
from attest.runs.training import AttestCLI


class RunLocator:
    """From what follows ``attest fit`` to the run's folder, as ``attest fit`` itself would name it.

    Making the parser takes a second, so it is made once.
    """

    def __call__(self, arguments: Sequence[str]) -> Path:
        cli = self._cli
        cli.config = cli.parser.parse_args(["fit", *expand(list(arguments))])
        cli.locate()
        return cli.folder.path

    @cached_property
    def _cli(self) -> "_ParsingCLI":
        return _ParsingCLI(["fit", *expand([])])


class _ParsingCLI(AttestCLI):
    """Parses and goes no further."""

    def before_instantiate_classes(self) -> None: ...

    def instantiate_classes(self) -> None: ...

    def _run_subcommand(self, subcommand: str) -> None: ...
