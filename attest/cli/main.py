"""The one door: ``attest fit|validate|test|evidence|explain|report|…``; ``COMMANDS`` lists what is not LightningCLI's own.

Everything is configured as LightningCLI configures it, with choices (``DATA=sst MODEL=bilstm``) as shorthand for shipped
configuration files. A mistake the user can mend gets one sentence and exit code 2.
"""

import sys
from importlib import import_module

from attest.cli.process_family import end_with_first_rank
from attest.runs.versions import version_line

COMMANDS = {
    "evidence": "attest.cli.evidence:main",
    "adversarial": "attest.cli.adversarial:main",
    "controls": "attest.cli.controls:main",
    "keys": "attest.cli.keys:main",
    "explain": "attest.cli.explain:main",
    "report": "attest.cli.report:main",
    "table": "attest.cli.table:main",
    "dashboard": "attest.cli.dashboard:main",
    "data": "attest.cli.data:main",
    "doctor": "attest.cli.doctor:main",
    "reproduce": "attest.cli.reproduce:main",
}
"""Commands beside fit, validate and test: a function that takes what follows the command's name and returns the exit code.
Imported when they are typed, so that none slows the others down."""

STOPPED_BY_SIGINT, STOPPED_BY_SIGTERM = 130, 143
"""Exit codes: 128 and the number of the signal, as shells have it."""


def main(arguments: list[str] | None = None) -> int:
    """Run ``attest``; returns the exit code.

    Args:
        arguments: what follows the program's name; from the command line if None.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments == ["--version"]:
        print(version_line())
        return 0
    return _run(*(arguments or ["--help"]))


def _run(command: str, *rest: str) -> int:
    """Run a command; what is imported here takes seconds, which ``--version`` does not wait for."""
    end_with_first_rank()
    import wandb
    from pytorch_lightning.utilities.exceptions import SIGTERMException

    from attest.errors import mendable, unknown_choice
    from attest.runs.choices import expand
    from attest.runs.parser_errors import unmarked
    from attest.runs.quiet import quieten
    from attest.runs.training import AttestCLI

    quieten()
    try:
        if command in COMMANDS:
            module, function = COMMANDS[command].split(":")
            return int(getattr(import_module(module), function)(list(rest)))
        if not command.startswith("-") and command not in AttestCLI.subcommands():
            raise unknown_choice("The command", command, [*AttestCLI.subcommands(), *COMMANDS], "attest {}")
        AttestCLI([command, *(expand(list(rest)) if command in AttestCLI.subcommands() else rest)])
    except Exception as error:
        if (mistake := mendable(error)) is None:
            raise
        print(f"attest: {unmarked(str(mistake))}", file=sys.stderr)
        return 2
    except (SIGTERMException, KeyboardInterrupt) as stop:
        print("attest: stopped; the same command takes the run up where it stopped.", file=sys.stderr)
        return STOPPED_BY_SIGTERM if isinstance(stop, SIGTERMException) else STOPPED_BY_SIGINT
    finally:
        wandb.finish()  # a second run in this process must not write into the first one's file
    return 0


if __name__ == "__main__":
    sys.exit(main())
