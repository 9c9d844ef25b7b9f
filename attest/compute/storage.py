"""Where results are kept, so that they are not computed again."""

import os
from pathlib import Path

CACHE_VARIABLE = "ATTEST_CACHE"
DEFAULT_CACHE = Path("~/.cache/attest")


def cache_folder() -> Path:
    """The folder that ``ATTEST_CACHE`` names, or ``~/.cache/attest``; it need not be there."""
    return Path(os.environ.get(CACHE_VARIABLE) or DEFAULT_CACHE).expanduser()
