"""The lowest and highest values of numeric settings, by name, for commands, runs, experiments and Python."""

import math
import os
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

from attest.core.errors import AttestError

AT_ONCE = max(64, 4 * (os.cpu_count() or 1))
"""The largest number of processes or threads that a setting may ask for. More of them would slow the machine down until it no
longer responds."""
MANY = 1_000_000_000
WHOLE: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("processes", "threads"), (1, AT_ONCE)),
    **dict.fromkeys(("batch_size", "checkpoint_every_n_batches", "max_evidence_tokens", "max_search_steps"), (1, MANY)),
    **dict.fromkeys(("max_tokens", "window", "permutations", "sets", "draws", "positions", "steps", "new_tokens"), (1, MANY)),
    **dict.fromkeys(("stride", "texts", "beam_texts", "restarts", "lead", "ablations"), (0, MANY)),
    **dict.fromkeys(("every_n_epochs", "validation_instances"), (0, MANY)),
    **dict.fromkeys(("accumulate_grad_batches", "check_val_every_n_epoch", "patience"), (1, MANY)),
    "seed": (0, 2**32 - 1),
    "width": (1, MANY),
}
"""The smallest and the largest allowed value of each setting that must be a whole number, by the name of the setting."""
POSITIVE = ("memory_gib", "until", "validation_seconds", "epsilon", "filter_epsilon", "gradient_clip_val")
"""The names of the settings that must be finite numbers above 0."""


def require_bounds(settings: Mapping[str, Any], shown: Callable[[str], str] = "`{}`".format) -> None:
    """Raise an ``AttestError`` if a setting is outside its bounds, or is True, False or a text. None is always allowed."""
    for name, value in settings.items():
        if value is None:
            continue
        given = f"{shown(name)} is {value!r}" if isinstance(value, str) else f"{shown(name)} is {value}"
        if name in WHOLE:
            least, most = WHOLE[name]
            if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= most:
                to = "" if most == MANY else f" to {most}"
                raise AttestError(f"{given}; expected a whole number from {least}{to}. Give another number.")
        elif name in POSITIVE and (isinstance(value, bool) or not (isinstance(value, Real) and 0 < float(value) < math.inf)):
            raise AttestError(f"{given}; expected a finite number above 0. Give another number.")


def require_given(settings: Mapping[str, Any], shown: Callable[[str], str] = "`{}`".format) -> None:
    """Raise an ``AttestError`` if a setting that must have a value is None."""
    if empty := next((name for name, value in settings.items() if value is None), None):
        raise AttestError(f"{shown(empty)} is None; expected a value. Leave it out for the usual one.")


def require_finite(settings: Mapping[str, Any], within: str = "") -> None:
    """Raise an ``AttestError`` if a setting, or a value inside it, is NaN or infinite."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            require_finite(value, f"{within}{name}.")
        elif isinstance(value, float) and not math.isfinite(value):
            raise AttestError(f"`{within}{name}` is {value}; expected a finite number. Give another number.")
