"""Whether the Hugging Face Hub answers: asked once, so that nobody waits for the many tries of its libraries."""

import os
import threading
import time
import urllib.error
import urllib.request
from functools import lru_cache
from pathlib import Path

from huggingface_hub import constants

SECONDS = 5.0
"""The seconds that a check waits for a server; a server that has not answered by then counts as unreachable."""
A_MINUTE = 60.0
"""How long the answer to the question “does the Hugging Face Hub respond?” is kept, in seconds at most. After that the Hub is
asked again."""
OFFLINE = "HF_HUB_OFFLINE"
TRUE = ("1", "ON", "YES", "TRUE")


def offline() -> bool:
    """Return whether the user has set ``HF_HUB_OFFLINE``, so that only downloads of earlier days are read."""
    return os.environ.get(OFFLINE, "").upper() in TRUE


def missing_model(name: str) -> str | None:
    """Return why a model cannot be loaded, without loading any library; None if it can, or if only loading it will tell.

    Args:
        name: a folder, or the id of a model on the Hub.
    """
    folder = Path(constants.HF_HUB_CACHE, f"models--{name.replace('/', '--')}")
    if Path(name).expanduser().exists() or folder.is_dir() or hub_answers():
        return None
    return (
        f"it was not downloaded, and {OFFLINE} is set" if offline() else "it was not downloaded, and the Hub cannot be reached"
    )


def hub_answers() -> bool:
    """Return whether the Hub answers within ``SECONDS``; False at once if ``HF_HUB_OFFLINE`` is set."""
    if offline():
        return False
    return _answered(os.environ.get("HF_ENDPOINT", "https://huggingface.co"), int(time.monotonic() / A_MINUTE))


@lru_cache(maxsize=4)
def _answered(endpoint: str, minute: int) -> bool:
    return within_reach(endpoint)


def within_reach(url: str) -> bool:
    """Return whether a server answers within ``SECONDS``, with whatever status."""
    answers: list[bool] = []
    asking = threading.Thread(target=lambda: answers.append(_ask(url)), daemon=True)  # looking up a name has no time limit
    asking.start()
    asking.join(SECONDS)
    return bool(answers and answers[0])


def _ask(url: str) -> bool:
    try:
        urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=SECONDS).close()
    except urllib.error.HTTPError:  # which is an answer
        return True
    except (OSError, ValueError):
        return False
    return True
