"""Where the run of a command lies, without running it."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from attest.runs.choices import expand
from attest.runs.configured import ConfiguredRun


class RunLocator:
    """From what follows ``attest fit`` to the run's folder, as ``attest fit`` itself would name it.

    Making the parser takes a second, so it is made once.
    """

    def __call__(self, arguments: Sequence[str]) -> Path:
        run = self._run
        run.config = run.parser.parse_args(["fit", *expand(list(arguments))])
        run.locate()
        return run.folder.path

    @cached_property
    def _run(self) -> ConfiguredRun:
        return ConfiguredRun(["fit", *expand([])])
