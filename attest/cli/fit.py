"""``attest fit``, ``attest validate`` and ``attest test``: LightningCLI's own commands, with choices."""

from attest.runs.choices import expand
from attest.runs.training import AttestCLI


def main(arguments: list[str]) -> int:
    """Run the command; returns the exit code.

    Args:
        arguments: its name, then what follows.
    """
    command, *rest = arguments
    AttestCLI([command, *expand(rest)])
    return 0
