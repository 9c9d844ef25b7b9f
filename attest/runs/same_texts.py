"""Were two runs tested on the same texts? Numbers on different texts cannot be compared."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from attest.runs.folder import INSTANCES, TAGGED, RunFolder, read_json, read_table


@dataclass(frozen=True)
class Texts:
    """What a run tells of the texts that it was tested on; None where it does not tell."""

    corpus: str | None
    """Its readable name."""
    fingerprint: str | None
    """Of the content of the test split."""
    table: Path | None
    """Of the texts, with their ids, lengths and labels."""

    @cached_property
    def instances(self) -> str | None:
        """Hash of the ids, lengths and labels of the texts, which are read where nothing else tells."""
        return None if self.table is None else _instances(self.table)

    def same_as(self, other: "Texts") -> bool | None:
        """Whether the texts are the same, by the best that both tell; None where that is the name of the corpus alone."""
        for best in ("fingerprint", "instances"):
            ours, theirs = getattr(self, best), getattr(other, best)
            if ours is not None and theirs is not None:
                return bool(ours == theirs)
        return None if self.corpus == other.corpus else False


def texts_of(run: RunFolder) -> Texts:
    """The texts of a run's test split, from the files in its folder."""
    corpus = (run.settings().get("run") or {}).get("data") if run.config.is_file() else None
    return Texts(corpus, _fingerprint(run.path / "data.json"), table_of(run))


def table_of(run: RunFolder) -> Path | None:
    """The table of the texts that a run was tested on; None where it has kept none."""
    return next((path for name in (INSTANCES, TAGGED) if (path := run.evidence(name)).is_file()), None)


def _fingerprint(path: Path) -> str | None:
    return read_json(path).get("fingerprints", {}).get("test") if path.is_file() else None


def _instances(path: Path) -> str:
    label = "tags" if path.stem == TAGGED else "label"
    rows = read_table(path, ["id", "length", label])
    digest = hashlib.sha256()
    for column in (rows["id"], rows["length"], rows[label].explode()):
        digest.update(column.to_numpy("int64").tobytes())
    return digest.hexdigest()
