"""Which errors a user can mend, however deep a library has wrapped them."""

import errno
import sys

import pytest
import torch
from pytorch_lightning.utilities.exceptions import MisconfigurationException
from wandb.errors import AuthenticationError

from attest.core.errors import AttestError, as_user_error, unknown_choice

HERE = f"{sys.executable} -m pip install"


def missing(module: str) -> ModuleNotFoundError:
    return ModuleNotFoundError(f"No module named {module!r}", name=module)


def wrapped(error: BaseException) -> RuntimeError:
    """As libraries do: raised from, then raised while handling."""
    middle = ValueError("a library's own words")
    middle.__cause__ = error
    outer = RuntimeError("another's")
    outer.__context__ = middle
    return outer


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (AttestError("x is 1; expected 2."), "x is 1; expected 2."),
        (AuthenticationError("the key is invalid"), "W&B refuses this run (the key is invalid); expected a key and a project"),
        (missing("tensorboard.summary"), f"{HERE} '.[tensorboard]'"),
        (missing("wandb_workspaces"), f"{HERE} '.[dashboard]'"),
        (missing("mymodels"), "expected every package that this configuration imports"),
        (OSError(errno.ENOSPC, "full", "/runs/x"), "/runs/x cannot be written: No space left on device; expected"),
        (OSError(errno.EROFS, "ro"), "a file of this run cannot be written: Read-only file system"),
        (PermissionError(errno.EACCES, "no", "/secret"), "/secret cannot be used: Permission denied; expected"),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"), "there is not enough memory"),
        (MisconfigurationException("max_epochs is -5"), "the Trainer refuses its settings (max_epochs is -5)"),
        (MemoryError(), "there is not enough memory"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "there is not enough memory"),
        (
            DeprecationWarning("old\nname"),
            "a warning was raised as an error (DeprecationWarning: old name); expected warnings",
        ),
    ],
)
def test_a_mistake_is_found_inside_what_wraps_it(error, sentence):
    for each in (error, wrapped(error)):
        assert sentence in str(as_user_error(each))


@pytest.mark.parametrize("error", [None, ValueError("a bug"), RuntimeError("shapes differ"), OSError(errno.EIO, "broken")])
def test_what_nobody_can_mend_keeps_its_traceback(error):
    assert as_user_error(error) is None


def test_a_name_in_other_letters_is_the_nearest_one():
    assert str(unknown_choice("DATA", "PLANTED", ["imdb", "planted", "sst"], "{}")).endswith("Type for example: planted")
