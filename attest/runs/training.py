"""``attest fit|validate|test``: LightningCLI with run folders.

``fit`` trains, gathers the evidence on the test split with the best checkpoint, sums up and reports; the same command takes
an unfinished run up where it stopped.
"""

import secrets
import time
from contextlib import ExitStack
from typing import Any

import torch
import wandb
import yaml
from jsonargparse import Namespace, get_loader, set_loader
from lightning_utilities.core.rank_zero import rank_zero_only
from pytorch_lightning import LightningDataModule, LightningModule, Trainer
from pytorch_lightning.callbacks import ProgressBar
from pytorch_lightning.cli import LightningArgumentParser, LightningCLI
from pytorch_lightning.utilities.exceptions import SIGTERMException

from attest.attention import Uniform
from attest.callbacks import Evidence
from attest.callbacks.axes import EpochAxes
from attest.callbacks.checkpoints import AtomicCheckpointIO, BestCheckpoint, LastCheckpoint, RandomState
from attest.callbacks.curves import Curves
from attest.callbacks.finite import FiniteLoss
from attest.callbacks.progress import EvidenceProgress
from attest.callbacks.termination import EndAtOnce
from attest.compute.memory import keep_freed_memory, set_memory_budget
from attest.errors import AttestError, mendable
from attest.report import illustrations, summarise_run, write_report
from attest.runs.choices import choice_arguments
from attest.runs.class_paths import current
from attest.runs.folder import RunFolder, read_json, write_json, write_text
from attest.runs.naming import RunSettings, differing_keys, require_positive, run_path, without_machine_keys
from attest.runs.parser_errors import readable_build_error, readable_parser_error
from attest.runs.versions import environment, peak_memory
from attest.tracking.loggers import log_report, point_loggers, without_deprecated

LINKS = ("vocab_size", "num_classes", "label_names", "positive_weight", "pretrained_embeddings")
"""What the model learns from the data."""


DESCRIPTION = (
    "Attention on trial. Choices such as DATA=sst MODEL=bilstm PROJECTION=sparsemax SEED=1 FORCE=1 stand for the files below "
    "configs/. Beside the subcommands below: `attest evidence --run <run folder> E3 E12` computes any experiment on something "
    "already trained, `attest data --check` counts the corpora."
)


PARSER_MODE = "attest"
"""How configuration files are read: as YAML, class paths of before the package was one among them."""
set_loader(PARSER_MODE, lambda text: get_loader("yaml")(current(text)), (yaml.YAMLError,))


class Parser(LightningArgumentParser):
    """Says in one sentence what was wrong with a configuration."""

    def error(self, message: str, ex: Exception | None = None) -> None:  # type: ignore[override]
        raise AttestError(readable_parser_error(message, self))


class AttestCLI(LightningCLI):
    """LightningCLI with run folders: named by the configuration, resumable, never done twice."""

    def __init__(self, arguments: list[str]) -> None:
        with ExitStack() as self._held:
            super().__init__(
                LightningModule,
                LightningDataModule,
                subclass_mode_model=True,
                subclass_mode_data=True,
                save_config_callback=None,
                trainer_defaults={"inference_mode": False, "use_distributed_sampler": False},
                seed_everything_default=0,
                parser_class=Parser,
                parser_kwargs={"prog": "attest", "description": DESCRIPTION, "parser_mode": PARSER_MODE},
                auto_configure_optimizers=False,
                load_from_checkpoint_support=False,
                args=[current(argument) for argument in arguments],
            )

    @staticmethod
    def subcommands() -> dict[str, set[str]]:
        commands = LightningCLI.subcommands()
        return {name: commands[name] for name in ("fit", "validate", "test")}

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        parser.add_class_arguments(RunSettings, "run")
        parser.add_argument("--analyses", type=dict[str, Evidence | None], default={}, help="Evidence to gather, by id.")
        parser.link_arguments("seed_everything", "data.init_args.seed")
        for name in LINKS:
            parser.link_arguments(f"data.{name}", f"model.init_args.{name}", apply_on="instantiate")

    def parse_arguments(self, parser: LightningArgumentParser, args: Any) -> None:
        self.config = parser.parse_args(args)

    def _parse_ckpt_path(self) -> None:
        """Hyper-parameters come from the configuration alone; a checkpoint that does not fit it is an error."""

    def locate(self) -> None:
        """From the configuration to the run's folder."""
        self.settings = self.resolved(self.config)
        self.run = self.config[self.subcommand].run
        self.folder = RunFolder(run_path(self.settings, self._reference()))

    def expected_evidence(self) -> list[str]:
        """Ids of the tables without which the run is not complete."""
        return [identity for identity, evidence in self.settings["analyses"].items() if evidence]

    def before_instantiate_classes(self) -> None:
        self.locate()
        require_positive(self.run)
        if self.config[self.subcommand].trainer.max_epochs == 0:
            raise AttestError("trainer.max_epochs is 0; expected a whole number from 1. Type --trainer.max_epochs=<number>")
        torch.set_num_threads(self.run.threads)
        set_memory_budget(self.run.memory_gib, self.run.max_evidence_tokens)
        keep_freed_memory()
        self.identities = self.expected_evidence()
        if not self.run.force:
            self._require_same_configuration()
        self.nothing_to_do = self.subcommand == "fit" and not self.run.force and self.folder.complete(self.identities)
        self.wandb_id = self._wandb_id()
        if self.subcommand == "fit":
            name = str(self.folder.path.relative_to(self.run.root))
            point_loggers(self.config.fit.trainer.logger, self.folder, name, self.wandb_id)
        else:
            self.config[self.subcommand].trainer.logger = False

    def _wandb_id(self) -> str:
        """The id of the run that is taken up, or a new one."""
        if self.folder.timing.is_file() and not self.run.force:
            return read_json(self.folder.timing)["wandb_id"]
        return secrets.token_hex(4)

    def resolved(self, config: Namespace) -> dict[str, Any]:
        """The configuration as plain values, without what the subcommand alone takes."""
        settings = yaml.safe_load(self.parser.dump(config, skip_unset=False, skip_validation=True))[self.subcommand]
        return {key: value for key, value in settings.items() if key not in ("ckpt_path", "weights_only", "verbose")}

    def _reference(self) -> dict[str, Any] | None:
        """What the configs of this run's readable name resolve to by themselves."""
        names = {name.upper(): getattr(self.run, name) for name in ("data", "model", "scoring", "projection", "recipe")}
        try:
            arguments = choice_arguments(names)
        except AttestError:
            return None
        return self.resolved(self.parser.parse_args([str(self.subcommand), *arguments]))

    def _require_same_configuration(self) -> None:
        """A folder of this name may stem from other versions of our configs."""
        if not self.folder.config.is_file():
            return
        theirs = self.folder.settings()
        if different := differing_keys(without_machine_keys(self.settings), without_machine_keys(theirs)):
            raise AttestError(
                f"{self.folder.path} holds a run of another configuration (it differs in {', '.join(different[:5])}); "
                "expected the same one. Add FORCE=1 to begin afresh, or keep both by giving this one another place: "
                "--run.root=<folder>"
            )

    @rank_zero_only
    def _open_folder(self) -> None:
        if self.run.force:
            with self.folder.claimed():
                self.folder.remove()
        self._held.enter_context(self.folder.claimed())
        self.folder.sweep()
        write_text(self.folder.config, yaml.safe_dump(self.settings, sort_keys=False))
        self.folder.note(environment=environment(), wandb_id=self.wandb_id)

    def instantiate_classes(self) -> None:
        if self.nothing_to_do:
            return
        try:
            super().instantiate_classes()
        except ValueError as error:
            raise mendable(error) or AttestError(readable_build_error(error)) from error
        if self.subcommand == "fit":
            self._open_folder()  # everything that can be wrong with configuration and data has been seen by now

    def instantiate_trainer(self, **kwargs: Any) -> Trainer:
        config = self.config_init[self.subcommand]
        self.analyses = {identity: evidence for identity, evidence in config.analyses.items() if evidence is not None}
        if not self.run.evidence_while_training:
            for evidence in self.analyses.values():
                evidence.every_n_epochs = 0
        self.curves = Curves()
        ours = [
            *self.analyses.values(),
            self.curves,
            EpochAxes(),
            RandomState(),
            FiniteLoss(),
            EndAtOnce(),
            LastCheckpoint(self.folder, self.run.checkpoint_every_n_batches),
            BestCheckpoint(self.folder, self.run.monitor, self.run.mode),
        ]
        theirs = config.trainer.callbacks or []
        silent = config.trainer.enable_progress_bar is False or any(isinstance(each, ProgressBar) for each in theirs)
        callbacks = [*theirs, *ours, *([] if silent else [EvidenceProgress()])]
        if config.trainer.strategy == "ddp" and _idle_parameters(self.model):
            kwargs["strategy"] = "ddp_find_unused_parameters_true"
        trainer = super().instantiate_trainer(callbacks=callbacks, plugins=[AtomicCheckpointIO()], **kwargs)
        without_deprecated(trainer.loggers)
        return trainer

    def _run_subcommand(self, subcommand: str) -> None:
        if self.nothing_to_do:
            print(f"complete: {self.folder.path} (FORCE=1 starts afresh)")
            _name_results(self.folder)
        else:
            super()._run_subcommand(subcommand)

    def fit(self, model: LightningModule, ckpt_path: str | None = None, **kwargs: Any) -> None:
        """Train unless that is done, gather what evidence is missing, sum up, report."""
        if self.run.force or not self.folder.trained:
            self._train(model, ckpt_path)
        self._gather_evidence(model)
        self._report()

    def _train(self, model: LightningModule, ckpt_path: str | None) -> None:
        resumed = self.folder.last.is_file() and not self.run.force
        _say(f"{'Taking up' if resumed else 'Training'} {self.folder.path}")
        for logger in self.trainer.loggers:
            logger.log_hyperparams(self.settings)
        started = time.perf_counter()
        checkpoint = str(self.folder.last) if resumed else ckpt_path
        try:
            self.trainer.fit(model, datamodule=self.datamodule, ckpt_path=checkpoint, weights_only=True)
        except SystemExit as stop:
            if self.trainer.interrupted and not isinstance(stop, SIGTERMException):
                raise KeyboardInterrupt from stop  # what Lightning has turned into an exit
            raise
        if self.trainer.is_global_zero:
            part = "train since the last stop" if resumed else "train"
            self.folder.note(seconds={part: time.perf_counter() - started})
            write_json(self.folder.curves, self.curves.epochs)

    def _gather_evidence(self, model: LightningModule) -> None:
        missing = self.identities if self.run.force else self.folder.missing_evidence(self.identities)
        if not missing and self.folder.summary.is_file():
            return
        for identity, evidence in self.analyses.items():
            evidence.folder, evidence.enabled_on_test = self.folder, identity in missing
        _say(f"Evidence on the test split: {', '.join(missing) or 'scores only'}")
        scores = self._test(model, str(self.folder.best))
        if self.trainer.is_global_zero:
            _say_seconds(self.folder, missing)
            monitored = (self.run.monitor, self.run.mode)
            write_json(self.folder.summary, summarise_run(self.folder, self.identities, scores, *monitored))

    @rank_zero_only
    def _report(self) -> None:
        self.folder.note(peak_memory=peak_memory())
        figures = illustrations(self.folder)
        write_report(self.folder, figures)
        log_report(self.trainer.loggers, self.folder, figures)
        _name_results(self.folder)

    def test(self, model: LightningModule, ckpt_path: str | None = None, **kwargs: Any) -> None:
        """Score the test split under the run's best checkpoint, or another; prints and writes nothing."""
        for evidence in self.analyses.values():
            evidence.enabled_on_test = False
        _print_scores(self._test(model, ckpt_path or str(self.folder.best)))

    def validate(self, model: LightningModule, ckpt_path: str | None = None, **kwargs: Any) -> None:
        """Score the validation split under the run's best checkpoint, or another; prints and writes nothing."""
        checkpoint = ckpt_path or str(self.folder.best)
        (scores,) = self.trainer.validate(model, self.datamodule, checkpoint, verbose=False, weights_only=True)
        _print_scores(scores)

    def _test(self, model: LightningModule, checkpoint: str) -> dict[str, float]:
        (scores,) = self.trainer.test(model, self.datamodule, checkpoint, verbose=False, weights_only=True)
        return dict(scores)


def _idle_parameters(model: LightningModule) -> bool:
    """Whether training leaves parameters without gradients, which plain DDP refuses: scores that no attention asks for."""
    return getattr(model, "attention_is_given", False) or any(isinstance(part, Uniform) for part in model.modules())


@rank_zero_only
def _say(sentence: str) -> None:
    print(sentence, flush=True)


def _say_seconds(folder: RunFolder, identities: list[str]) -> None:
    """What each experiment took."""
    seconds = read_json(folder.timing).get("seconds", {})
    known = [f"{name} {seconds[key]:.0f} s" for name in identities if (key := f"evidence/{name}") in seconds]
    if known:
        print(f"It took {', '.join(known)}.", flush=True)


@rank_zero_only
def _print_scores(scores: Any) -> None:
    for name, value in sorted(scores.items()):
        print(f"{name:<40} {value:.4f}")


@rank_zero_only
def _name_results(folder: RunFolder) -> None:
    print(f"Run folder: {folder.path}\nReport:     {folder.report}", flush=True)
    if wandb.run is not None and wandb.run.url:
        print(f"W&B:        {wandb.run.url}", flush=True)
    elif (folder.path / "wandb").is_dir():
        print(f"W&B:        wandb sync {folder.path}/wandb/offline-run-*", flush=True)
