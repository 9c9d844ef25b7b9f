"""The base class of callbacks that run an experiment and write its table."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, cast

import pandas as pd
import torch
from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.loggers import WandbLogger
from torch import Tensor

from attest.callbacks.of_transformers import OBSERVED, OfTransformers, model_in
from attest.callbacks.progress import show_running
from attest.callbacks.running import GIVE_IDS, EvaluatedSplit, RunningBatch, all_gather
from attest.core.bounds import require_bounds
from attest.core.errors import AttestError
from attest.core.labels import names_said_by
from attest.core.measures import summarise
from attest.core.memory import longest_quadratic
from attest.core.modes import full_float32
from attest.datamodules.encoded import EncodedDocuments
from attest.datamodules.notice import say
from attest.evidence import Engine
from attest.experiments.deciding.experiment import neutral_in, texts_for_pools
from attest.experiments.erasure import Background
from attest.experiments.registry import EXPERIMENTS, ConfiguredExperiment, own_experiment, require_declared
from attest.experiments.rows import joined
from attest.experiments.spec import Spec
from attest.models.contract import require_finite_logits
from attest.models.layers_observed import LayerObservation
from attest.models.observation import Observation
from attest.runs.folder import RunFolder, Stopped

Batch = Any
"""A batch in whatever form the trainer's data loader returns. Attest's own data loaders return dictionaries, which
``TextDataModule`` describes."""
Columns = dict[str, Tensor]
IDENTITY = ("id", "loader", "label", "predicted", "length")
"""The columns of a table that identify the text of each row and say what the model decided; all other columns are results of
the experiment."""


class Evidence(Callback):
    """A callback that runs an experiment on the whole test split, and on a part of each validation split.

    It works in any ``Trainer`` whose LightningModule has a method ``observe(batch)`` with the result of
    ``attest.experiments.observe``; or, for attention inside layers, contains exactly one model of the library transformers
    that classifies texts or tokens. A subclass sets ``id`` and ``experiment``, or defines ``measure`` if a single function is
    not enough; ``Experiment`` takes ``id`` and ``experiment`` as arguments.

    The table has one row per instance: ``id`` (row in the source), ``label`` if it is known, ``predicted`` (taggers have
    neither), ``length`` (number of real tokens, or of sentences if attention is over sentences), the columns that the
    experiment returns, and ``loader`` if the trainer has several loaders. Means are logged as
    ``<id>/validation/<column>/mean``, and, if the table is not written to the folder of a run, as ``<id>/test/<column>/mean``.

    Args:
        every_n_epochs: the experiment runs at validation end of every n-th epoch; 0 for never.
        validation_instances: about how many validation instances are used, in whole batches; the split is cut into equal
            parts, and one batch is drawn from each. 0 for none.
        options: options of the experiment, by the names of its parameters; None leaves the experiment's own default.
    Raises:
        AttestError: the experiment does not have one of the options.
    """

    id: str
    """The id of the experiment, such as ``E1``. Its table's file is named by it, the names of its metrics begin with it, and
    reports use it."""

    experiment: ConfiguredExperiment | Callable[..., Columns] | None = None
    """What to run: an experiment of the registry, or a function, wrapped in ``staticmethod``, whose arguments are an
    observation, the data that ``reads`` names, and options. None if the class defines the method ``measure`` instead."""

    reads: Sequence[str] | None = None
    """The names of the fields of ``Context`` that the function in ``experiment`` gets. None: those that parameters of the
    function are named after."""

    observes: ClassVar[str] = "observe"
    """The name of the method of the LightningModule that takes a batch and returns the observation (what a forward pass
    computed) for the experiment."""

    def __init__(self, every_n_epochs: int = 1, validation_instances: int = 256, **options: Any) -> None:
        self.every_n_epochs = every_n_epochs
        self.validation_instances = validation_instances
        self.asked = self._asked()
        """The experiment that runs, with the names of the data that it needs; None if the class defines the method ``measure``
        instead."""
        self.options = {name: value for name, value in options.items() if value is not None}
        if self.asked is not None:
            known = self.asked.defaults
            if unknown := [option for option in options if option not in known]:
                raise AttestError(
                    f"{self.id} has no option {unknown[0]!r}; the options of {self.asked.run.__name__} are: "
                    f"{', '.join(known) or 'none'}. Leave {unknown[0]!r} out."
                )
            require_declared(self.options, self.asked.run, f"the option `{{}}` of {self.id}".format)
        self.folder: RunFolder | None = None
        """The folder of the run, into which the table of the test texts is written. None if there is no such folder; the rows
        are then in ``table``."""
        self.table: pd.DataFrame | None = None
        """The rows of the last validation or test, of all ranks together, on each rank. None if they were written into the
        folder of the run."""
        self.engine = Engine()
        """The object that runs the experiment on each batch, and collects its rows until the validation or test ends."""
        self.validation_seconds: float | None = None
        """How long the experiment may take in one validation, in seconds. If it takes longer, it is left out of all later
        validations. None for no limit."""
        self.enabled_on_test = True
        """Whether the experiment runs when the test split is read. It is switched off, for example, if the run already has its
        table."""
        self.seconds = 0.0
        """The seconds that the experiment took in the last validation or test, in this process."""
        self._running = RunningBatch()
        self._too_slow = False

    @property
    def draws_a_sample(self) -> bool:
        """Return whether some columns of the experiment come from a sample of the test texts."""
        return self.asked is not None and self.asked.samples

    def _asked(self) -> ConfiguredExperiment | None:
        own = self.experiment
        return own if own is None or isinstance(own, ConfiguredExperiment) else own_experiment(self.id, own, self.reads)

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the names of the methods that the LightningModule must offer."""
        return (self.observes,)

    def observe(self, pl_module: LightningModule, batch: Batch) -> Any:
        """Return what the model computes on the current batch; None if the batch is left out of the experiment."""
        return self._running.observe(pl_module, self.observes)

    def measure(self, observation: Any, batch: Batch, trainer: Trainer) -> Columns:
        """Run the experiment on a batch; return columns with a number per text ``(B,)`` or per token ``(B, T)``."""
        if self.asked is None:
            raise NotImplementedError(f"{type(self).__name__} must set experiment, or define the method measure.")
        asked = self.asked.reads
        if "background" in asked:
            self._read_training_tokens(trainer, observation)
        if "neutral" in asked:
            self._find_neutral_words(trainer, observation)
        context = self.engine.context(
            labels=self.labels(observation) if "labels" in asked else None,
            everyone=self.split.everyone(observation) if "everyone" in asked else None,
            seed=seed_of(trainer),
            truth=rationale_of(observation, batch) if "truth" in asked else None,
        )
        at_validation = {} if self._spec is None or trainer.testing else dict(self._spec.at_validation)
        return self.engine.columns(replace(self.asked, settings=self.options | at_validation), observation, context)

    @property
    def _spec(self) -> Spec | None:
        spec = EXPERIMENTS.get(self.id)
        return spec if spec is not None and self.asked is not None and spec.run is self.asked.run else None

    def _find_neutral_words(self, trainer: Trainer, observation: Observation | LayerObservation) -> None:
        """Search for neutral words once an epoch: in training texts, or in this batch if there are none to draw from."""
        if self.engine.neutral is not None:
            return
        train, seed = _training_texts_of(trainer), seed_of(trainer)
        parts: list[Observation | LayerObservation] = [observation, observation]
        if train is not None:
            ids = torch.tensor(train.ids)
            rows = [torch.isin(ids, each).nonzero().squeeze(-1).tolist() for each in texts_for_pools(ids, seed)]
            parts = [self._observed(trainer.lightning_module, train.__getitems__(each)) for each in rows]
            parts = [self.engine.explained(each) if isinstance(each, Observation) else each for each in parts]
        first, second = (neutral_in(each, seed) for each in parts)
        self.engine.neutral = first, second

    def _observed(self, pl_module: LightningModule, batch: Batch) -> Observation | LayerObservation:
        """Return what the model computes on a batch that is not the current one."""
        batch = pl_module.transfer_batch_to_device(batch, pl_module.device, 0)
        with torch.inference_mode(False):
            return self.together(*(getattr(pl_module, method)(batch) for method in self.methods))

    @staticmethod
    def together(first: Any, *others: Any) -> Any:
        """Return what the experiment is asked about, from what each of ``methods`` returned for a batch."""
        return first

    def _read_training_tokens(self, trainer: Trainer, observation: Observation | LayerObservation) -> None:
        train = _training_texts_of(trainer)
        if self.engine.background is None and train is not None and observation.tokens.ndim == 2:
            self.engine.background = Background(*train.flat).to(observation.tokens.device)

    def labels(self, observation: Any) -> Tensor:
        """Return the true labels of B texts, int64 ``(B,)``, or the true tags of their T tokens, ``(B, T)``."""
        if observation.labels is None:
            raise AttestError(
                f"{self.id} ({type(self).__name__}) compares decisions with gold labels, but the batch has no labels; "
                'expected labels in the observation or in batch["label"]. Pass labels= to attest\'s observe.'
            )
        return observation.labels

    def complete(self, rows: pd.DataFrame, trainer: Trainer) -> pd.DataFrame:
        """Add to the test table columns that the experiment does not compute, such as the tokens."""
        return rows

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Check module and settings, and share forward passes with the trainer's other experiments."""
        require_bounds(vars(self) | self.options, f"the setting `{{}}` of {self.id}".format)
        first, *_ = *_evidence_of(trainer), self
        self._running = first._running
        missing = [method for method in self.methods if not callable(getattr(pl_module, method, None))]
        if not missing:
            return
        model = model_in(pl_module)
        if model is None:
            raise AttestError(
                f"{self.id} ({type(self).__name__}) needs the method {missing[0]}(batch), which the LightningModule "
                f"{type(pl_module).__name__} does not have; expected a method that returns an observation of the batch. See "
                "“Your own Trainer” in the documentation."
            )
        if not {*missing} <= {*OBSERVED}:
            raise AttestError(
                f"{self.id} ({type(self).__name__}) needs attention that pools the tokens, but {type(model).__name__} has "
                "attention inside layers; expected a callback of attest.callbacks.layers, such as LayerPermutation, or "
                "FeatureImportance('rollout')."
            )
        if self._running.of_transformers is None or self._running.of_transformers.network.model is not model:
            self._running.of_transformers = OfTransformers(model)

    def on_validation_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Batch, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        self._running.leave()

    on_test_batch_start = on_validation_batch_start

    def on_validation_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Batch, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        if self._due(trainer):
            split = self._running.enter(trainer, outputs, batch, batch_idx, dataloader_idx)
            if split.number_among_ranks(batch_idx) in split.sampled_batches(self.validation_instances):
                self._collect(trainer, pl_module, batch)

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self._due(trainer):
            self.table, _ = self._gather()
            self._log_means(pl_module, "validation", self.table)
            if trainer.is_global_zero:
                self._name_missed(self.table)
            self._leave_out_if_slow(trainer, len(self.table))

    def on_test_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Batch, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        if self.enabled_on_test:
            self._running.enter(trainer, outputs, batch, batch_idx, dataloader_idx)
            self._collect(trainer, pl_module, batch)

    def on_test_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not self.enabled_on_test:
            return
        rows, engine = self._gather()
        rows = self.complete(rows, trainer)
        self._name_left_out(rows)
        missing = int((rows["label"] < 0).sum()) if "label" in rows else 0
        if missing and self.asked is not None and "labels" in self.asked.reads:
            say(f"{self.id}: {missing} of {len(rows)} texts have no label; whether they are decided rightly is undefined.")
        if self.folder is None:
            self.table = rows
            self._log_means(pl_module, "test", rows)
            if trainer.is_global_zero:
                log_table(trainer, self.id, rows)
        else:
            self.write(self.folder, trainer, rows, self.seconds)
            if trainer.is_global_zero and (each := engine.clock.a_text()):
                self.folder.note(seconds_a_text=each)

    def write(
        self, folder: RunFolder, trainer: Trainer, rows: pd.DataFrame, seconds: float, stopped: Stopped | None = None
    ) -> None:
        """Write the test table into a run folder, with the time that it took, and log it; only the first process does so.

        Args:
            rows: the rows of all processes.
            seconds: how long they took in this process.
            stopped: to which precision the means are known, if not all texts were read.
        """
        if trainer.is_global_zero:
            folder.write_evidence(self.id, rows, stopped)
            part = f"evidence/{self.id}"
            folder.note(seconds={part: seconds}, processes={part: trainer.world_size})
            log_table(trainer, self.id, rows)

    def _log_means(self, pl_module: LightningModule, stage: str, rows: pd.DataFrame) -> None:
        means = {key: value for key, value in summarise(rows, by=None).items() if key.endswith("/mean")}
        pl_module.log_dict({f"{self.id}/{stage}/{key}": value for key, value in means.items()}, rank_zero_only=True)

    def _name_left_out(self, rows: pd.DataFrame) -> None:
        longest = longest_quadratic()
        count = int((rows["length"] > longest).sum())
        if self._spec is not None and self._spec.quadratic and count:
            limits = "attest.core.memory.set_memory_budget sets this limit."
            if self.folder is not None:
                again = f"attest evidence --run {self.folder.path} {self.id} FORCE=1"
                limits = (
                    "--run.max_evidence_tokens=<number> and --run.memory_gib=<number> set this limit. To compute the table "
                    f"again, add them to: {again}"
                )
            say(
                f"{self.id}: {self._spec.quadratic} skipped for {count} of {len(rows)} texts, which have more than "
                f"{longest:,} tokens. {limits}"
            )

    def _name_missed(self, rows: pd.DataFrame) -> None:
        """Say that the sample of the experiment holds none of the validation texts that were read, if this is so."""
        measured = rows.drop(columns=[*IDENTITY], errors="ignore")
        if self.draws_a_sample and len(rows) and measured.isna().all(axis=None):
            say(
                f"{self.id}: no mean at validation end, because its random sample of texts holds none of the {len(rows)} "
                f"validation texts that were read. Read more of them, --experiments.{self.id}.init_args.validation_instances="
                f"<number>, or draw a larger sample, --experiments.{self.id}.init_args.texts=<number>"
            )

    def _leave_out_if_slow(self, trainer: Trainer, texts: int) -> None:
        if self.validation_seconds is None:
            return
        seconds = max(all_gather(self.seconds))  # every rank must decide alike
        self._too_slow = seconds > self.validation_seconds
        if self._too_slow and trainer.is_global_zero:
            say(
                f"{self.id} took {seconds:.1f} s on {texts} validation texts, more than the {self.validation_seconds:g} s of "
                "--run.validation_seconds. It is left out of all further validations, but not of the test."
            )

    @property
    def state_key(self) -> str:
        return f"{type(self).__qualname__}-{self.id}"

    def state_dict(self) -> dict[str, Any]:
        """Return whether the experiment was too slow for further validations; a resumed run leaves it out, too."""
        return {"too_slow": True} if self._too_slow else {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take up what ``state_dict`` has returned."""
        self._too_slow = state_dict.get("too_slow", False)

    def _due(self, trainer: Trainer) -> bool:
        if self._too_slow or trainer.sanity_checking or not self.every_n_epochs or not self.validation_instances:
            return False
        return trainer.current_epoch % self.every_n_epochs == 0

    def _collect(self, trainer: Trainer, pl_module: LightningModule, batch: Batch) -> None:
        if trainer.testing:
            show_running(trainer, self.id, [each.id for each in _evidence_of(trainer) if each.enabled_on_test])
        with self.engine.timed(self.id), full_float32():
            observation = self.observe(pl_module, batch)
            if observation is None:
                return
            require_finite_logits(observation.logits, observation.ids, observation.mask)
            with torch.inference_mode(False):
                observation = self.engine.explained(observation)
                columns = self.measure(observation, batch, trainer)
            self.engine.keep(self.id, self._identity(observation) | columns, observation.mask)

    def _identity(self, observation: Any) -> Columns:
        identity = {"id": observation.ids}
        if not self.split.alone:
            identity["loader"] = torch.full_like(observation.ids, self.split.place)
        for name, values in {"label": observation.labels, "predicted": observation.predicted}.items():
            if values is not None and values.ndim == 1:
                identity[name] = values
        return identity | {"length": observation.mask.sum(dim=-1)}

    @property
    def split(self) -> EvaluatedSplit:
        """Return the split of the current batch, or of the last batch if there is no current one."""
        assert self._running.split is not None, "there is no split before the first batch"
        return self._running.split

    def _gather(self) -> tuple[pd.DataFrame, Engine]:
        """Return the rows of all ranks, and the engine of this one; the next epoch has another model, and a new engine."""
        engine, self.engine = self.engine, Engine(self.engine.reading, self.engine.background)
        self.seconds = engine.seconds[self.id]
        self._running.leave()
        return each_once([joined(shard) for shard in all_gather(engine.take(self.id)) if shard]), engine


def seed_of(trainer: Trainer) -> int:
    """Return the seed of random draws, from the DataModule or else from ``seed_everything``; the default is 0."""
    seed = getattr(datamodule_of(trainer), "seed", None)
    return int(os.environ.get("PL_GLOBAL_SEED", 0)) if seed is None else seed


def datamodule_of(trainer: Trainer) -> Any:
    """Return the DataModule of a trainer; None if it has none."""
    return trainer.datamodule  # type: ignore[attr-defined]  # Lightning sets it outside the class


def _training_texts_of(trainer: Trainer) -> EncodedDocuments | None:
    """Return the training texts of the DataModule of a trainer; None if there is none, or if it is none of Attest's."""
    train = getattr(datamodule_of(trainer), "train", None)
    return train if isinstance(train, EncodedDocuments) else None


def rationale_of(observation: Any, batch: Batch) -> Tensor | None:
    """Return the mask of the tokens that decide the label, bool ``(B, T)``; None if the batch has no such mask."""
    rationale = batch.get("rationale") if isinstance(batch, Mapping) else None
    return rationale if rationale is not None and rationale.shape == observation.mask.shape else None


def class_names(trainer: Trainer, count: int) -> list[str]:
    """Return the class names from the DataModule or LightningModule; without names, the class numbers."""
    offered = map(names_said_by, (datamodule_of(trainer), trainer.lightning_module))
    return [str(name) for name in next((names for names in offered if names is not None), range(count))]


def each_once(shards: list[pd.DataFrame]) -> pd.DataFrame:
    """Join the rows of all ranks, and drop instances that a distributed sampler has repeated."""
    if not shards:
        return pd.DataFrame({"id": [], "length": []}, dtype=int)  # of a sample without texts
    rows = joined(shards)
    key = [name for name in ("loader", "id") if name in rows]
    same = [*key, *(name for name in ("label", "length") if name in rows)]
    again = rows.duplicated(key)
    if any(shard.duplicated(key).any() for shard in shards) or (again & ~rows.duplicated(same)).any():
        raise AttestError(
            f"several instances have the id {rows['id'][again].iloc[0]}; expected a different id for each instance. {GIVE_IDS}"
        )
    return rows[~again.to_numpy()].sort_values(key, ignore_index=True)


def log_table(trainer: Trainer, experiment: str, rows: pd.DataFrame) -> None:
    """Log the numeric columns of a table to Weights & Biases if the trainer has a ``WandbLogger``."""
    for logger in trainer.loggers:
        if isinstance(logger, WandbLogger):
            numbers = rows.select_dtypes(["number", "bool"])
            cells = numbers.astype(object).to_numpy().tolist()  # W&B would look up each in the table of pandas
            logger.log_table(f"{experiment}/table", columns=[*numbers], data=cells)


def _evidence_of(trainer: Trainer) -> list[Evidence]:
    return [each for each in cast(Any, trainer).callbacks if isinstance(each, Evidence)]
