"""The printing of messages for the user; each message is one line and is printed once, even with several processes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from lightning_utilities.core.rank_zero import rank_zero_only

FIRST_FEW = 5
LONGEST_NAME = 40
"""The largest number of characters of a name, such as that of a label, in a message; longer ones are shortened, because they
are usually whole texts."""


def say(sentence: str) -> None:
    """Print a sentence, in the first process only."""
    if getattr(rank_zero_only, "rank", 0) == 0:
        print(sentence, flush=True)


def some(found: Sequence[str], separator: str = ", ", few: int = FIRST_FEW) -> str:
    """Return the first few items as text, followed by the number of items that are left out."""
    more = len(found) - few
    return separator.join(found[:few]) + (f" and {more} more" if more > 0 else "")


def shortened(name: str) -> str:
    """Return the first 40 characters of a name, so that a message can contain it."""
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"


_TYPED_PLAINLY: ContextVar[bool] = ContextVar("typed plainly", default=False)


def option(name: str, value: str) -> str:
    """Return an option as the user types it, such as ``--data.init_args.text_column=a``."""
    return f"--{name.replace('_', '-')}={value}" if _TYPED_PLAINLY.get() else f"--data.init_args.{name}={value}"


@contextmanager
def typed_plainly() -> Iterator[None]:
    """Let messages inside the ``with`` block show options in the form that ``attest trial`` accepts."""
    token = _TYPED_PLAINLY.set(True)
    try:
        yield
    finally:
        _TYPED_PLAINLY.reset(token)
