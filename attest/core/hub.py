"""Whether the Hugging Face Hub answers: asked once, so that nobody waits for the many tries of its libraries."""

import os
import threading
import time
import urllib.error
import urllib.request
from functools import lru_cache

SECONDS = 5.0
"""How long a server may take to answer."""
A_MINUTE = 60.0
"""How long an answer is believed."""
OFFLINE = "HF_HUB_OFFLINE"
TRUE = ("1", "ON", "YES", "TRUE")


def hub_answers() -> bool:
    """Return whether the Hub answers within ``SECONDS``; False at once if ``HF_HUB_OFFLINE`` is set."""
    if os.environ.get(OFFLINE, "").upper() in TRUE:
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
