"""The training of runs that depend on another run, the base; their folders are inside the folder of the base.

``runs/<data>/<base name>/seed<n>/<kind>/<readable name>[-<hash>]/`` contains the same files as the folder of every run, and
``base.json``, which names the checkpoint of the base: ``checkpoint``, relative to the folder, and its ``sha256``. The base is
trained first if it is missing or unfinished. A base that has changed is refused. Everything else (resuming, completeness,
FORCE=1) is as in ``attest fit``.

A new kind of dependent run is a ``Dependent``: its folder, its name, and the settings that differ from those of its base,
usually another LightningModule. The method ``take_base`` of this LightningModule gets the parameters of the base network, on
the CPU:

    base = train_base(AskedRun.of(["DATA=sst", "MODEL=transformer-dr"]))
    train_dependent(base, Dependent("keys", "adversarial", overlay("keys")))
"""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace

import torch
import wandb
from lightning_utilities.core.rank_zero import rank_zero_only

from attest.app.configured import ConfiguredRun
from attest.app.training import train
from attest.core.errors import AttestError
from attest.core.places import configs_folder
from attest.report.tracking.loggers import declare_base
from attest.runs.asked import AskedRun, Settings, as_argument, asked_settings, digest, identity, merged
from attest.runs.choices import expand
from attest.runs.comparison import require_comparable
from attest.runs.contents import RunContents
from attest.runs.folder import RunFolder, read_json, read_yaml, write_json
from attest.runs.identity import RunIdentity, identity_of

Compare = Callable[[RunFolder, RunFolder], None]
"""A function that takes the folders of two runs, the base run first. It compares their result tables, and writes the
comparison into the folder of the second run."""


@dataclass(frozen=True)
class Base:
    """A trained run on which other runs depend."""

    folder: RunFolder
    settings: Settings
    """The full configuration of the base run, as this command was given it. Settings that do not identify a run, such as the
    device, may differ from those stored in the folder of the base run."""


@dataclass(frozen=True)
class Dependent:
    """A description of a run that is trained after a finished base run and depends on it.

    Args:
        kind: the folder of all runs of this kind inside the folder of the base: ``adversarial``, ``guides``, ``keys``.
        overlay: the settings that differ from those of the base: dictionaries are merged, everything else is replaced. The
            experiments of the base are left out.
        comparisons: by experiment, the evidence that is made from the tables of both runs after the test.
        reads: another dependent run of the base, whose checkpoint is read; None to read the checkpoint of the base.
        network: the settings of the network that is trained; None for the settings of the base network.
        own_network: whether the model has two networks, the base network and the network that is trained; else it has only one
            network, with the settings of the base network.
    """

    kind: str
    name: str
    overlay: Settings
    comparisons: Mapping[str, Compare] = field(default_factory=dict)
    reads: RunFolder | None = None
    network: Settings | None = None
    own_network: bool = True


def overlay(name: str, changes: Settings | None = None) -> Settings:
    """Return the settings of ``configs/dependent/<name>.yaml`` with ``changes`` merged in."""
    return merged(read_yaml(configs_folder() / "dependent" / f"{name}.yaml"), changes or {})


def train_base(asked: AskedRun, accept: Callable[[Settings], None] = lambda settings: None) -> Base:
    """Return the requested base run, and train it first, as ``attest fit`` does, if it is not trained yet."""
    run = ConfiguredRun("fit", asked)
    accept(run.resolved(run.config))
    folder = train(run)
    wandb.finish()  # the next run of this process must not write into this one's file
    return Base(folder, run.settings)


def train_dependent(base: Base, dependent: Dependent, own: Sequence[str] = ()) -> RunFolder:
    """Return the folder of a run that depends on a base run. Complete the run first if necessary."""
    if dependent.comparisons:
        require_comparable(base.settings)
    settings = deepcopy(base.settings)
    settings.pop("config", None)
    settings["run"].pop("force")  # which ``own`` may set
    settings["experiments"] = {}
    model = settings["model"]["init_args"]
    if dependent.own_network:
        model |= {"base_network": model["network"], "network": deepcopy(dependent.network or model["network"])}
    settings = merged(settings, dependent.overlay, keep_arguments=True)
    folder = train(DependentRun(base, dependent, as_argument(settings), own))
    wandb.finish()
    return folder


class DependentRun(ConfiguredRun):
    """A run of ``attest fit`` inside the folder of another run."""

    def __init__(self, base: Base, dependent: Dependent, configuration: str, own: Sequence[str]) -> None:
        self.base, self.dependent = base, dependent
        self.read = dependent.reads or base.folder
        super().__init__("fit", replace(AskedRun.of([configuration, *own]), typed=tuple(own)))
        self.own = asked_settings([argument for argument in expand([configuration, *own]) if argument != configuration])
        """The settings that the user typed for this run in addition to those of its base run. A digest of them is part of the
        name of the run's folder."""

    def locate(self) -> None:
        self.settings = self.resolved(self.config)
        self.run = self.config.fit.run
        name = self.dependent.name
        if any(identity(self.own).values()):
            name = f"{name}-{digest(self.own)[:8]}"
        self.folder = RunFolder(self.base.folder.path / self.dependent.kind / name)
        self.base_wandb_id = read_json(self.read.timing).get("wandb_id") if self.read.timing.is_file() else None
        self.base_record = {
            "checkpoint": os.path.relpath(self.read.best, self.folder.path),
            "sha256": hashlib.sha256(self.read.best.read_bytes()).hexdigest(),
        }
        if self.run.force or not self.folder.base.is_file():
            return
        known = read_json(self.folder.base)["sha256"]
        if known != self.base_record["sha256"]:
            raise AttestError(
                f"{self.read.best} has changed since {self.folder.path} began (sha256 before: {known[:12]}…, now: "
                f"{self.base_record['sha256'][:12]}…); expected the same checkpoint. Add FORCE=1 to start again."
            )

    def expected_evidence(self) -> list[str]:
        return [*super().expected_evidence(), *self.dependent.comparisons]

    def _believed(self) -> list[RunFolder]:
        return [self.base.folder, self.read, *super()._believed()]

    def _identity(self) -> RunIdentity:
        return identity_of(RunContents(self.base.folder)).with_dependent(self.dependent.kind, self.folder.path.name)

    def make(self) -> None:
        super().make()
        state = torch.load(self.read.best, map_location="cpu", weights_only=True)["state_dict"]
        network = {name.removeprefix("network."): value for name, value in state.items() if name.startswith("network.")}
        self.model.take_base(network)

    @rank_zero_only
    def _open_folder(self) -> None:
        super()._open_folder()
        write_json(self.folder.base, self.base_record)
        self.folder.note(base={"wandb_id": self.base_wandb_id})
        declare_base(self.trainer.loggers, self.read, self.base_wandb_id, self.base_record["sha256"])

    @rank_zero_only
    def after_testing(self) -> None:
        for experiment, compare in self.dependent.comparisons.items():
            if self.run.force or not self.folder.evidence(experiment).is_file():
                compare(self.base.folder, self.folder)
