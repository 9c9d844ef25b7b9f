"""The choice of one of several texts."""

from attest.core.kinds.classes import of_classes
from attest.core.kinds.kind import Kind

CHOICE = Kind(
    "choice",
    of_classes,
    head="ForMultipleChoice",
    loaded_as="choices",
    beside=("asked",),
    named=False,
)
