"""Which errors a user can mend, however deep a library has wrapped them."""

import errno
import sys

import pytest
import torch
from pytorch_lightning.utilities.exceptions import MisconfigurationException
from torch import nn
from wandb.errors import AuthenticationError

from attest.core.errors import AttestError, as_user_error, unknown_choice

HERE = f"{sys.executable} -m pip install"


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
        (
            ModuleNotFoundError("Neither `tensorboard` nor `tensorboardX` is available."),
            f"{HERE} 'attest-attention[tensorboard]'",
        ),
        (ModuleNotFoundError("No module named 'wandb_workspaces'"), f"{HERE} 'attest-attention[dashboard]'"),
        (ModuleNotFoundError("No module named 'mymodels'"), "expected every package that this configuration imports"),
        (OSError(errno.ENOSPC, "full", "/runs/x"), "/runs/x cannot be written: No space left on device; expected"),
        (OSError(errno.EROFS, "ro"), "a file of this run cannot be written: Read-only file system"),
        (PermissionError(errno.EACCES, "no", "/secret"), "/secret cannot be used: Permission denied; expected"),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"), "there is not enough memory"),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"), "--run.memory_gib=0.25"),
        (MisconfigurationException("max_epochs is -5"), "the Trainer refuses its settings (max_epochs is -5)"),
        (ValueError("-1 is not in bounds, numpy accepts from 0 to 4294967295"), "-1 is not a seed; expected a whole number"),
        (MemoryError(), "there is not enough memory"),
        (
            RuntimeError("could not create a primitive"),
            "a layer cannot be computed on this device (could not create a primitive)",
        ),
        (RuntimeError("std::bad_alloc"), "there is not enough memory"),
        (ImportError("libtorch.so: failed to map segment from shared object"), "there is not enough memory"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "there is not enough memory"),
        (
            DeprecationWarning("old\nname"),
            "a warning was raised as an error (DeprecationWarning: old name); expected warnings",
        ),
        (ValueError("Invalid learning rate: -1.0"), "the optimiser cannot be created (Invalid learning rate: -1.0)"),
    ],
)
def test_a_mistake_is_found_inside_what_wraps_it(error, sentence):
    for each in (error, wrapped(error)):
        assert sentence in str(as_user_error(each))


@pytest.mark.parametrize("error", [None, ValueError("a bug"), RuntimeError("shapes differ"), OSError(errno.EIO, "broken")])
def test_what_nobody_can_mend_keeps_its_traceback(error):
    assert as_user_error(error) is None


def test_a_checkpoint_of_another_network_is_described_by_its_first_difference():
    with pytest.raises(RuntimeError) as raised:
        nn.Linear(2, 3).load_state_dict(nn.Linear(2, 4).state_dict())
    assert "another network (size mismatch for weight: copying a param with shape torch.Size([4, 2])" in str(
        as_user_error(raised.value)
    )


def test_a_name_in_other_letters_is_the_nearest_one():
    assert str(unknown_choice("DATA", "PLANTED", ["imdb", "planted", "sst"], "{}")).endswith("Type for example: planted")
