"""The choice of one of several texts."""

from attest.core.kinds.classes import of_classes
from attest.core.kinds.kind import Kind

CHOICE = Kind(
    "choice",
    of_classes,
    head="ForMultipleChoice",
    loaded_as="choices",
    beside=("asked",),
    unread="chooses between several texts, and this command cannot read choices from a file; expected a call in Python: "
    'attest.trial(model, [("a text", ["a choice", "another"])], labels=[0])',
)
