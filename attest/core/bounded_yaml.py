"""The reader of YAML, and a check of untrusted YAML, which refuses texts whose values would fill the memory or the stack."""

from typing import Any

import yaml

YAML: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
"""The class that loads YAML: PyYAML's C implementation, ten times as fast, if it is installed, else the one in Python."""
DEEPEST, LARGEST = 100, 20_000
"""The limits for an untrusted YAML text: the most levels of nesting, and the most values, with each use of an alias counted in
full. Attest's own files need 10 and 1,500."""


def bounded(text: str) -> str:
    """Return a YAML text unchanged, or raise an error if its values would fill the memory or the stack.

    Raises:
        yaml.YAMLError: the text is no YAML, an alias lies inside its own anchor, or values are too many or nested too deeply.
    """
    sizes: dict[str, int] = {}
    open_ones: list[tuple[str | None, int]] = [(None, 0)]
    count = 0
    for event in yaml.parse(text, Loader=YAML):
        if isinstance(event, yaml.CollectionStartEvent):
            open_ones.append((event.anchor, count))
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in sizes:
                raise yaml.YAMLError(f"the alias *{event.anchor} has no anchor, or lies inside its own anchor")
            count += sizes[event.anchor]
        elif isinstance(event, yaml.NodeEvent):
            count += 1
        if isinstance(event, yaml.ScalarEvent) and event.anchor:
            sizes[event.anchor] = 1
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_ones.pop()
            sizes |= {anchor: count - before} if anchor else {}
        if count > LARGEST or len(open_ones) > DEEPEST:
            raise yaml.YAMLError(f"there are more than {LARGEST} values, or values more than {DEEPEST} levels deep")
    return text
