"""Evaluate: evidence on a trained model, a run or a checkpoint outside a run.

``evaluate`` is the whole story; ``attest evidence`` calls it.
"""

import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pandas as pd
import yaml
from lightning_utilities.core.rank_zero import rank_zero_only

from attest.datamodules import TextDataModule
from attest.datamodules.batching import WHOLE, Shard
from attest.datamodules.record import DataRecord
from attest.errors import AttestError, unknown_choice
from attest.experiments.registry import EXPERIMENTS
from attest.measures import summarise
from attest.report.page import write_report
from attest.report.summary import summarise_run
from attest.report.verdict import ALL, READ
from attest.runs.asked import evidence_digest
from attest.runs.belonging import other_version, outdated_tables
from attest.runs.choices import config_file, default_choices
from attest.runs.class_paths import require_trusted
from attest.runs.configured import ConfiguredRun
from attest.runs.folder import INSTANCES, RunFolder, Stopped, no_configuration, read_json, read_yaml, write_json
from attest.runs.training import test

TRIAL = "trial.json"
"""The file that names, by hash, what the evidence in a folder apart is on."""


ELSEWHERE = {
    "controls": "compares this run with others. Type: attest controls {choices}",
    "adversaries": "compares this run with adversaries that are trained against it. Type: attest adversarial {choices}",
    "attacks": "is asked inside the layers of a Transformer. Type: attest keys DATA={data} MODEL=transformer-dr",
}
"""What an experiment needs that one run alone may not give, and the command that gives it."""


def evaluate(run: "RunOnTrial") -> None:
    """Compute the evidence that is missing, or all of it with ``run.force``, and sum up."""
    with run.prepared():
        run.require_same_data()
        missing = run.missing_evidence()
        if missing or not run.folder.reported:
            for experiment, evidence in run.experiments.items():
                evidence.folder, evidence.enabled_on_test = run.folder, experiment in missing
                evidence.reading = run.apart.reading if run.apart else None
            sum_up(run, test(run, str(run.on_trial_checkpoint)))
        name_tables(run, missing)


@dataclass(frozen=True)
class Apart:
    """Where the evidence on a checkpoint goes that is not gathered into a run's own folder.

    Args:
        checkpoint: what is put on trial.
        out: the folder that was asked for; None for one beside the checkpoint, named by what is on trial.
        reading: what stands in the attention's place; None for the attention itself.
    """

    checkpoint: Path
    out: Path | None
    reading: str | None = None

    def folder(self, settings: dict[str, Any]) -> RunFolder:
        """The folder.

        Args:
            settings: the resolved configuration.
        """
        name = "-".join(filter(None, (self.checkpoint.stem, "evidence", self.reading, self.digest(settings)[:8])))
        return RunFolder(self.out or self.checkpoint.with_name(name))

    def begin(self, folder: RunFolder, settings: dict[str, Any], force: bool) -> None:
        """Mark the folder as that of this checkpoint and configuration.

        Args:
            folder: as ``folder`` gives it.
            settings: the resolved configuration.
            force: whether evidence that is there will be computed again, so that it may be on anything.
        Raises:
            AttestError: it holds evidence on another checkpoint or configuration.
        """
        digest = self.digest(settings)
        known = read_json(folder.path / TRIAL)["sha256"] if (folder.path / TRIAL).is_file() else None
        if not force and folder.evidence(INSTANCES).parent.is_dir() and known != digest:
            raise AttestError(
                f"{folder.path} holds evidence on another checkpoint, configuration or version; expected an empty folder or "
                "one of the same. Give another with --out=<folder>, or add FORCE=1 to compute everything again."
            )
        write_json(folder.path / TRIAL, {"sha256": digest, "checkpoint": str(self.checkpoint)})

    def digest(self, settings: dict[str, Any]) -> str:
        """Of the checkpoint's bytes and of all settings that evidence may depend on."""
        said = (evidence_digest(settings) + (self.reading or "")).encode()
        return hashlib.sha256(hashlib.sha256(self.checkpoint.read_bytes()).digest() + said).hexdigest()


@contextmanager
def configuration_of(run: RunFolder | None, trusted: Iterable[str] = ()) -> Iterator[list[str]]:
    """The run's configuration as an argument, with every experiment that ships for its model; none for a bare checkpoint.

    Args:
        run: which may be a stranger's: its model, data and experiments are taken, and of its trainer numbers and words.
        trusted: modules whose classes may be built, beside ours and torch's; see ``attest.runs.class_paths``.
    Raises:
        AttestError: the configuration cannot be read, or names other classes.
    """
    if run is None:
        yield []
        return
    settings = _settings_of(run, trusted)
    suited = config_file("EXPERIMENTS", default_choices(settings["run"]["model"])["EXPERIMENTS"])
    shipped = read_yaml(suited)["experiments"]
    settings["run"]["until"] = None  # of the evidence that was gathered then
    settings["experiments"] = shipped | {name: given for name, given in settings["experiments"].items() if given}
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / "config.yaml"
        file.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
        yield [f"--config={file}"]


def _settings_of(run: RunFolder, trusted: Iterable[str]) -> dict[str, Any]:
    """What says which model was trained on what; nothing that writes, and no code but of ours or of those who are trusted."""
    settings = run.settings()
    sections = ("run", "model", "data", "experiments", "trainer")
    if not all(isinstance(settings.get(name), dict) for name in sections):
        raise no_configuration(run.config)
    trainer = {
        name: value for name, value in settings["trainer"].items() if name not in BESIDE and not isinstance(value, dict | list)
    }
    taken = {name: settings[name] for name in sections} | {"trainer": trainer}
    require_trusted(taken, trusted, str(run.config))
    return taken | {name: settings[name] for name in ("seed_everything",) if name in settings}


BESIDE = ("logger", "callbacks", "profiler", "plugins", "default_root_dir")
"""What a Trainer is given beside how to compute: classes of anybody's, and where these write."""


class RunOnTrial(ConfiguredRun):
    """A run's configuration, a network from a checkpoint, and evidence instead of training.

    Args:
        arguments: configuration files and options.
        run: that the checkpoint belongs to; None where that is not known.
        checkpoint: what is put on trial.
        wanted: ids of experiments; all if empty.
        apart: where tables go if not into the run's folder.
        shard: the part of the test split that is gone through; all of it if not given.
    """

    def __init__(
        self,
        arguments: list[str],
        run: RunFolder | None,
        checkpoint: Path,
        wanted: list[str],
        apart: Apart | None,
        shard: Shard = WHOLE,
    ) -> None:
        self.on_trial, self.on_trial_checkpoint, self.wanted, self.apart = run, checkpoint, wanted, apart
        self.shard = shard
        super().__init__(["test", *arguments])

    def set_up(self) -> None:
        experiments = {name: evidence for name, evidence in self.config.test.experiments.items() if evidence is not None}
        for name in self.wanted:
            if name not in experiments:
                raise self._not_here(name, experiments)
        settings = self.resolved(self.config)
        self.config.test.experiments = {name: experiments[name] for name in self.wanted or experiments}
        super().set_up()
        self._on_trial_settings = settings
        self.folder = self.apart.folder(settings) if self.apart else cast(RunFolder, self.on_trial)
        self._claim()

    @rank_zero_only
    def _claim(self) -> None:
        self._held.enter_context(self.folder.claimed())
        if self.apart:
            self.apart.begin(self.folder, self._on_trial_settings, self.run.force)
        else:
            self._write_settings(self.folder.settings())

    def make(self) -> None:
        """Data, model and trainer, of the shard.

        Raises:
            AttestError: the data cannot be parted.
        """
        super().make()
        if self.shard != WHOLE and self.run.until is not None:
            raise AttestError("run.until is set for a shard, which cannot know when all shards know enough. Leave one out.")
        if isinstance(self.datamodule, TextDataModule):
            self.datamodule.shard = self.shard
        elif self.shard != WHOLE:
            raise AttestError(
                f"{type(self.datamodule).__name__} does not know of shards; expected a TextDataModule. Leave --shard out."
            )

    def _made_from(self) -> RunFolder | None:
        return self.on_trial

    def missing_tables(self) -> list[str]:
        """Ids of the tables that are to be made, before anything is."""
        config = self.config.test
        wanted = self.wanted or [name for name, evidence in config.experiments.items() if evidence is not None]
        if config.run.force or self.on_trial is None:
            return wanted
        outdated = outdated_tables(self.on_trial, self.resolved(self.config)["experiments"])
        missing = {*self.on_trial.missing_evidence(wanted, config.run.until), *outdated}
        return [table for table in wanted if table in missing]

    def _believed(self) -> list[RunFolder]:
        return [] if self.on_trial is None else [self.on_trial]

    def _not_here(self, name: str, experiments: Iterable[str]) -> AttestError:
        """The error for an experiment that this run cannot answer, or not by itself."""
        if name not in EXPERIMENTS or not EXPERIMENTS[name].needs:
            return unknown_choice("The experiment", name, experiments, "attest evidence --run <folder> {}")
        run = self.config.test.run
        choices = " ".join(f"{choice.upper()}={run[choice]}" for choice in ("data", "model", "scoring", "projection"))
        where = ELSEWHERE[EXPERIMENTS[name].needs].format(choices=choices, data=run.data)
        return AttestError(f"{name} needs other runs too; expected one of: {', '.join(sorted(experiments))}. {name} {where}")

    def _require_same_configuration(self) -> None:
        """The configuration is the run's own, but for the experiments; nothing of it is written."""

    @rank_zero_only
    def require_same_data(self) -> None:
        """Evidence that lies apart names the data that it was gathered on, as a run does."""
        if self.apart is None or not isinstance(self.datamodule, TextDataModule):
            return
        if self.folder.data.is_file() and not self.run.force:
            DataRecord.from_plain(read_json(self.folder.data)).require(self.datamodule.found, str(self.folder.path))
        write_json(self.folder.data, self.datamodule.found.plain())

    def require_same_trial(self, part: RunFolder) -> None:
        """Refuse a folder with evidence on another model or configuration.

        Raises:
            AttestError: it is, or there is no evidence in it.
        """
        known = read_json(part.path / TRIAL)["sha256"] if (part.path / TRIAL).is_file() else None
        if known != Apart(self.on_trial_checkpoint, part.path).digest(self._on_trial_settings):
            raise AttestError(
                f"{part.path} holds no evidence on this checkpoint with this configuration; expected that of every shard. "
                "Compute it again with FORCE=1."
            )


@rank_zero_only
def sum_up(run: RunOnTrial, scores: dict[str, float]) -> None:
    """From all tables that are there; a run that has been trained to its end gets its report anew as well."""
    folder = run.folder
    tables = [path.stem for path in sorted(folder.evidence("E1").parent.glob("*.parquet"))]
    if folder.trained:
        write_json(folder.summary, summarise_run(folder, tables, scores, run.run.monitor, run.run.mode))
        write_report(folder)
        return
    known = read_json(folder.summary) if folder.summary.is_file() else {}
    rows = {experiment: pd.read_parquet(folder.evidence(experiment)) for experiment in tables}
    measured = {f"{name}/{key}": value for name, table in rows.items() for key, value in summarise(table).items()}
    for stopped in folder.stopped_evidence().values():
        measured |= stopped.summary
    write_json(folder.summary, known | scores | measured)


@rank_zero_only
def name_tables(run: RunOnTrial, missing: list[str]) -> None:
    stopped = run.folder.stopped_evidence()
    for experiment in run.expected_tables:
        path = run.folder.evidence(experiment)
        state = "computed" if experiment in missing else f"there already{other_version(path)} (FORCE=1 computes it again)"
        print(f"{experiment:<10} {path}  {state}{_read(stopped.get(experiment), experiment)}")


def _read(stopped: Stopped | None, experiment: str) -> str:
    """Of how many texts, where that are not all."""
    if stopped is None:
        return ""
    read, of = (stopped.summary[f"{experiment}/{count}"] for count in (READ, ALL))
    return f", from {read:,.0f} of {of:,.0f} texts"
