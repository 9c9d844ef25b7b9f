"""Names as they are written now, and as earlier versions wrote them.

Two things were renamed. Class paths: ``callbacks.Instances`` became ``attest.callbacks.Instances``, and so did all of
``datamodules`` and ``lightning_modules``, when everything became one package. A setting: ``analyses`` became ``experiments``,
and with it ``--analyses.E3=null`` and ``ANALYSES=weights``. Whatever was written with the earlier names is read as if written
today; names of run folders, which are hashes of settings, stay the same.
"""

import re
from typing import Any

EARLIER_CLASS = re.compile(r"(?<![\w./])((?:callbacks|datamodules|lightning_modules)(?:\.[a-z_]\w*)*\.[A-Z]\w*)")
OWN_CLASS = re.compile(r"(?<![\w./])attest\.((?:callbacks|datamodules|lightning_modules)\.)")
"""The beginning of a class path as it is now."""
EARLIER_SETTING = re.compile(r"^(--|)analyses(?=[:.=])", re.MULTILINE)
"""Of a configuration file, or of an option."""
EARLIER_CHOICES = {"ANALYSES": "EXPERIMENTS"}


def current(text: str) -> str:
    """A configuration file's text, or an option, with its names as they are now.

    Example:
        >>> current("class_path: callbacks.layers.KeyShuffle")
        'class_path: attest.callbacks.layers.KeyShuffle'
        >>> current("--analyses.E3=null")
        '--experiments.E3=null'
    """
    return EARLIER_CLASS.sub(r"attest.\1", EARLIER_SETTING.sub(r"\1experiments", text))


def earlier(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings with their names as they were, by which names of run folders are computed.

    Args:
        settings: a configuration as plain values.
    """
    return {"analyses" if key == "experiments" else key: _with_earlier_classes(value) for key, value in settings.items()}


def _with_earlier_classes(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_earlier_classes(below) for key, below in value.items()}
    if isinstance(value, list):
        return [_with_earlier_classes(below) for below in value]
    return OWN_CLASS.sub(r"\1", value) if isinstance(value, str) else value
