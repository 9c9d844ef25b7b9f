"""What the model of a run or a trial decides, read from its folder."""

from attest.core.kinds import CLASSES, KINDS, LABELS, NUMBER, SPANS, TAGS, Kind
from attest.runs.folder import TRIAL, RunFolder, columns_in, no_configuration, read_json
from attest.runs.identity import DECIDES


def kind_in(folder: RunFolder) -> Kind:
    """Return what the model of a run or a trial decides; raise an ``AttestError`` if a file names no known kind."""
    identity = read_json(folder.identity) if folder.identity.is_file() else {}
    settings = folder.settings() if folder.config.is_file() else {}
    for file, entries in ((folder.identity, identity), (folder.config, settings.get(TRIAL, {}))):
        if (said := entries.get(DECIDES)) in KINDS:
            return KINDS[said]
        if said is not None:
            raise no_configuration(file, f"{DECIDES} is {said!r}, which is none of {', '.join(KINDS)}")
    return kind_before(folder)


def kind_before(folder: RunFolder) -> Kind:
    """Return the kind of a folder whose files do not name it, as none did before 2026-11-28, by its tables.

    A model of multiple choice is taken for one that decides between classes; its pages say the same.
    """
    instances = folder.evidence(CLASSES.table)
    if not instances.is_file():
        return TAGS if folder.evidence(TAGS.table).is_file() else CLASSES
    columns = columns_in(instances)
    shown_by = {NUMBER.predicted: NUMBER, "asked": LABELS, "answer": SPANS}
    return next((kind for column, kind in shown_by.items() if column in columns), CLASSES)
