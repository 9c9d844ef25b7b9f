"""The evidence on a trained model: on the best checkpoint of a run, or on a checkpoint outside a run. ``evaluate`` computes
the missing tables; ``attest evidence`` calls it. ``LoadedRun`` holds a trained model and its data in memory, to explain new
texts.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import torch
from lightning_utilities.core.rank_zero import rank_zero_only
from torch import Tensor

from attest.app.configured import ConfiguredRun
from attest.app.training import tell_verdict, test
from attest.callbacks.experiment import Explaining
from attest.core.errors import AttestError, unknown_choice
from attest.datamodules import TextDataModule
from attest.datamodules.record import DataRecord
from attest.experiments import Observation
from attest.experiments.deciding import Neutral
from attest.experiments.deciding.experiment import Pools
from attest.experiments.deciding.observed import OF_SENTENCES
from attest.experiments.registry import EXPERIMENTS, Context, askable, runnable
from attest.experiments.stopping import ALL, READ
from attest.models.traits import traits_of
from attest.report.findings import Findings, write_summary
from attest.report.page import write_report
from attest.report.summary import summarise_run, summarise_tables
from attest.runs.asked import AskedRun, as_argument, evidence_digest
from attest.runs.belonging import checkpoint_digest, other_version
from attest.runs.choices import config_file, default_choices
from attest.runs.contents import RunContents
from attest.runs.experiment_settings import sized
from attest.runs.folder import (
    INSTANCES,
    RunFolder,
    columns_in,
    no_configuration,
    read_json,
    read_table,
    read_yaml,
    write_json,
)
from attest.runs.shapes import RECORD

TRIAL = "trial.json"
"""The name of a file that is written beside results if a checkpoint outside a run folder is tested: it holds the path of the
checkpoint, and a hash of the checkpoint, the settings and the version."""


ELSEWHERE = {
    "controls": "compares this run with others. Type: attest controls {choices}",
    "adversaries": "compares this run with adversaries that are trained against it. Type: attest adversarial {choices}",
    "attacks": "is asked inside the layers of a Transformer. Type: attest keys DATA={data} MODEL=transformer-dr",
}
"""Some experiments need more than one finished run. By what they need: why they cannot run here, and the command that runs
them."""


def evaluate(run: "RunOnTrial") -> None:
    """Compute and write the missing result tables of a run (all tables if ``run.force``), and the summary."""
    with run.prepared():
        run.require_same_data()
        missing = run.missing_evidence()
        if missing or not run.folder.reported:
            for evidence in run.experiments.values():
                evidence.engine.reading = run.reading
            sum_up(run, test(run, str(run.on_trial_checkpoint), missing))
        name_tables(run, missing)
        if run.folder.trained:
            tell_verdict(Findings(run.folder))


def configuration_of(run: RunFolder | None, trusted: Iterable[str] = ()) -> list[str]:
    """Return a list with a run's configuration as one command-line argument; an empty list if ``run`` is None.

    Args:
        run: the run, which may come from a stranger: only numbers and strings of its Trainer options are used. None for a
            checkpoint without a run.
        trusted: modules whose classes are allowed in addition to the classes of Attest, torch and Lightning.
    """
    if run is None:
        return []
    settings = run.settings()
    if not all(isinstance(settings.get(name), dict) for name in ("run", *SECTIONS)):
        raise no_configuration(run.config, "one of its sections is missing")
    kept = ("run", *SECTIONS, "seed_everything")
    settings = {name: settings[name] for name in kept if name in settings}
    settings["trainer"] = {
        name: value for name, value in settings["trainer"].items() if name not in BESIDE and not isinstance(value, dict | list)
    }
    require_trusted(settings, trusted, str(run.config))
    suited = config_file("EXPERIMENTS", default_choices(settings["run"]["model"])["EXPERIMENTS"])
    shipped = sized(read_yaml(suited))["experiments"]
    settings["run"]["until"] = None  # it belongs to the earlier evidence
    given = {name: each for name, each in settings["experiments"].items() if each is not None}
    settings["experiments"] = shipped | given
    return [as_argument(settings)]


BESIDE = ("logger", "callbacks", "profiler", "plugins", "default_root_dir")
"""The Trainer options of a stored configuration that are dropped, because they can name untrusted classes or output
folders."""


class _TrainedRun(ConfiguredRun):
    """A run that evaluates an earlier, trained run with the configuration and the data of the trained run."""

    def __init__(self, words: Sequence[str], trained: RunFolder | None) -> None:
        self.on_trial = trained
        super().__init__("test", AskedRun.of(words))

    def _believed(self) -> list[RunFolder]:
        return [] if self.on_trial is None else [self.on_trial]

    def _require_same_configuration(self) -> None:
        """Do nothing, because all settings except the experiments come from the trained run."""


class RunOnTrial(_TrainedRun):
    """A run that computes result tables on a given checkpoint, without training.

    Args:
        apart: whether the evidence gets a separate folder, outside the folder of the run.
        out: the separate folder that the user typed; None for a folder beside the checkpoint, with a hash in its name.
        reading: the reading, such as ``integrated-gradients``, that replaces attention; None for the attention itself.
    """

    def __init__(
        self,
        words: Sequence[str],
        run: RunFolder | None,
        checkpoint: Path,
        wanted: list[str],
        apart: bool,
        out: Path | None = None,
        reading: str | None = None,
    ) -> None:
        self.on_trial_checkpoint, self.wanted = checkpoint, wanted
        self.apart, self.out, self.reading = apart, out, reading
        super().__init__(words, run)

    def set_up(self) -> None:
        settings = self.resolved(self.config)
        experiments = {name: given for name, given in self.config.test.experiments.items() if given is not None}
        for name in self.wanted:
            if name in experiments:
                continue
            if name == "E19" and settings["data"]["init_args"].get("sentences"):
                raise AttestError(OF_SENTENCES)
            if name not in EXPERIMENTS or not EXPERIMENTS[name].needs:
                raise unknown_choice("The experiment", name, experiments, "attest evidence --run <folder> {}")
            run = self.config.test.run
            choices = " ".join(f"{choice.upper()}={run[choice]}" for choice in ("data", "model", "scoring", "projection"))
            where = ELSEWHERE[EXPERIMENTS[name].needs].format(choices=choices, data=run.data)
            there = ", ".join(sorted(experiments))
            raise AttestError(f"{name} needs other runs as well; expected one of: {there}. {name} {where}")
        self.config.test.experiments = {name: experiments[name] for name in self.wanted or experiments}
        super().set_up()
        checkpoint = self.on_trial_checkpoint
        said = (evidence_digest(settings) + (self.reading or "")).encode()  # all settings that can change evidence
        digest = hashlib.sha256(hashlib.sha256(checkpoint.read_bytes()).digest() + said).hexdigest()
        name = "-".join(filter(None, (checkpoint.stem, "evidence", self.reading, digest[:8])))
        separate = RunFolder(self.out or checkpoint.with_name(name))
        self.folder = separate if self.apart else cast(RunFolder, self.on_trial)
        self._claim(digest)

    @rank_zero_only
    def _claim(self, digest: str) -> None:
        self._held.enter_context(self.folder.claimed())
        if not self.apart:
            self._write_settings(self.folder.settings())
            return
        record = self.folder.path / TRIAL
        known = read_json(record)["sha256"] if record.is_file() else None
        if not self.run.force and self.folder.evidence(INSTANCES).parent.is_dir() and known != digest:
            raise AttestError(
                f"{self.folder.path} contains evidence on another checkpoint, configuration or version; expected an empty "
                "folder, or evidence on the same checkpoint. Choose another folder with --out=<folder>, or add FORCE=1 to "
                "compute everything again."
            )
        write_json(record, {"sha256": digest, "checkpoint": str(self.on_trial_checkpoint)})

    @rank_zero_only
    def require_same_data(self) -> None:
        """Refuse data that differ from the record in a separate result folder; write the record if there is none."""
        if not self.apart or not isinstance(self.datamodule, TextDataModule):
            return
        if self.folder.data.is_file() and not self.run.force:
            DataRecord.from_plain(read_json(self.folder.data, RECORD)).require(self.datamodule.found, str(self.folder.path))
        write_json(self.folder.data, self.datamodule.found.plain())


@rank_zero_only
def sum_up(run: RunOnTrial, scores: dict[str, float]) -> None:
    """Write the summary of all existing tables, and also the report if the run is completely trained."""
    folder = run.folder
    _require_same_texts(folder)
    if folder.trained:
        summary = summarise_run(folder, folder.tables, scores, run.run.monitor, run.run.mode)
        write_summary(folder, summary)
        write_report(Findings(folder))
        return
    known = read_json(folder.summary) if folder.summary.is_file() else {}
    write_json(folder.summary, known | scores | summarise_tables(folder, folder.tables))


def _require_same_texts(folder: RunFolder) -> None:
    """Refuse a table with texts that the table of instances lacks; it was computed on more batches than the others."""
    if INSTANCES not in folder.tables:
        return
    known = {*read_table(folder.evidence(INSTANCES), ["id"])["id"]}
    for path in folder.tables.values():
        ids = read_table(path, ["id"])["id"] if "id" in columns_in(path) else ()
        if others := {*ids} - known:
            raise AttestError(
                f"{path} has {len(others):,} texts that {folder.evidence(INSTANCES).name} lacks; expected tables of the same "
                f"texts. One of them was computed with another trainer.limit_test_batches. Type: attest evidence --run "
                f"{folder.path} FORCE=1, with the same option, which computes all tables again; or delete {path.name}."
            )


@rank_zero_only
def name_tables(run: RunOnTrial, missing: list[str]) -> None:
    contents = RunContents(run.folder)
    for experiment in run.expected_tables:
        path = run.folder.evidence(experiment)
        state = "computed"
        if experiment not in missing:
            state = f"there already{other_version(contents, experiment)} (FORCE=1 computes it again)"
        if experiment in contents.stopped:
            read, of = (contents.stopped[experiment].summary[f"{experiment}/{count}"] for count in (READ, ALL))
            state += f", from {read:,.0f} of {of:,.0f} texts"
        print(f"{experiment:<10} {path}  {state}")


ROLLOUT = "Attention rollout"


class LoadedRun(_TrainedRun):
    """A trained run in memory, with its best checkpoint. It explains texts, and neither trains nor writes."""

    needs_data = False
    on_trial: RunFolder
    datamodule: TextDataModule

    def set_up(self) -> None:
        self.config.test.experiments = {}
        if "embeddings" in self.config.test.data.init_args:
            self.config.test.data.init_args.embeddings = None  # the checkpoint holds the trained vectors
        super().set_up()

    def make(self) -> None:
        super().make()
        checkpoint = self.trainer.strategy.checkpoint_io.load_checkpoint(self.on_trial.best, weights_only=True)
        if self.record and (record := checkpoint.get(type(self.datamodule).__qualname__)):
            DataRecord.from_plain(record).require(self.record, f"the model in {self.on_trial.best}")
        self.model.load_state_dict(checkpoint["state_dict"])
        self.model.eval()

    def explained(self, number: int, text: str) -> dict[str, Any]:
        """Return a dictionary with one text's explanations, tokens and prediction; its batch has no other text or padding."""
        if not hasattr(self.model, "observe"):
            name = type(self.model).__name__
            raise AttestError(f"{self.on_trial.path} contains a {name}; expected a classifier of whole texts.")
        documents = self.datamodule.documents_of([text])
        if not documents.lengths[0]:
            raise AttestError(f"text {number} has no words ({text[:20]!r}); expected at least one word. Leave this text out.")
        encoded = self.datamodule.encode(documents)
        batch, model = encoded.__getitems__([0]), self.model
        if traits_of(model.network).pools_by_attention:
            observation = model.observe(batch)
        else:
            observation = Explaining.together(model.observe_steps(batch), model.observe_layers(batch))
        real = observation.mask[0]
        row: dict[str, Any] = {
            name: column[0].item() if column.ndim == 1 else column[0][real].detach().to(torch.float64).cpu().numpy()
            for name, column in _evidence_on(observation, self._neutral()).items()
        }
        of_tokens = {"word": observation.words, "special": observation.spared}
        row |= {name: each[0][real].cpu().numpy() for name, each in of_tokens.items() if each is not None}
        row |= {} if observation.read_instead is None else {"attention_name": ROLLOUT}
        names = self.datamodule.label_names
        unknown = (token for token in dict.fromkeys(encoded.tokens_of(0)) if not self.datamodule.vocabulary.knows(token))
        return row | {
            "title": f"text {number}",
            "tokens": encoded.units_of(0),
            "unknown": list(unknown),
            "probabilities": dict(zip(names, observation.probabilities[0].tolist(), strict=True)),
            "predicted": names[int(observation.predicted[0])],
        }

    def _neutral(self) -> Pools | None:
        """Return the neutral words that E19 found on the run; None if it was not run.

        Raises:
            AttestError: they were found with another checkpoint. Older files do not name theirs, and are taken.
        """
        kept = self.on_trial.neutral
        if not kept.is_file():
            return None
        pools, ours = read_json(kept), checkpoint_digest(self.on_trial.best)
        if any(each.get("made_from", {}).get("checkpoint", ours) != ours for each in pools):
            raise AttestError(
                f"{kept} was made from another checkpoint than {self.on_trial.best}; expected the same checkpoint. "
                f"Put the old checkpoint back, or type: attest evidence --run {self.on_trial.path} E19 FORCE=1"
            )
        first, second = map(Neutral.of_plain, pools)
        return first, second


def _evidence_on(observation: Observation, neutral: Pools | None) -> dict[str, Tensor]:
    """Run on a batch the experiments that the report shows, and return their columns; predictions are the labels.

    Attention rollout cannot be replaced or permuted, so only experiments on tokens are run on it. Without neutral words of
    the corpus, nothing is said of what decides.
    """
    context = Context(observation.predicted, observation.ids, neutral=neutral)
    shown = [spec for spec in runnable().values() if spec.weights and (spec.of_tokens or observation.read_instead is None)]
    shown = [spec for spec in shown if spec.id != "E19" or neutral is not None]
    columns = {f"{INSTANCES}/attention": observation.explanation}
    for spec in shown:
        measured = replace(askable()[spec.id], settings=spec.when_explaining)(observation, context)
        columns |= {f"{spec.id}/{name}": values for name, values in measured.items()}
    return columns


KNOWN = ("attest.", "torch.", "pytorch_lightning.")
"""The prefixes of class paths that a configuration may name; others could run untrusted code."""
SECTIONS = ("model", "data", "experiments", "trainer")
"""The sections of a configuration from which objects are built, and whose class paths are therefore checked."""
DATA = "attest.datamodules."
"""The prefix of the class paths of Attest's DataModules; their options that are strings name no class and are not checked."""
IMPORTABLE = re.compile(r"(?<![\w./-])[^\W\d]\w*(?:\.[^\W\d]\w*)+(?![\w/-])")
"""Matches each dotted name in the text of a stored configuration, such as ``os.path``. LightningCLI could import such a name
as a class, so each one is checked."""
IDENTITY = re.compile(r"[\w-]+")
"""Matches the names that an experiment in a configuration may have; the name becomes that of a file."""


def strange_class(settings: dict[str, Any], trusted: Iterable[str] = ()) -> str | None:
    """Return the first class named in the settings that could run untrusted code; None if there is none."""
    known = (*KNOWN, *(f"{module}." if module else "" for module in trusted))
    built, data = {name: settings.get(name) for name in SECTIONS}, settings.get("data")
    if isinstance(data, dict) and str(data.get("class_path")).startswith(DATA) and isinstance(data.get("init_args"), dict):
        built["data"] = [value for value in data["init_args"].values() if not _are_words(value)]
    return next((path for path in IMPORTABLE.findall(str(built)) if not path.startswith(known)), None)


def require_trusted(settings: dict[str, Any], trusted: Iterable[str], where: str) -> None:
    """Refuse settings that name an unknown class, or an experiment whose file would lie outside the folder of the run."""
    if strange := strange_class(settings, trusted):
        raise AttestError(
            f"{where} would run the code of {strange}, which belongs neither to Attest nor to torch; expected a run without "
            f"code of its own. If you trust this code, add --trust {strange.rpartition('.')[0]}"
        )
    if unsafe := [name for name in settings["experiments"] if not IDENTITY.fullmatch(str(name))]:
        raise AttestError(
            f"{where} names an experiment {unsafe[0]!r}; expected a name of letters, digits, - and _ only, such as E2."
        )


def _are_words(value: Any) -> bool:
    """Return whether a setting is a string or a list of strings, such as ``train.csv``, and so names no class."""
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value))
