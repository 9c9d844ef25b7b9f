"""What is done with what was typed before Lightning is imported, which takes seconds that no mistake waits for."""

from collections.abc import Sequence

from attest.runs.choices import expand
from attest.runs.lightly import import_lightly
from attest.runs.option_names import require_known


def import_for(arguments: Sequence[str], own: Sequence[str] = ()) -> None:
    """Refuse choices and options that are not known, then import as little of Lightning as the others need.

    Args:
        arguments: choices and options of a run, as ``attest fit`` takes them.
        own: options of the runs that depend on it alone.
    Raises:
        AttestError: a choice or an option is not known.
    """
    expand([*arguments])
    require_known([*arguments, "--", *own])
    import_lightly([*arguments, *own])
