"""What to type where the library transformers is not installed."""

from collections.abc import Iterator
from contextlib import contextmanager

from attest.errors import AttestError
from attest.extras import install_command


@contextmanager
def needing_transformers() -> Iterator[None]:
    """Turn a failed import into a sentence.

    Raises:
        AttestError: the library, or a part of it, is missing.
    """
    try:
        yield
    except ImportError as error:
        raise AttestError(
            f"the library transformers is missing ({error}); expected it to load this model. Type: "
            f"{install_command('transformers')}"
        ) from error
