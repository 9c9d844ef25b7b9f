"""Class paths as they are written now, and as they were before everything was one package.

``callbacks.Instances`` became ``attest.callbacks.Instances``, and so did all of ``datamodules`` and ``lightning_modules``.
Configurations from before are read as if written today; names of run folders, which are hashes of settings, stay the same.
"""

import re
from typing import Any

FORMER = re.compile(r"(?<![\w./])((?:callbacks|datamodules|lightning_modules)(?:\.[a-z_]\w*)*\.[A-Z]\w*)")
"""A class path as it was."""
OWN = re.compile(r"(?<![\w./])attest\.((?:callbacks|datamodules|lightning_modules)\.)")
"""The beginning of a class path as it is."""


def current(text: str) -> str:
    """A text, such as a configuration file, with its class paths as they are now.

    Example:
        >>> current("class_path: callbacks.layers.KeyShuffle")
        'class_path: attest.callbacks.layers.KeyShuffle'
    """
    return FORMER.sub(r"attest.\1", text)


def former(settings: Any) -> Any:
    """Settings with their class paths as they were, which is how names of run folders are computed.

    Args:
        settings: plain values, dictionaries and lists of them.
    """
    if isinstance(settings, dict):
        return {key: former(value) for key, value in settings.items()}
    if isinstance(settings, list):
        return [former(value) for value in settings]
    return OWN.sub(r"\1", settings) if isinstance(settings, str) else settings
