"""The identity of a run, which is stored in its folder: a folder that is renamed, moved or copied is still the same run."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from attest.core.errors import AttestError
from attest.core.kinds import CLASSES, TAGS, Kind
from attest.runs.asked import portable, readable_name
from attest.runs.belonging import require_together
from attest.runs.contents import RunContents
from attest.runs.folder import TRIAL, RunFolder, write_json

ADVERSARIAL, GUIDES, KEYS = DEPENDENT = ("adversarial", "guides", "keys")
"""The kinds of runs that are trained with the help of a finished base run; also the names of the folders for them inside the
base run's folder."""
ROAR = "roar"
"""The name of the folder, inside a run's folder, with models that were trained on changed texts: the tokens that an
explanation ranks first were erased from them (ROAR)."""
TYPED = "typed"
"""The entry of ``run.json`` that holds the choices and options that the user typed for the run."""
DECIDES = "decides"
"""The name of the entry that holds the kind of the model's decisions, such as ``tags``. It stands in ``run.json``; for a
trial, in the section ``trial`` of ``config.yaml``."""


@dataclass(frozen=True)
class RunIdentity:
    """The identity of a run: corpus, readable name, variant and seed; for a dependent run, also its kind and name.

    Args:
        variant: 8 hex digits if the run has changed settings that the name does not state; else empty.
        kind: one of ``DEPENDENT``; empty for a run that depends on no other.
    """

    data: str
    name: str
    seed: int
    variant: str = ""
    kind: str = ""
    dependent: str = ""

    @classmethod
    def of(cls, settings: dict[str, Any], folder_name: str) -> "RunIdentity":
        """Return the identity of a run that does not depend on another run."""
        name = readable_name(settings["run"])
        variant = portable(folder_name).removeprefix(name).lstrip("-")
        return cls(portable(settings["run"]["data"]), name, settings["seed_everything"], variant)

    def with_dependent(self, kind: str, name: str) -> "RunIdentity":
        """Return the identity of a run that depends on this run and has the given kind and name."""
        return replace(self, kind=kind, dependent=name)

    @property
    def full_name(self) -> str:
        """Return the readable name of the run, followed by its variant (8 hex digits) if it has one."""
        return "-".join(filter(None, (self.name, self.variant)))

    @property
    def setting(self) -> str:
        """Return the identity of the run without its seed, such as ``sst/jw-bilstm-additive-softmax``."""
        return "/".join(filter(None, (self.data, self.full_name, self.kind, self.dependent)))

    def __str__(self) -> str:
        """Return the identity as people read it: ``sst / jw-bilstm-additive-softmax / seed0``."""
        return f"{self.setting.replace('/', ' / ')} / seed{self.seed}"

    def store(self, folder: RunFolder, typed: Sequence[str] = (), kind: Kind | None = None) -> None:
        """Write the identity into the folder of the run, with what was typed, and with what the model decides if known."""
        decides = {} if kind is None else {DECIDES: kind.name}
        write_json(folder.identity, asdict(self) | {TYPED: list(typed)} | decides)


def typed_of(run: RunContents) -> list[str] | None:
    """Return the choices and options that a run was trained with; None if they were not kept."""
    return run.record.get(TYPED)


def identity_of(run: RunContents) -> RunIdentity:
    """Read the identity of a run from ``run.json``, or from the path if an earlier version wrote the folder."""
    if known := run.record:
        return RunIdentity(**{each.name: known[each.name] for each in fields(RunIdentity) if each.name in known})
    path = run.folder.path.resolve()
    if path.parent.name not in DEPENDENT:
        return RunIdentity.of(run.settings, path.parent.name)
    base = path.parents[1]
    seed = int(base.name.removeprefix("seed"))
    return RunIdentity.of(run.settings | {"seed_everything": seed}, base.parent.name).with_dependent(
        path.parent.name, path.name
    )


def find_runs(paths: Iterable[Path]) -> list[RunFolder]:
    """Return all finished runs in the given folders and their subfolders, each run once."""
    found: dict[Path, RunFolder] = {}
    for path in paths:
        summaries = [path / "summary.json"] if (path / "summary.json").is_file() else sorted(path.rglob("summary.json"))
        runs = [RunFolder(summary.parent) for summary in summaries if (summary.parent / "config.yaml").is_file()]
        if not runs:
            raise AttestError(f"{path} contains no finished run; expected a run folder, or a folder of runs such as runs/sst.")
        found |= {run.path.resolve(): run for run in runs}
    require_together(list(found.values()))
    return list(found.values())


def require_no_trial(run: RunFolder) -> None:
    """Raise an error for a folder that ``attest trial`` wrote, because it contains no trained model."""
    if run.config.is_file() and TRIAL in run.settings():
        raise AttestError(
            f"{run.path} is the folder of a trial, which contains no model; expected the folder of a trained run. For a text "
            f"of the trial type: attest explain --run {run.path} --id 0; for other texts type: attest trial --model <the "
            "model> --data <file> --out <new folder>"
        )


@dataclass(frozen=True)
class TextsOfRun:
    """The test texts of a run."""

    run: RunContents

    @property
    def corpus(self) -> str | None:
        """Return the readable name of the corpus; None if it is not known."""
        return (self.run.settings.get("run") or {}).get("data") if self.run.folder.config.is_file() else None

    @property
    def fingerprint(self) -> str | None:
        """Return the hash of the content of the test split; None if it is not known."""
        return self.run.data.get("fingerprints", {}).get("test")

    @cached_property
    def instances(self) -> str | None:
        """Return the hash of the ids, lengths and labels of the test texts; None if the run has no table of them."""
        rows = self.run.decided
        if rows is None:
            return None
        label = TAGS.label if self.run.of_texts == TAGS.table else CLASSES.label
        digest = hashlib.sha256()
        for column in (rows["id"], rows["length"], rows[label].explode()):
            digest.update(column.to_numpy("int64").tobytes())
        return digest.hexdigest()

    def same_as(self, other: "TextsOfRun") -> bool | None:
        """Return whether two runs were tested on the same texts; None if this cannot be decided."""
        for best in ("fingerprint", "instances"):
            ours, theirs = getattr(self, best), getattr(other, best)
            if ours is not None and theirs is not None:
                return bool(ours == theirs)
        return None if self.corpus == other.corpus else False
