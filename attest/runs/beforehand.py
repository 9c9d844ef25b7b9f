"""What is done with what was typed before Lightning is imported, which takes seconds that no mistake waits for."""

from collections.abc import Sequence
from importlib.util import find_spec

from attest.runs.choices import expand
from attest.runs.lightly import import_lightly
from attest.runs.option_names import require_known
from attest.runs.words import take_words

TENSORBOARD = ("tensorboard", "tensorboardX")
"""Packages of which Lightning's logger of this name needs one; the first is the name of the choice."""


def import_for(arguments: Sequence[str], own: Sequence[str] = ()) -> None:
    """Refuse choices and options that are not known, then import as little of Lightning as the others need.

    Args:
        arguments: choices and options of a run, as ``attest fit`` takes them.
        own: options of the runs that depend on it alone.
    Raises:
        AttestError: a choice or an option is not known.
        ModuleNotFoundError: the logger that was chosen is not installed.
    """
    expand([*arguments])
    require_known([*arguments, "--", *own])
    if take_words([*arguments, *own])[0].text("LOGGER") == TENSORBOARD[0] and not any(map(find_spec, TENSORBOARD)):
        raise ModuleNotFoundError(f"No module named {TENSORBOARD[0]!r}", name=TENSORBOARD[0])
    import_lightly([*arguments, *own])
