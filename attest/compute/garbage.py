"""Python's search for garbage, put off while much is made and nearly all of it kept."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collected_later() -> Iterator[None]:
    """No search for unreachable cycles while the block lasts: what imports and parsers make stays, and is searched in vain."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
