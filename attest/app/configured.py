"""A run that LightningCLI has parsed and checked, with its folder. Data, model and Trainer are made when they are needed."""

import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, NoReturn

import torch
import yaml
from jsonargparse import Namespace, get_loader, set_loader
from lightning_utilities.core.rank_zero import rank_zero_only
from pytorch_lightning import Callback, LightningDataModule, LightningModule, Trainer
from pytorch_lightning.callbacks import EarlyStopping, ProgressBar
from pytorch_lightning.cli import LightningArgumentParser, LightningCLI
from pytorch_lightning.strategies import DDPStrategy
from pytorch_lightning.strategies.launchers import _MultiProcessingLauncher

from attest import datamodules
from attest.callbacks.by_id import callback_of
from attest.callbacks.checkpoints import AtomicCheckpointIO, BestCheckpoint, LastCheckpoint, RandomState
from attest.callbacks.finite import EndAtOnce, FiniteLoss, StepSize
from attest.callbacks.progress import Curves, EpochLines, EvidenceProgress, FirstBatches, terminal
from attest.core.attention import Projection
from attest.core.bounded_yaml import YAML, bounded
from attest.core.bounds import require_bounds, require_finite
from attest.core.errors import AttestError, as_user_error, unknown_choice
from attest.core.kinds import CLASSES, TAGS
from attest.core.memory import set_memory_budget
from attest.core.spelled import spelled
from attest.datamodules import TextDataModule
from attest.datamodules.record import DataRecord, expecting
from attest.experiments.registry import EXPERIMENTS
from attest.lightning_modules.guided import FixedAttention
from attest.models.traits import network_in, traits_of
from attest.report.tracking.loggers import (
    ContinuedLog,
    EpochAxes,
    grouping,
    point_loggers,
    tell_what_is_sent,
    without_deprecated,
)
from attest.runs.asked import AskedRun, RunSettings, differing_keys, identity, run_path
from attest.runs.belonging import keep_digests, outdated_tables, require_files
from attest.runs.capabilities import declared, learned_by
from attest.runs.choices import plain_help
from attest.runs.experiment_settings import is_own_class
from attest.runs.folder import INSTANCES, MAPS, TAGGED, RunFolder, read_json, write_json, write_text
from attest.runs.identity import RunIdentity
from attest.runs.shapes import RECORD
from attest.runs.versions import environment, quieten

BY_SHORT_NAME = [getattr(datamodules, name) for name in datamodules.__all__]
"""The DataModule classes. They are imported here so that LightningCLI finds each of them by its class name alone, as in
``--data=SstDataModule``."""
LINKED = ("vocab_size", "num_classes", "label_names", "positive_weight", "pretrained_embeddings")
"""The arguments of the model that LightningCLI takes from the DataModule, such as the size of the vocabulary; users do not
type them."""
KNOWN = (INSTANCES, MAPS, TAGGED, *EXPERIMENTS)
"""The names that may stand in the section ``experiments`` of a configuration, each the name of a result table: texts,
attention maps, tagged sentences, and all experiments. With the value ``null`` a run does not make the table."""
BY_PREDICTED = {CLASSES.label: CLASSES, TAGS.label: TAGS}
"""The kind of a model's decisions, by the value of the attribute ``predicts`` of the run's LightningModule."""
DESCRIPTION = (
    "Attention on trial. Choices such as DATA=sst MODEL=bilstm PROJECTION=sparsemax SEED=1 FORCE=1 stand for the files "
    "below configs/. Beside the subcommands below: `attest evidence --run <run folder> E3 E12` computes experiments on a "
    "trained run."
)
PARSER_MODE = "attest"
set_loader(PARSER_MODE, lambda text: get_loader("yaml")(bounded(text)), (yaml.YAMLError,))


class Parser(LightningArgumentParser):
    """A parser of LightningCLI that raises its errors instead of printing them."""

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        said = message.strip()  # that of a class within another holds the sentence already
        help_ = f"`{spelled('fit', '--help all')}` lists the options."
        raise AttestError(said if help_ in said else f"{said}\n{help_}") from ex

    def format_help(self, *args: Any, **kwargs: Any) -> str:
        self.description = None  # Lightning's own, which it cuts within a sentence
        return plain_help(super().format_help(*args, **kwargs).removeprefix(self.format_usage()))

    def parse_args(self, *args: Any, **kwargs: Any) -> Namespace:  # type: ignore[override]  # hands on whatever it is given
        config = super().parse_args(*args, **kwargs)
        if "experiments" in config:  # that of a subcommand, not the one of all
            for given in config.experiments.values():
                if given and config.run.max_search_steps and isinstance(given.get("steps"), int):
                    given["steps"] = min(given["steps"], config.run.max_search_steps)
            write_whole_numbers(config)
        return config


BATCHES = ("limit_train_batches", "limit_val_batches", "limit_test_batches", "overfit_batches", "val_check_interval")
"""The Trainer options that count batches: an int is a number of batches, a float a share of all batches. They are checked
together, because 1 and 1.0 mean different things there."""


def write_whole_numbers(settings: Any, typed: Mapping[str, Any] | None = None) -> None:
    """Replace whole floats above 1, such as 2.0, by integers in Trainer options that count something.

    Lightning's type is ``int | float``, but if another module wrote ``float | int`` before, Python's typing uses that order.
    The name of a run must not depend on which modules were imported.

    Args:
        typed: the Trainer options as they were typed. A typed 1 is one batch, and 1.0 is all batches: the parser takes both
            for 1.0.
    """
    trainer, typed = settings.get("trainer", {}), typed or {}
    for name in (*BATCHES, "gradient_clip_val"):
        value = trainer.get(name)
        is_one = name in BATCHES and value == 1.0 and type(typed.get(name)) is int
        if is_one or (isinstance(value, float) and value > 1 and value.is_integer()):
            trainer[name] = int(value)


class ConfiguredRun(LightningCLI):
    """A run that is described by the user's command, with its settings and its folder."""

    needs_data = True
    """Whether the command reads the texts of the splits. False if it needs only the vocabulary and the class names."""

    def __init__(self, command: str, asked: AskedRun) -> None:
        quieten()
        self.asked = asked
        super().__init__(
            LightningModule,
            LightningDataModule,
            subclass_mode_model=True,
            subclass_mode_data=True,
            save_config_callback=None,
            trainer_defaults={"inference_mode": False, "use_distributed_sampler": False},
            seed_everything_default=0,
            parser_class=Parser,
            parser_kwargs={"prog": "attest", "description": DESCRIPTION, "parser_mode": PARSER_MODE, "allow_abbrev": False},
            auto_configure_optimizers=False,
            load_from_checkpoint_support=False,
            args=[command, *asked.arguments],
        )
        write_whole_numbers(self.config[self.subcommand] if self.subcommand else self.config, asked.settings.get("trainer"))

    def _set_seed(self) -> None:
        """Do nothing while LightningCLI parses: ``prepared`` sets the seed later."""

    def instantiate_classes(self) -> None: ...

    def _run_subcommand(self, subcommand: str) -> None: ...

    @contextmanager
    def prepared(self) -> Iterator[None]:
        """Prepare the run for the ``with`` block: set the seed, and make data, model and Trainer if they are needed."""
        with ExitStack() as self._held:
            require_bounds({"seed": self.config[self.subcommand].seed_everything}, lambda _: "the seed")
            super()._set_seed()
            self.set_up()
            if not self.nothing_to_do:
                self.make()
            yield

    @staticmethod
    def subcommands() -> dict[str, set[str]]:
        commands = LightningCLI.subcommands()
        return {name: commands[name] for name in ("fit", "validate", "test")}

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        parser.add_class_arguments(RunSettings, "run")
        parser.add_argument(
            "--experiments",
            type=dict[str, dict[str, Any] | None],
            default={},
            help="Settings of each experiment by its id, as in --experiments.E2.permutations=20; null leaves it out.",
        )
        parser.link_arguments("seed_everything", "data.init_args.seed")
        for name in LINKED:
            parser.link_arguments(f"data.{name}", f"model.init_args.{name}", apply_on="instantiate")

    def parse_arguments(self, parser: LightningArgumentParser, args: Any) -> None:
        self.config = parser.parse_args(args)

    def _parse_ckpt_path(self) -> None:
        """Do nothing, so that settings come from the configuration and not from a checkpoint."""

    def locate(self) -> None:
        """Set the attributes ``settings``, ``run`` and ``folder`` from the parsed configuration."""
        self.settings = self.resolved(self.config)
        self.run = self.config[self.subcommand].run
        path = run_path(self.asked.settings, self.settings["run"], self.run.root, self.settings["seed_everything"])
        self.folder = RunFolder(path)

    def expected_evidence(self) -> list[str]:
        """Return the ids of the tables that a complete run must have."""
        return [experiment for experiment, given in self.settings["experiments"].items() if given is not None]

    def set_up(self) -> None:
        """Find the folder and earlier results of the run, and set the number of threads and the memory budget."""
        self.locate()
        require_finite(self.settings)
        for part in ("run", "trainer"):
            require_bounds(self.settings[part], f"{part}.{{}}".format)
        for experiment, given in self.settings["experiments"].items():
            if experiment not in KNOWN and (given is None or not is_own_class(given)):
                raise unknown_choice("The experiment", experiment, KNOWN, spelled("fit", "--experiments.{}=null"))
            require_bounds(given or {}, f"experiments.{experiment}.{{}}".format)
        require_work(self.config[self.subcommand].trainer, str(self.subcommand))
        torch.set_num_threads(self.run.threads)
        set_memory_budget(self.run.memory_gib, self.run.max_evidence_tokens)
        self.expected_tables = self.expected_evidence()
        believed = self._believed()
        require_files(*believed)
        if not self.run.force:
            self._require_same_configuration()
        self.made_from = believed[0] if believed else None
        self.record: DataRecord | None = None
        if self.made_from is not None and self.made_from.data.is_file():
            self.record = DataRecord.from_plain(read_json(self.made_from.data, RECORD))
        complete = self.folder.complete(self.expected_tables, self.run.until) and not self.run.force
        complete = complete and not outdated_tables(self.folder, self.settings["experiments"])
        self.nothing_to_do = self.subcommand == "fit" and complete and not (self.record and self.record.touched())
        known = self.folder.timing.is_file() and not self.run.force
        self.wandb_id = (read_json(self.folder.timing).get("wandb_id") if known else None) or secrets.token_hex(4)
        if self.subcommand == "fit":
            loggers, name = self.config.fit.trainer.logger, str(self.folder.path.relative_to(self.run.root))
            self.texts_logged = self.run.upload_texts or declared(self.settings["data"], "texts_are_public", False)
            group = grouping(self._identity(), self.run)
            point_loggers(loggers, self.folder, name, self.wandb_id, group, self.texts_logged)
        else:
            self.config[self.subcommand].trainer.logger = False

    def _identity(self) -> RunIdentity:
        return RunIdentity.of(self.settings, self.folder.path.parent.name)

    def _believed(self) -> list[RunFolder]:
        """Return the folders whose files must be unchanged. The data must match the record in the first folder."""
        return [] if self.run.force else [self.folder]

    def resolved(self, config: Namespace) -> dict[str, Any]:
        """Return the configuration as plain values, without options of the subcommand such as ``ckpt_path``."""
        dumped = yaml.load(self.parser.dump(config, skip_unset=False, skip_validation=True), YAML)
        settings = dumped[self.subcommand] if self.subcommand else dumped
        write_whole_numbers(settings, self.asked.settings.get("trainer"))  # which writing them may have turned back
        return {key: value for key, value in settings.items() if key not in ("ckpt_path", "weights_only", "verbose")}

    def _require_same_configuration(self) -> None:
        if not self.folder.config.is_file():
            return
        theirs = self.folder.settings()
        if different := differing_keys(identity(self.settings), identity(theirs)):
            raise AttestError(
                f"{self.folder.path} contains a run with another configuration (different: {', '.join(different[:5])}); "
                "expected the same configuration. Add FORCE=1 to delete that run and start again, or keep it and choose "
                "another place: --run.root=<folder>"
            )

    @rank_zero_only
    def _open_folder(self) -> None:
        if self.run.force:
            with self.folder.claimed():
                self.folder.remove()
        self._held.enter_context(self.folder.claimed())
        kind = BY_PREDICTED.get(declared(self.settings["model"], "predicts", None))
        self._identity().store(self.folder, self.asked.typed, kind)
        self._write_settings(self.settings)
        if isinstance(self.datamodule, TextDataModule) and not self.folder.trained:
            write_json(self.folder.data, self.datamodule.record.plain())
        self.folder.note(environment=environment(), wandb_id=self.wandb_id)
        tell_what_is_sent(self.trainer.loggers, self.texts_logged)

    def _write_settings(self, settings: dict[str, Any]) -> None:
        ours = self.settings["experiments"]
        for outdated in outdated_tables(self.folder, ours):
            self.folder.evidence(outdated).unlink()
        known = self.folder.settings().get("experiments") or {} if self.folder.config.is_file() else {}
        kept = {name: given for name, given in known.items() if given is not None and ours.get(name) is None}
        write_text(self.folder.config, yaml.safe_dump(settings | {"experiments": ours | kept}, sort_keys=False))
        if self.folder.trained:
            keep_digests(self.folder)

    def make(self) -> None:
        """Make the DataModule, the model and the Trainer; lock and prepare the folder of a run that will be trained."""
        try:
            with expecting(self.record, "" if self.made_from is None else str(self.made_from.path)):
                super().instantiate_classes()
        except ValueError as error:
            raise as_user_error(error) or AttestError(f"the configuration cannot be built: {error}") from error
        if self.record is not None and self.needs_data:
            self.datamodule.require_expected()
        if self.subcommand == "fit":
            require_same_task(self.model, self.datamodule)
            self._open_folder()  # everything that can be wrong with configuration and data has been seen by now

    def instantiate_trainer(self, **kwargs: Any) -> Trainer:
        config = self.config_init[self.subcommand]
        asked = {name: given for name, given in config.experiments.items() if given is not None}
        self.experiments = {name: callback_of(name, given, config.model) for name, given in asked.items()}
        for evidence in self.experiments.values():
            evidence.validation_seconds = self.run.validation_seconds
            if not self.run.evidence_while_training:
                evidence.every_n_epochs = 0
        self.curves = Curves()
        ours = [
            *self.experiments.values(),
            self.curves,
            EpochAxes(),
            ContinuedLog(),
            RandomState(),
            FiniteLoss(),
            StepSize(),
            EndAtOnce(),
            LastCheckpoint(self.folder, self.run.checkpoint_every_n_batches),
            BestCheckpoint(self.folder, self.run.monitor, self.run.mode),
            FirstBatches(),
        ]
        theirs = config.trainer.callbacks or []
        theirs = [theirs] if isinstance(theirs, Callback) else theirs
        if self.run.patience is not None:
            theirs = [each for each in theirs if not isinstance(each, EarlyStopping)]
            by = {"monitor": self.run.monitor, "mode": self.run.mode, "patience": self.run.patience}
            ours.append(EarlyStopping(**by, check_finite=False))  # an undefined score is no better one
        has_bar = any(isinstance(each, ProgressBar) for each in theirs)
        kwargs["enable_progress_bar"] = config.trainer.enable_progress_bar is not False and (has_bar or terminal())
        lines = EvidenceProgress() if kwargs["enable_progress_bar"] else EpochLines(self.curves, self.run.monitor)
        callbacks = [*theirs, *ours, *([] if has_bar else [lines])]
        trainer = self._trainer(callbacks, **kwargs)
        _require_processes_that_stay(trainer, config.trainer.strategy)
        if strategy := _strategy_for(self.model, trainer, config.trainer.strategy):
            trainer = self._trainer(callbacks, strategy=strategy, **kwargs)
        _require_whole_weights(trainer.precision)
        without_deprecated(trainer.loggers)
        return trainer

    def _trainer(self, callbacks: list[Callback], **settings: Any) -> Trainer:
        return super().instantiate_trainer(callbacks=callbacks, plugins=[AtomicCheckpointIO(self.settings)], **settings)

    def another_trainer(self, **settings: Any) -> Trainer:
        """Return a new Trainer with the loggers and callbacks of the run, and with settings that the caller changes."""
        callbacks = list(self.trainer.callbacks)  # type: ignore[attr-defined]  # Lightning sets them outside the class
        bar = self.trainer.progress_bar_callback is not None
        return self._trainer(callbacks, enable_progress_bar=bar, **settings)

    @property
    def checkpoint(self) -> str | None:
        """Return the checkpoint that ``--ckpt_path`` names; None if the option is missing."""
        return self.config_init[self.subcommand].get("ckpt_path")

    def missing_evidence(self) -> list[str]:
        """Return the ids of the result tables that must still be computed; all ids if ``force`` is set."""
        outdated = outdated_tables(self.folder, self.settings["experiments"])
        missing = {*self.folder.missing_evidence(self.expected_tables, self.run.until), *outdated}
        return [table for table in self.expected_tables if self.run.force or table in missing]

    def after_testing(self) -> None:
        """Do nothing after the test. A subclass may compute further results from the tables here."""


WORK = {
    "fit": ("max_epochs", "max_steps", "max_time", "limit_train_batches", "limit_val_batches", "limit_test_batches"),
    "validate": ("limit_val_batches",),
    "test": ("limit_test_batches",),
}
"""For each command, the Trainer options that leave the command nothing to do if one of them is zero."""


def require_work(trainer: Namespace, subcommand: str) -> None:
    """Refuse options of the Trainer that leave nothing to train, validate or test."""
    for name in WORK[subcommand]:
        value = trainer.get(name)
        if value is not None and not re.search("[1-9]", str(value)):
            raise AttestError(
                f"trainer.{name} is {value}, which leaves nothing to do; expected a value above 0. Leave the option out, or "
                f"type --trainer.{name}=<value above 0>"
            )
    if trainer.get("fast_dev_run"):
        raise AttestError(
            f"trainer.fast_dev_run is {trainer.fast_dev_run}, which keeps no checkpoint; expected a run that saves a model. "
            "Type CUT=smoke for a tiny run."
        )


def require_same_task(model: LightningModule, data: LightningDataModule) -> None:
    """Refuse a classifier for data with tags, and a tagger for data with labels."""
    if not isinstance(data, TextDataModule):  # somebody's own data, which tell nothing
        return
    _require_questions_read(network_in(model), data)
    learns = learned_by(model)
    if learns is None or data.corpus.train.has(learns):
        return
    label, tag = "one label for each text", "one tag for each word"
    there, taught, suited = (tag, label, "tagger") if learns == "label" else (label, tag, "bilstm")
    raise AttestError(
        f"the data have {there}, but {type(model).__name__} learns {taught}; expected a model for these data. Add "
        f"MODEL={suited} to the command."
    )


def _require_questions_read(network: Any, data: TextDataModule) -> None:
    asked, reads, among = data.has_questions, traits_of(network).reads_questions, traits_of(network).among_candidates
    if asked and not reads:
        raise AttestError(
            f"the data have a question for each text, and {type(network).__name__} does not read questions; expected a "
            "network that reads questions. Add MODEL=question-bilstm to the command."
        )
    if asked and data.has_candidates is not among:
        there, expected = ("name", "that chooses among the named answers. Add RECIPE=jw-cnn-qa to the command")
        if among:
            there, expected = ("do not name", "that chooses among all answers. Leave RECIPE=jw-cnn-qa out")
        raise AttestError(f"the passages {there} the possible answers; expected a network {expected}, or choose another DATA.")
    if reads and not asked:
        raise AttestError(
            f"the data have no questions, and {type(network).__name__} reads a question for each text; expected a corpus with "
            "questions. Add DATA=babi-generated to the command, or choose another MODEL."
        )


def _strategy_for(model: LightningModule, trainer: Trainer, typed: Any) -> str | None:
    """Return the strategy for a model some of whose parameters get no gradient, which plain DDP refuses; None for others.

    Args:
        trainer: the Trainer as it was asked for; Lightning chose DDP if it has several devices and no strategy was typed.
        typed: the strategy that was typed.
    """
    idle = any(isinstance(part, Projection) and not part.reads_scores for part in model.modules())
    unused = isinstance(model, FixedAttention) or idle  # training leaves the scores unused
    if not unused or not isinstance(trainer.strategy, DDPStrategy) or not isinstance(typed, str) or "unused" in typed:
        return None
    return f"{'ddp' if typed == 'auto' else typed}_find_unused_parameters_true"


def _require_processes_that_stay(trainer: Trainer, typed: Any) -> None:
    """Refuse strategies whose processes end with the training: the curves and tables that they have gathered end with them."""
    if isinstance(trainer.strategy.launcher, _MultiProcessingLauncher):
        raise AttestError(
            f"trainer.strategy is {typed if isinstance(typed, str) else type(trainer.strategy).__name__}, which starts its "
            "processes from this one and ends them after the training, with the curves and the evidence in them; expected a "
            "strategy whose processes stay. Type --trainer.strategy=ddp, which gives the same numbers"
        )


def _require_whole_weights(precision: str) -> None:
    if precision not in ("64-true", "32-true") and not precision.endswith("-mixed"):
        raise AttestError(
            f"trainer.precision is {precision}, and half precision is too coarse for what the experiments measure; expected "
            "64-true, 32-true, bf16-mixed or 16-mixed. Type --trainer.precision=bf16-mixed"
        )
