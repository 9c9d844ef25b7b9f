"""``attest fit``, ``attest validate`` and ``attest test``: LightningCLI's own commands, with choices."""

from attest.cli.choices_help import choices_help
from attest.runs.choices import expand


def main(arguments: list[str]) -> int:
    """Run the command; returns the exit code.

    Args:
        arguments: its name, then what follows.
    """
    command, *rest = arguments
    options = expand(rest)
    if {"-h", "--help"} & {*rest}:
        print(choices_help(command), flush=True)
    from attest.runs.configured import ConfiguredRun  # seconds that no mistyped choice waits for
    from attest.runs.training import score, train

    run = ConfiguredRun([command, *options], rest)
    train(run) if command == "fit" else score(run)
    return 0
