"""What a run is: stored in its folder, so that a folder can be renamed, moved or copied and is still the same run."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from attest.runs.folder import RunFolder, read_json, write_json
from attest.runs.naming import portable, readable_name

ADVERSARIAL, GUIDES, KEYS = DEPENDENT = ("adversarial", "guides", "keys")
"""Kinds of runs that depend on another, and the folders inside that one which hold them."""
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
