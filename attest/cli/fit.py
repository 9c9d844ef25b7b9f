"""``attest fit``, ``attest validate`` and ``attest test``: LightningCLI's own commands, with choices."""

from attest.runs.choices import expand
from attest.runs.configured import ConfiguredRun
from attest.runs.training import score, train


def main(arguments: list[str]) -> int:
    """Run the command; returns the exit code.

    Args:
        arguments: its name, then what follows.
    """
    command, *rest = arguments
    run = ConfiguredRun([command, *expand(rest)])
    train(run) if command == "fit" else score(run)
    return 0
