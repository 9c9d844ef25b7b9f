"""The runs of the commands, inside a process that continues: errors are raised, and settings are restored."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
import wandb

from attest.app.configured import ConfiguredRun
from attest.app.training import train
from attest.core.errors import as_user_error
from attest.core.memory import budget_kept
from attest.runs.choices import expand
from attest.runs.folder import RunFolder
from attest.runs.versions import quieten


def fit(arguments: Sequence[str]) -> RunFolder:
    """Train and put on trial, as ``attest fit`` does, in the same folder.

    Args:
        arguments: what would follow ``attest fit``.
    Raises:
        AttestError: a mistake that the user can mend.
    """
    with as_a_command():
        return train(ConfiguredRun(["fit", *expand(list(arguments))], arguments))


@contextmanager
def as_a_command() -> Iterator[None]:
    """Let a command set up the process as it needs it, then set back threads, memory budget and W&B.

    Raises:
        AttestError: in place of an error of a library's that a user can mend.
    """
    quieten()
    threads = torch.get_num_threads()
    try:
        with budget_kept():
            yield
    except Exception as error:
        if (mistake := as_user_error(error)) is None or mistake is error:
            raise
        raise mistake from error
    finally:
        torch.set_num_threads(threads)
        wandb.finish()
