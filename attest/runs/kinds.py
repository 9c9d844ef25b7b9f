"""What the model of a run or a trial decides, read from its folder."""

from attest.core.kinds import CLASSES, KINDS, LABELS, NUMBER, SPANS, TAGS, Kind
from attest.runs.contents import RunContents
from attest.runs.folder import TRIAL, no_configuration
from attest.runs.identity import DECIDES


def kind_in(run: RunContents) -> Kind:
    """Return what the model of a run or a trial decides; raise an ``AttestError`` if a file names no known kind."""
    settings = run.settings if run.folder.config.is_file() else {}
    for file, entries in ((run.folder.identity, run.record), (run.folder.config, settings.get(TRIAL, {}))):
        if (said := entries.get(DECIDES)) in KINDS:
            return KINDS[said]
        if said is not None:
            raise no_configuration(file, f"{DECIDES} is {said!r}, which is none of {', '.join(KINDS)}")
    return kind_before(run)


def kind_before(run: RunContents) -> Kind:
    """Return the kind of a folder whose files do not name it, as none did before 2026-11-28, by its tables.

    A model of multiple choice is taken for one that decides between classes; its pages say the same.
    """
    if run.of_texts != CLASSES.table:
        return TAGS if run.of_texts == TAGS.table else CLASSES
    columns = run.columns(CLASSES.table)
    shown_by = {NUMBER.predicted: NUMBER, "asked": LABELS, "answer": SPANS}
    return next((kind for column, kind in shown_by.items() if column in columns), CLASSES)
