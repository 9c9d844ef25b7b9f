"""What a model decides: a class, a tag for each word, one of several texts, a span, several labels, or a number.

A network says its kind once, in its attribute ``kind``, and the settings of a trial name it. What is done or said differently
for a kind asks its description, which has a file of its own here. Nothing heavy is imported before a description is asked, as
the command line reads kinds before it does anything.
"""

from attest.core.kinds.choice import CHOICE
from attest.core.kinds.classes import CLASSES
from attest.core.kinds.kind import Bounds, Kind, Scored
from attest.core.kinds.labels import LABELS
from attest.core.kinds.number import NUMBER
from attest.core.kinds.spans import SPANS
from attest.core.kinds.tags import TAGS, tag_counts

__all__ = ["CHOICE", "CLASSES", "KINDS", "LABELS", "NUMBER", "SPANS", "TAGS", "Bounds", "Kind", "Scored", "tag_counts"]

KINDS = {kind.name: kind for kind in (CLASSES, TAGS, CHOICE, SPANS, LABELS, NUMBER)}
"""The description of each kind of decision, by its name: ``classes``, ``tags``, ``choice``, ``spans``, ``labels`` or
``number``."""
