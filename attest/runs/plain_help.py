"""Help as a terminal shows it: docstrings without the marks of reStructuredText."""

import re

ROLE = re.compile(r":[\w:]+:`~?\.?([^`]+)`")


def plain_help(text: str | None) -> str:
    """A docstring with `names` in single marks, without roles such as `:class:`.

    Args:
        text: as it stands in the code; nothing if None.
    """
    return ROLE.sub(r"\1", text or "").replace("``", "`")
