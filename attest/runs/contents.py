"""The contents of a run folder: what its files say, each read once."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attest.runs.folder import (
    INSTANCES,
    MADE_FROM,
    TAGGED,
    RunFolder,
    Stopped,
    columns_in,
    made_from,
    read_json,
    read_table,
)

if TYPE_CHECKING:
    import pandas as pd

DECIDED = ("id", "text", "length", "label", "predicted", "prediction")
"""The columns that are read from the table of texts to know what the model decided; columns of probabilities are read in
addition."""
TAGGED_AS = ("id", "length", "tokens", "tags", "predicted_tags", "max_attention")
"""The columns that are read from the table of sentences to know what a tagger decided; the larger columns, of attention and
probabilities, are not read."""


class RunContents:
    """The contents of a run folder; each file is opened once, when it is first needed.

    It shows the files as they were when they were read: make a new one after a file was written. Its tables are shared by all
    who ask for them, so nobody changes them.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self._tables: dict[str, pd.DataFrame] = {}
        self._columns: dict[str, list[str]] = {}

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Return the configuration of the run, ``config.yaml``."""
        return self.folder.settings()

    @cached_property
    def record(self) -> dict[str, Any]:
        """Return what the run is, ``run.json``; empty if an earlier version wrote the folder."""
        return _known(self.folder.identity)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Return the numbers of the run by key, ``summary.json``."""
        return read_json(self.folder.summary)

    @cached_property
    def timing(self) -> dict[str, Any]:
        """Return times, versions and other facts that differ when the run is repeated, ``timing.json``; empty if missing."""
        return _known(self.folder.timing)

    @cached_property
    def data(self) -> dict[str, Any]:
        """Return the record of the texts, ``data.json``; empty if missing, as in a trial."""
        return _known(self.folder.data)

    @cached_property
    def curves(self) -> list[dict[str, Any]]:
        """Return the numbers of each epoch, ``curves.json``; empty if missing, as in a trial."""
        return _known(self.folder.curves) or []

    @cached_property
    def stopped(self) -> dict[str, Stopped]:
        """Return the records of the experiments that read only some of the texts, by id of the experiment."""
        return self.folder.stopped_evidence()

    @cached_property
    def experiments(self) -> list[str]:
        """Return the ids of the tables (evidence), in their order."""
        return list(self.folder.tables)

    def table(self, identity: str) -> "pd.DataFrame | None":
        """Return the whole table of one experiment, one row for each instance; None if the folder has no such table."""
        if identity not in self._tables and self.folder.evidence(identity).is_file():
            self._tables[identity] = read_table(self.folder.evidence(identity))
        return self._tables.get(identity)

    @property
    def tables(self) -> "dict[str, pd.DataFrame]":
        """Return every table by its id, but for that of a tagger's sentences, which is large; see ``decided``."""
        return {name: rows for name in self.experiments if name != TAGGED and (rows := self.table(name)) is not None}

    def columns(self, identity: str) -> list[str]:
        """Return the names of the columns of a table; empty if the folder has no such table."""
        if identity in self._tables:
            return list(self._tables[identity])
        if identity not in self._columns and self.folder.evidence(identity).is_file():
            self._columns[identity] = columns_in(self.folder.evidence(identity))
        return self._columns.get(identity, [])

    @cached_property
    def of_texts(self) -> str | None:
        """Return the id of the table of the texts, or of a tagger's sentences; None if the folder has neither."""
        return next((name for name in (INSTANCES, TAGGED) if self.folder.evidence(name).is_file()), None)

    @cached_property
    def decided(self) -> "pd.DataFrame | None":
        """Return what was decided on each text, without its weights: a part of the table of texts, or of sentences.

        The columns are those of ``DECIDED`` and the probabilities, or of a tagger those of ``TAGGED_AS``, as far as the table
        has them; None without such a table.
        """
        if self.of_texts is None:
            return None
        of_tagger = self.of_texts == TAGGED
        wanted = [
            name
            for name in self.columns(self.of_texts)
            if name in (TAGGED_AS if of_tagger else DECIDED) or (name.startswith("probability_") and not of_tagger)
        ]
        return read_table(self.folder.evidence(self.of_texts), wanted)

    def origin_of(self, identity: str) -> dict[str, str]:
        """Return what a table was made from: the digests and the version that it names, and the git commit if it is known."""
        noted = self.timing.get("commits", {}).get(identity)
        read = self._tables.get(identity)
        made = made_from(self.folder.evidence(identity)) if read is None else read.attrs.get(MADE_FROM, {})
        return ({"commit": noted} if noted else {}) | made


def _known(path: Path) -> Any:
    return read_json(path) if path.is_file() else {}
