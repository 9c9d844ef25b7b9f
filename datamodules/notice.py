"""Sentences for the user: one a line, once, however many processes there are."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from lightning_utilities.core.rank_zero import rank_zero_only

FIRST_FEW = 5
LONGEST_NAME = 40
"""Characters shown of a name; longer ones are whole texts, mostly."""


def say(sentence: str) -> None:
    """Print a sentence from the first process; Lightning, where it was imported, knows which one this is."""
    if getattr(rank_zero_only, "rank", 0) == 0:
        print(sentence, flush=True)


def some(found: Sequence[str], separator: str = ", ", few: int = FIRST_FEW) -> str:
    """List the first few, and how many more there are."""
    more = len(found) - few
    return separator.join(found[:few]) + (f" and {more} more" if more > 0 else "")


def shortened(name: str) -> str:
    """Shorten a name so that a message can hold it."""
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"


_TYPED_PLAINLY: ContextVar[bool] = ContextVar("typed plainly", default=False)


def option(name: str, value: str) -> str:
    """Name an option of the data as the user types it: ``--data.init_args.text_column=a``, in a trial ``--text-column=a``."""
    return f"--{name.replace('_', '-')}={value}" if _TYPED_PLAINLY.get() else f"--data.init_args.{name}={value}"


@contextmanager
def typed_plainly() -> Iterator[None]:
    """Let sentences that are made in here name options as a trial takes them."""
    token = _TYPED_PLAINLY.set(True)
    try:
        yield
    finally:
        _TYPED_PLAINLY.reset(token)
