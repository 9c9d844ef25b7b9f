"""What the model of a run or a trial decides, read from its folder."""

from attest.core.kinds import CLASSES, KINDS, LABELS, NUMBER, SPANS, TAGS, Kind
from attest.runs.folder import TRIAL, RunFolder, columns_in, no_configuration

KIND = "kind"
"""The entry in the settings of a trial with the name of its kind."""


def kind_in(folder: RunFolder) -> Kind:
    """Return what the model of a run or a trial decides; raise an ``AttestError`` if the settings name no known kind."""
    settings = folder.settings() if folder.config.is_file() else {}
    said = settings.get(TRIAL, {}).get(KIND)
    if said is None:
        return kind_before(folder)
    if said not in KINDS:
        raise no_configuration(folder.config, f"{TRIAL}.{KIND} is {said!r}, which is none of {', '.join(KINDS)}")
    return KINDS[said]


def kind_before(folder: RunFolder) -> Kind:
    """Return the kind of a folder whose settings do not name it, by its tables: of a trial before 2026-11-28, and of a run.

    A model of multiple choice is taken for one that decides between classes; its pages say the same.
    """
    instances = folder.evidence(CLASSES.table)
    if not instances.is_file():
        return TAGS if folder.evidence(TAGS.table).is_file() else CLASSES
    columns = columns_in(instances)
    shown_by = {NUMBER.predicted: NUMBER, "asked": LABELS, "answer": SPANS}
    return next((kind for column, kind in shown_by.items() if column in columns), CLASSES)
