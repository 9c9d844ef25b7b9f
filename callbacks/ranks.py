"""What the processes of a run send one another; one process sends nothing."""

from typing import TypeVar

from torch import distributed

Value = TypeVar("Value")


def all_gather(value: Value) -> list[Value]:
    """Every rank's value in the order of ranks, on every rank; each must ask."""
    if not _together():
        return [value]
    values: list[Value] = [value] * distributed.get_world_size()
    distributed.all_gather_object(values, value)
    return values


def share_of_rank(values: list[Value]) -> list[Value]:
    """Of one value for each rank of a stopped run, those this rank takes up: its own, unless it has other company now."""
    return values[distributed.get_rank() :: distributed.get_world_size()] if _together() else values


def _together() -> bool:
    return distributed.is_available() and distributed.is_initialized()
