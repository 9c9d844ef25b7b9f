"""Where things are kept that would be computed anew otherwise."""

import os
from pathlib import Path

CACHE_VARIABLE = "ATTEST_CACHE"
DEFAULT_CACHE = Path("~/.cache/attest")


def cache_folder() -> Path:
    """The folder that ``ATTEST_CACHE`` names, or ``~/.cache/attest``; it need not be there."""
    return Path(os.environ.get(CACHE_VARIABLE) or DEFAULT_CACHE).expanduser()
