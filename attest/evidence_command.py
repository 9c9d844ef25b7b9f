"""``attest evidence``: any experiment on something already trained, a run or a bare checkpoint.

    attest evidence --run runs/sst/jw-bilstm-additive-softmax/seed0 E3 E12
    attest evidence --ckpt model.ckpt DATA=sst MODEL=bilstm PROJECTION=sparsemax

Without any experiment named all that ship are meant. Tables that are there stay unless FORCE=1 is given; the summary and
report of a run are renewed from all its tables.
"""

import argparse
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from lightning_utilities.core.rank_zero import rank_zero_only
from pytorch_lightning import LightningModule

from attest.choices import config_file, default_choices, expand
from attest.command_parser import CommandParser
from attest.errors import AttestError, unknown_choice
from attest.measures import summarise
from attest.report import summarise_run, write_report
from attest.run_command import AttestCLI
from attest.run_folder import RunFolder, read_json, write_json

EXPERIMENT = re.compile(r"E\d+|instances|maps|tagged", re.IGNORECASE)
ELSEWHERE = {
    **dict.fromkeys(("E4", "E5", "E6"), "compares this run with others. Type: attest controls {choices}"),
    "E7": "compares this run with adversaries that are trained against it. Type: attest adversarial {choices}",
    "E9": "is asked inside the layers of a Transformer. Type: attest keys DATA={data} MODEL=transformer-dr",
}
"""Experiments that a run may not be able to answer by itself, and the command that answers them."""


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
    folder = run if run is not None and typed.out is None and typed.ckpt is None else _apart(typed.out, checkpoint)
    with configuration_of(run) as configuration:
        EvidenceCLI(expand([*configuration, *options]), folder, checkpoint, wanted)
    return 0


def _parser() -> CommandParser:
    parser = CommandParser("attest evidence", __doc__)
    parser.add_argument("--run", type=Path, help="a run folder; its best checkpoint is put on trial")
    parser.add_argument("--ckpt", type=Path, help="a checkpoint; outside a run folder, say what it is by choices or --config")
    parser.add_argument("--out", type=Path, help="where tables go; the run's own folder, or beside the checkpoint")
    return parser


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


def _apart(out: Path | None, checkpoint: Path) -> RunFolder:
    return RunFolder(out if out is not None else checkpoint.with_name(f"{checkpoint.stem}-evidence"))


@contextmanager
def configuration_of(run: RunFolder | None) -> Iterator[list[str]]:
    """The run's configuration as an argument, with every experiment that ships for its model; none for a bare checkpoint."""
    if run is None:
        yield []
        return
    settings = _settings_of(run)
    suited = config_file("ANALYSES", default_choices(settings["run"]["model"])["ANALYSES"])
    shipped = yaml.safe_load(suited.read_text(encoding="utf-8"))["analyses"]
    settings["analyses"] = shipped | {name: given for name, given in settings["analyses"].items() if given}
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / "config.yaml"
        file.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
        yield [f"--config={file}"]


def _settings_of(run: RunFolder) -> dict[str, Any]:
    try:
        settings = yaml.safe_load(run.config.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError):
        settings = None
    if not isinstance(settings, dict) or not {"run", "model", "data", "analyses"} <= settings.keys():
        raise AttestError(f"{run.config} is not the configuration of a run; expected the file that `attest fit` wrote there.")
    return settings


class EvidenceCLI(AttestCLI):
    """A run's configuration, a network from a checkpoint, and evidence instead of training.

    Args:
        arguments: configuration files and options.
        folder: where tables go.
        checkpoint: what is put on trial.
        wanted: ids of experiments; all if empty.
    """

    def __init__(self, arguments: list[str], folder: RunFolder, checkpoint: Path, wanted: list[str]) -> None:
        self.destination, self.checkpoint, self.wanted = folder, checkpoint, wanted
        super().__init__(["test", *arguments])

    def before_instantiate_classes(self) -> None:
        analyses = {name: evidence for name, evidence in self.config.test.analyses.items() if evidence is not None}
        for name in self.wanted:
            if name not in analyses:
                raise self._not_here(name, analyses)
        self.config.test.analyses = {name: analyses[name] for name in self.wanted or analyses}
        super().before_instantiate_classes()
        self.folder = self.destination

    def _not_here(self, name: str, analyses: Iterable[str]) -> AttestError:
        """The error for an experiment that this run cannot answer, or not by itself."""
        if name not in ELSEWHERE:
            return unknown_choice("The experiment", name, analyses, "attest evidence --run <folder> {}")
        run = self.config.test.run
        choices = " ".join(f"{choice.upper()}={run[choice]}" for choice in ("data", "model", "scoring", "projection"))
        where = ELSEWHERE[name].format(choices=choices, data=run.data)
        return AttestError(
            f"{name} is no evidence on this run alone; expected one of: {', '.join(sorted(analyses))}. {name} {where}"
        )

    def _require_same_configuration(self) -> None:
        """The configuration is the run's own, but for the experiments; nothing of it is written."""

    def test(self, model: LightningModule, ckpt_path: str | None = None, **kwargs: Any) -> None:
        """Compute what is missing, or everything with FORCE=1, and sum up."""
        missing = self.identities if self.run.force else self.folder.missing_evidence(self.identities)
        if missing:
            for identity, evidence in self.analyses.items():
                evidence.folder, evidence.enabled_on_test = self.folder, identity in missing
            self._sum_up(self._test(model, str(self.checkpoint)))
        self._name_tables(missing)

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
