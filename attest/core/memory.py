"""The memory budget: large steps are computed a few rows at a time, so that they fit into it.

Results depend neither on the budget nor on how many processes share it: each row is computed independently of the other rows,
and for all budgets of at least ``PIECE`` bytes the pieces are the same.
"""

import math
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from attest.core.bounds import require_bounds

_GIBIBYTE = 1 << 30
MOST_GIBIBYTES = 2**30
"""More than any machine has; a larger budget is the same."""
_BYTES_PER_PAIR = 96
"""To estimate memory: the bytes that an experiment on all pairs of tokens needs for each pair, about a dozen float64 numbers.
The memory budget and this number limit the length of a text."""
CACHE = 1 << 22
"""The number of bytes that fit into the cache of a CPU core. Work on large integer tensors is done in pieces of this size,
which is faster."""
PIECE = 1 << 26
"""The largest number of bytes that a CPU uses at a time for a computation over many rows. Larger pieces would not be faster,
and several processes share one memory budget."""
NEAR = 1 << 25
"""The number of bytes of activations that a CPU computes at a time: few enough for its caches, but enough rows for fast matrix
products."""
_budget = _GIBIBYTE
_turn: AbstractContextManager[Any] = nullcontext()
"""A lock that several processes share. A process holds it while a single row of a computation needs more than ``PIECE`` bytes,
so that only one process at a time uses that much memory. Without several processes it is a lock that does nothing."""
_longest = 3000


def memory_budget() -> int:
    """Return how many bytes a computation may use besides the model and the batch; 1 GiB by default."""
    return _budget


def longest_quadratic() -> int:
    """Return the largest text length, in tokens, for which experiments on all token pairs are computed."""
    return min(_longest, math.isqrt(_budget // _BYTES_PER_PAIR))


def set_memory_budget(gibibytes: float, longest: int = 3000) -> None:
    """Set the memory budget of this process.

    Args:
        longest: the most tokens of a text for which experiments compare all pairs of tokens; more would take too long.
    """
    global _budget, _longest
    require_bounds({"memory_gib": gibibytes, "max_evidence_tokens": longest})
    _budget, _longest = int(min(gibibytes, MOST_GIBIBYTES) * _GIBIBYTE), longest


def processes_that_fit() -> int:
    """Return the number of processes that fit into the memory budget together."""
    return max(1, _budget // PIECE)


@contextmanager
def budget_shared(turn: AbstractContextManager[Any]) -> Iterator[None]:
    """Let processes that share the lock ``turn`` use large memory only one at a time, inside the ``with`` block."""
    global _turn
    before, _turn = _turn, turn
    try:
        yield
    finally:
        _turn = before


@contextmanager
def budget_kept() -> Iterator[None]:
    """Restore the memory budget of this process at the end of the ``with`` block."""
    global _budget, _longest
    before = _budget, _longest
    try:
        yield
    finally:
        _budget, _longest = before


def bytes_at_once(device: torch.device, on_cpu: int = PIECE) -> int:
    """Return how many bytes a step over several rows takes at a time on a device.

    A CPU is fast where a step stays near its cores. An accelerator has to be asked for each step, which takes as long as
    computing many rows, so it gets all that the memory budget allows.

    Args:
        on_cpu: the number for a CPU, such as ``CACHE``, ``NEAR`` or ``PIECE``.
    """
    return min(_budget, on_cpu) if device.type == "cpu" else _budget


def rows_at_once(bytes_per_row: int, budget: int = PIECE) -> int:
    """Return how many rows of a tensor fit into the given memory budget; at least 1."""
    return max(1, min(_budget, budget) // max(1, bytes_per_row))


def by_rows(function: Callable[..., Tensor], bytes_per_row: int, *rows: Tensor, budget: int = PIECE) -> Tensor:
    """Apply a function to a few rows of tensors at a time, and join the results into one tensor.

    Args:
        function: takes the tensors cut to some of their rows, returns one tensor with as many rows.
        bytes_per_row: what the function needs for one row at its peak.
        budget: how many bytes are computed at a time on a CPU; on other devices as many as ``bytes_at_once`` says.
    """
    chunk = rows_at_once(bytes_per_row, bytes_at_once(rows[0].device, budget))
    with _turn if bytes_per_row > PIECE else nullcontext():
        if len(rows[0]) <= chunk:
            return function(*rows)
        return torch.cat([function(*parts) for parts in zip(*(tensor.split(chunk) for tensor in rows), strict=True)])


_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def cores(quota: Path = _QUOTA) -> int:
    """Count the CPU cores that this process may use.

    Args:
        quota: the Linux file with the CPU time that is allowed in a period, or ``max``, and the period, in microseconds.
    """
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):  # no such file, or no quota: ``max``
        time, period = map(int, quota.read_text().split())
        return max(1, min(bound, time // period))
    return bound


@contextmanager
def in_evaluation_mode(network: nn.Module) -> Iterator[None]:
    """Set all parts of a network to evaluation mode inside the ``with`` block, and restore each part's mode afterwards."""
    training = [module for module in network.modules() if module.training]
    network.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def to_numpy(values: Tensor) -> np.ndarray:
    """Return a CPU tensor as a numpy array without a gradient; bfloat16 becomes float32."""
    return (values.float() if values.dtype == torch.bfloat16 else values).detach().numpy()


def sort_rows(values: Tensor) -> Tensor:
    """Sort numbers in ascending order along the last dimension, without a gradient.

    On a CPU, numpy sorts them: it is ten times faster than torch, which also sorts their indices.
    """
    if values.device.type == "cpu":
        return torch.from_numpy(np.sort(to_numpy(values), axis=-1)).to(values.dtype)
    return values.detach().sort(dim=-1).values


CACHE_VARIABLE = "ATTEST_CACHE"
DEFAULT_CACHE = Path("~/.cache/attest")


def cache_folder() -> Path:
    """Return the path of the cache folder: ``ATTEST_CACHE``, or ``~/.cache/attest``; it need not exist."""
    return Path(os.environ.get(CACHE_VARIABLE) or DEFAULT_CACHE).expanduser()
