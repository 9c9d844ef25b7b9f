"""``attest evidence``: any experiment on something already trained, a run or a bare checkpoint.

    attest evidence --run runs/sst/jw-bilstm-additive-softmax/seed0 E3 E12
    attest evidence --ckpt model.ckpt DATA=sst MODEL=bilstm PROJECTION=sparsemax
    attest evidence --run runs/sst/jw-bilstm-additive-softmax/seed0 --reading integrated-gradients E1 E14

Without any experiment named all that ship are meant. Tables that are there stay unless FORCE=1 is given; the summary and
report of a run are renewed from all its tables.
"""

import argparse
import hashlib
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pandas as pd
import yaml
from lightning_utilities.core.rank_zero import rank_zero_only
from pytorch_lightning import LightningModule

from attest.cli.command_parser import CommandParser
from attest.datamodules import TextDataModule
from attest.datamodules.record import DataRecord
from attest.errors import AttestError, unknown_choice
from attest.experiments.readings import READINGS
from attest.experiments.registry import EXPERIMENTS
from attest.measures import summarise
from attest.report import summarise_run, write_report
from attest.runs.choices import config_file, default_choices, expand
from attest.runs.folder import INSTANCES, RunFolder, read_json, write_json
from attest.runs.naming import canonical
from attest.runs.training import AttestCLI

EXPERIMENT = re.compile(r"E\d+|instances|maps|tagged", re.IGNORECASE)
OF_READINGS = ("E1", "E11", "E12", "E14")
"""Experiments that ask which tokens matter, and so of any reading."""
TRIAL = "trial.json"
"""The file that names, by hash, what the evidence in a folder apart is on."""


def main(arguments: list[str]) -> int:
    """Run the command; returns the exit code.

    Args:
        arguments: what follows ``attest evidence``.
    Raises:
        AttestError: there is no such run, checkpoint, configuration or experiment.
    """
    typed, rest = _parser().parse_known_args(arguments)
    named = [argument for argument in rest if EXPERIMENT.fullmatch(argument)]
    options = [argument for argument in rest if argument not in named]
    wanted = list(dict.fromkeys(argument.upper() if argument[1:].isdigit() else argument.lower() for argument in named))
    checkpoint, run = _on_trial(typed)
    wanted = _read_instead(typed.reading, wanted)
    own = run is not None and typed.out is None and typed.ckpt is None and typed.reading is None
    apart = None if own else Apart(checkpoint, typed.out, typed.reading or "")
    with configuration_of(run) as configuration:
        EvidenceCLI(expand([*configuration, *options]), run, checkpoint, wanted, apart, typed.reading)
    return 0


def _parser() -> CommandParser:
    parser = CommandParser("attest evidence", __doc__)
    parser.add_argument("--run", type=Path, help="a run folder; its best checkpoint is put on trial")
    parser.add_argument("--ckpt", type=Path, help="a checkpoint; outside a run folder, say what it is by choices or --config")
    parser.add_argument("--out", type=Path, help="where tables go; the run's own folder, or beside the checkpoint")
    parser.add_argument("--reading", help=f"what stands in the attention's place: {', '.join(READINGS)}")
    return parser


def _read_instead(reading: str | None, wanted: list[str]) -> list[str]:
    """The experiments that take a reading in the attention's place: those asked for, or all.

    Raises:
        AttestError: the reading is not known, or an experiment asked for is on the attention itself.
    """
    if reading is None:
        return wanted
    if reading not in READINGS:
        raise unknown_choice("The reading", reading, READINGS, "attest evidence --run <folder> --reading {}")
    if other := [name for name in wanted if name not in OF_READINGS]:
        raise AttestError(
            f"{other[0]} is on the attention itself; expected some of {', '.join(OF_READINGS)} where --reading is given. "
            f"Type: attest evidence --run <folder> {other[0]}"
        )
    return wanted or list(OF_READINGS)


def _on_trial(typed: argparse.Namespace) -> tuple[Path, RunFolder | None]:
    """The checkpoint, and the run that it belongs to if that is known."""
    if (typed.run is None) == (typed.ckpt is None):
        found = "nothing trained" if typed.run is None else "two things, a run and a checkpoint"
        raise AttestError(
            f"attest evidence was told of {found}; expected either --run or --ckpt. Type for example: attest evidence --run "
            "runs/sst/jw-bilstm-additive-softmax/seed0 E3"
        )
    run = RunFolder(typed.run if typed.run is not None else typed.ckpt.parent.parent)
    checkpoint = typed.ckpt or run.best
    if not checkpoint.is_file():
        raise AttestError(f"{checkpoint} does not exist; expected a checkpoint. Train one first: make train")
    if typed.run is not None and not run.config.is_file():
        raise AttestError(f"{run.config} does not exist; expected the folder of a run. Train one first: make train")
    return checkpoint, run if run.config.is_file() else None


@dataclass(frozen=True)
class Apart:
    """Where the evidence on a checkpoint goes that is not gathered into a run's own folder.

    Args:
        checkpoint: what is put on trial.
        out: the folder that was asked for; None for one beside the checkpoint, named by what is on trial.
        reading: what stands in the attention's place; empty for the attention itself.
    """

    checkpoint: Path
    out: Path | None
    reading: str = ""

    def folder(self, settings: dict[str, Any], force: bool) -> RunFolder:
        """The folder, which holds no evidence on anything else.

        Args:
            settings: the resolved configuration.
            force: whether evidence that is there will be computed again, so that it may be on anything.
        Raises:
            AttestError: the folder that was asked for holds evidence on another checkpoint or configuration.
        """
        digest = self._digest(settings)
        name = "-".join(filter(None, (self.checkpoint.stem, "evidence", self.reading, digest[:8])))
        folder = RunFolder(self.out or self.checkpoint.with_name(name))
        known = read_json(folder.path / TRIAL)["sha256"] if (folder.path / TRIAL).is_file() else None
        if not force and folder.evidence(INSTANCES).parent.is_dir() and known != digest:
            raise AttestError(
                f"{folder.path} holds evidence on another checkpoint, configuration or version; expected an empty folder or "
                "one of the same. Give another with --out=<folder>, or add FORCE=1 to compute everything again."
            )
        write_json(folder.path / TRIAL, {"sha256": digest, "checkpoint": str(self.checkpoint)})
        return folder

    def _digest(self, settings: dict[str, Any]) -> str:
        """Of the checkpoint's bytes and of all settings that evidence may depend on."""
        whole = hashlib.sha256(
            hashlib.sha256(self.checkpoint.read_bytes()).digest() + canonical(settings) + self.reading.encode()
        )
        return whole.hexdigest()


@contextmanager
def configuration_of(run: RunFolder | None) -> Iterator[list[str]]:
    """The run's configuration as an argument, with every experiment that ships for its model; none for a bare checkpoint."""
    if run is None:
        yield []
        return
    settings = _settings_of(run)
    suited = config_file("EXPERIMENTS", default_choices(settings["run"]["model"])["EXPERIMENTS"])
    shipped = yaml.safe_load(suited.read_text(encoding="utf-8"))["experiments"]
    settings["experiments"] = shipped | {name: given for name, given in settings["experiments"].items() if given}
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / "config.yaml"
        file.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
        yield [f"--config={file}"]


def _settings_of(run: RunFolder) -> dict[str, Any]:
    settings = run.settings()
    if not isinstance(settings, dict) or not {"run", "model", "data", "experiments"} <= settings.keys():
        raise AttestError(f"{run.config} is not the configuration of a run; expected the file that `attest fit` wrote there.")
    return settings


class EvidenceCLI(AttestCLI):
    """A run's configuration, a network from a checkpoint, and evidence instead of training.

    Args:
        arguments: configuration files and options.
        run: that the checkpoint belongs to; None where that is not known.
        checkpoint: what is put on trial.
        wanted: ids of experiments; all if empty.
        apart: where tables go if not into the run's folder.
        reading: what stands in the attention's place; None for the attention itself.
    """

    def __init__(
        self,
        arguments: list[str],
        run: RunFolder | None,
        checkpoint: Path,
        wanted: list[str],
        apart: Apart | None,
        reading: str | None = None,
    ) -> None:
        self.on_trial, self.checkpoint, self.wanted, self.apart, self.reading = run, checkpoint, wanted, apart, reading
        super().__init__(["test", *arguments])

    def before_instantiate_classes(self) -> None:
        experiments = {name: evidence for name, evidence in self.config.test.experiments.items() if evidence is not None}
        for name in self.wanted:
            if name not in experiments:
                raise self._not_here(name, experiments)
        settings = self.resolved(self.config)
        self.config.test.experiments = {name: experiments[name] for name in self.wanted or experiments}
        super().before_instantiate_classes()
        self.folder = self.apart.folder(settings, self.run.force) if self.apart else cast(RunFolder, self.on_trial)

    def _made_from(self) -> RunFolder | None:
        return self.on_trial

    def _not_here(self, name: str, experiments: Iterable[str]) -> AttestError:
        """The error for an experiment that this run cannot answer, or not by itself."""
        if name not in EXPERIMENTS or not EXPERIMENTS[name].command:
            return unknown_choice("The experiment", name, experiments, "attest evidence --run <folder> {}")
        run = self.config.test.run
        choices = " ".join(f"{choice.upper()}={run[choice]}" for choice in ("data", "model", "scoring", "projection"))
        where = EXPERIMENTS[name].command.format(choices=choices, data=run.data)
        return AttestError(
            f"{name} is no evidence on this run alone; expected one of: {', '.join(sorted(experiments))}. {name} {where}"
        )

    def _require_same_configuration(self) -> None:
        """The configuration is the run's own, but for the experiments; nothing of it is written."""

    def test(self, model: LightningModule, ckpt_path: str | None = None, **kwargs: Any) -> None:
        """Compute what is missing, or everything with FORCE=1, and sum up."""
        self._require_same_data()
        missing = self.identities if self.run.force else self.folder.missing_evidence(self.identities)
        if missing:
            for identity, evidence in self.experiments.items():
                evidence.folder, evidence.enabled_on_test = self.folder, identity in missing
                evidence.reading = self.reading
            self._sum_up(self._test(model, str(self.checkpoint)))
        self._name_tables(missing)

    @rank_zero_only
    def _require_same_data(self) -> None:
        """Evidence that lies apart names the data that it was gathered on, as a run does."""
        if self.apart is None or not isinstance(self.datamodule, TextDataModule):
            return
        if self.folder.data.is_file() and not self.run.force:
            DataRecord.from_plain(read_json(self.folder.data)).require(self.datamodule.found, str(self.folder.path))
        write_json(self.folder.data, self.datamodule.found.plain())

    @rank_zero_only
    def _sum_up(self, scores: dict[str, float]) -> None:
        """From all tables that are there; a run that has been trained to its end gets its report anew as well."""
        tables = [path.stem for path in sorted(self.folder.evidence("E1").parent.glob("*.parquet"))]
        if self.folder.trained:
            summary = summarise_run(self.folder, tables, scores, self.run.monitor, self.run.mode)
            write_json(self.folder.summary, summary)
            write_report(self.folder)
            return
        known = read_json(self.folder.summary) if self.folder.summary.is_file() else {}
        rows = {identity: pd.read_parquet(self.folder.evidence(identity)) for identity in tables}
        measured = {f"{name}/{key}": value for name, table in rows.items() for key, value in summarise(table).items()}
        write_json(self.folder.summary, known | scores | measured)

    @rank_zero_only
    def _name_tables(self, missing: list[str]) -> None:
        for identity in self.identities:
            state = "computed" if identity in missing else "there already (FORCE=1 computes it again)"
            print(f"{identity:<10} {self.folder.evidence(identity)}  {state}")
