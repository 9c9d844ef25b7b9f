"""What a run is: stored in its folder, so that a folder can be renamed, moved or copied and is still the same run."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from attest.core.errors import AttestError
from attest.runs.belonging import require_together
from attest.runs.folder import INSTANCES, TAGGED, TRIAL, RunFolder, read_json, read_table, write_json
from attest.runs.naming import portable, readable_name

ADVERSARIAL, GUIDES, KEYS = DEPENDENT = ("adversarial", "guides", "keys")
"""Kinds of runs that depend on another, and the folders inside that one which hold them."""
ROAR = "roar"
"""The folder inside a run which holds the models that were trained on erased texts."""
TYPED = "typed"
"""The words in ``run.json`` that trained the run."""


@dataclass(frozen=True)
class RunIdentity:
    """A run's corpus, its readable name, and what tells it from others of that name.

    Args:
        data: the corpus.
        name: ``<recipe>-<model>-<scoring>-<projection>``.
        seed: of the run, or of its base where it depends on one.
        variant: 8 hex digits where other settings differ from those of the name; empty where none does.
        kind: one of ``DEPENDENT``; empty for a run that depends on no other.
        dependent: readable name of a run that depends on another, such as ``unfrozen-kl-0.001``.
    """

    data: str
    name: str
    seed: int
    variant: str = ""
    kind: str = ""
    dependent: str = ""

    @classmethod
    def of(cls, settings: dict[str, Any], folder_name: str) -> "RunIdentity":
        """The identity of a run that depends on no other.

        Args:
            settings: its configuration.
            folder_name: what its folder is called above the seed, in which the variant stands.
        """
        name = readable_name(settings["run"])
        variant = portable(folder_name).removeprefix(name).lstrip("-")
        return cls(portable(settings["run"]["data"]), name, settings["seed_everything"], variant)

    def with_dependent(self, kind: str, name: str) -> "RunIdentity":
        """The identity of a run that depends on this one."""
        return replace(self, kind=kind, dependent=name)

    @property
    def full_name(self) -> str:
        """The readable name with its variant."""
        return "-".join(filter(None, (self.name, self.variant)))

    @property
    def setting(self) -> str:
        """All but the seed: ``sst/jw-bilstm-additive-softmax``; ``…/keys/adversarial`` for a run that depends on that."""
        return "/".join(filter(None, (self.data, self.full_name, self.kind, self.dependent)))

    def __str__(self) -> str:
        """As people say it."""
        return f"{self.setting.replace('/', ' / ')} / seed{self.seed}"

    def store(self, folder: RunFolder, typed: Sequence[str] = ()) -> None:
        """Write it into the run's folder, with the choices and options that were typed."""
        write_json(folder.identity, asdict(self) | {TYPED: list(typed)})


def typed_of(folder: RunFolder) -> list[str] | None:
    """Return the choices and options that a run was trained with; None if they were not kept."""
    return read_json(folder.identity).get(TYPED) if folder.identity.is_file() else None


def identity_of(folder: RunFolder) -> RunIdentity:
    """What the run in a folder is, by the file in it; folders of earlier versions have none and say it by their place.

    Raises:
        AttestError: a file of the run is damaged.
    """
    if folder.identity.is_file():
        known = read_json(folder.identity)
        return RunIdentity(**{each.name: known[each.name] for each in fields(RunIdentity) if each.name in known})
    path = folder.path.resolve()
    if path.parent.name not in DEPENDENT:
        return RunIdentity.of(folder.settings(), path.parent.name)
    base = path.parents[1]
    seed = int(base.name.removeprefix("seed"))
    return RunIdentity.of(folder.settings() | {"seed_everything": seed}, base.parent.name).with_dependent(
        path.parent.name, path.name
    )


def find_runs(paths: Iterable[Path]) -> list[RunFolder]:
    """The finished runs at or below some folders, in the order given, none twice.

    Raises:
        AttestError: a folder holds no finished run, or what is in it does not belong together.
    """
    found: dict[Path, RunFolder] = {}
    for path in paths:
        summaries = [path / "summary.json"] if (path / "summary.json").is_file() else sorted(path.rglob("summary.json"))
        runs = [RunFolder(summary.parent) for summary in summaries if (summary.parent / "config.yaml").is_file()]
        if not runs:
            raise AttestError(f"{path} holds no finished run; expected a run folder or one that holds some, such as runs/sst.")
        found |= {run.path.resolve(): run for run in runs}
    require_together(list(found.values()))
    return list(found.values())


def require_no_trial(run: RunFolder) -> None:
    """Refuse the folder of a trial where a trained model is needed: a trial keeps what was found, and not the model.

    Raises:
        AttestError: it is one.
    """
    if run.config.is_file() and TRIAL in run.settings():
        raise AttestError(
            f"{run.path} is the folder of a trial, which keeps no model; expected that of a trained run. {run.report} shows "
            "the texts that were tried. For others type: attest trial --model <the model> --data <file> --out <new folder>"
        )


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
