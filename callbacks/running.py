"""The split that is evaluated, read from any torch loader, and its current batch."""

from collections.abc import Mapping, Sized
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import torch
from pytorch_lightning import LightningModule, Trainer
from pytorch_lightning.trainer.states import TrainerFn
from torch import Tensor, distributed
from torch.utils.data import BatchSampler, DistributedSampler, IterableDataset, SequentialSampler

from attest.callbacks.of_transformers import OfTransformers
from attest.core.errors import AttestError
from attest.core.labels import class_numbers
from attest.datamodules.corpus import KEY
from attest.experiments.layers import LayerObservation
from attest.experiments.sampling import Everyone
from attest.models.observation import Observation

GIVE_IDS = "Give every instance a number of its own in the data set, and pass these to attest's observe as ids."


class EvaluatedSplit:
    """The split that a data loader reads, with the number of its batches and the instances in each batch.

    Length and batch size are those of the torch loader. A loader may also offer ``batches_of_all_ranks``, an int, if ranks
    have different numbers of batches. A data set may offer ``ids``, int64 ``(N,)``, if these are not 0 … N - 1.

    Args:
        trainer: a trainer that is validating or testing.
        place: the number of the loader among the loaders of the trainer.
    """

    def __init__(self, trainer: Trainer, place: int = 0) -> None:
        loops: Any = {TrainerFn.VALIDATING: trainer.validate_loop, TrainerFn.TESTING: trainer.test_loop}
        loop = loops.get(trainer.state.fn, trainer.fit_loop.epoch_loop.val_loop)
        loaders = loop._combined_loader.flattened  # the trainer's own properties answer for fit, whatever runs
        self.loader = loaders[place]
        self.place = place
        self.alone = len(loaders) == 1
        """Whether the trainer has only this data loader. If it has several, tables get a column ``loader`` with the number of
        the loader."""
        self.rank, self.ranks = trainer.global_rank, trainer.world_size
        self.dataset: Any = getattr(self.loader, "dataset", None)
        declared = getattr(self.loader, "batches_of_all_ranks", None)
        self.batches: float = loop.max_batches[place] * self.ranks if declared is None else declared
        """The number of batches of this split, over all ranks together; infinity if it is not known."""
        self._sampler: Any = getattr(self.loader, "batch_sampler", None)
        self.batch_size = getattr(self._sampler, "batch_size", None) or getattr(self.loader, "batch_size", None) or 1
        """The largest number of instances in a batch; 1 if the data loader does not say it."""

    def sampled_batches(self, instances: int) -> np.ndarray:
        """Return the indices of random batches that together contain about ``instances`` instances.

        The split is cut into equal parts, and one batch is drawn at random from each; a loader without an end gives its first
        batches.
        """
        wanted = int(min(self.batches, -(-instances // self.batch_size)))
        if not np.isfinite(self.batches):
            return np.arange(wanted)
        ends = np.arange(wanted + 1) * int(self.batches) // wanted
        return ends[:-1] + (np.random.PCG64(KEY).random_raw(wanted) % np.diff(ends).astype(np.uint64)).astype(np.int64)

    def number_among_ranks(self, batch_idx: int) -> int:
        """Return the index of this rank's batch among the batches of all ranks."""
        return batch_idx * self.ranks + self.rank

    def rows_of_batch(self, batch_idx: int, count: int) -> Tensor:
        """Return the row numbers of a batch's instances in the data set, int64 ``(count,)``; they serve as ids."""
        if isinstance(self.dataset, IterableDataset) and self.ranks == 1 and self.loader.batch_size:
            return batch_idx * self.loader.batch_size + torch.arange(count)
        if self._rows_by_batch is None:
            processes = f" on {self.ranks} processes" if self.ranks > 1 else ""
            raise AttestError(
                f"the instances have no ids, and {type(self.loader).__name__} does not say{processes} which rows of its data "
                f"set are in a batch; expected ids, or a loader that goes through a data set in order. {GIVE_IDS}"
            )
        rows = self._rows_by_batch[batch_idx]
        if len(rows) != count:
            raise AttestError(
                f"the instances have no ids, and observe returns {count} rows for a batch of {len(rows)}; expected one row "
                f"for each instance. {GIVE_IDS}"
            )
        return torch.tensor(rows)

    @cached_property
    def _rows_by_batch(self) -> list[list[int]] | None:
        batches = self._sampler
        if type(batches) is not BatchSampler:
            return None
        rows = batches.sampler
        in_order = type(rows) is SequentialSampler or (type(rows) is DistributedSampler and not rows.shuffle)
        return list(batches) if in_order else None

    def everyone(self, observation: Any) -> Everyone:
        """Return the ids of all instances, or their number if ids are unknown; None if the data set has no length."""
        if not isinstance(self.dataset, Sized):
            return None
        count = len(self.dataset)
        known = getattr(self.dataset, "ids", None) if observation.ids_given else range(count)
        return count if known is None else torch.tensor(known, device=observation.ids.device)

    def with_words(self, rows: pd.DataFrame, column: str, method: str) -> pd.DataFrame:
        """Add the words of each text as a column, if the data set has the method ``method``, which returns them."""
        read = getattr(self.dataset, method, None)
        return rows if read is None else rows.assign(**{column: rows["id"].map(read)})


class RunningBatch:
    """The current batch, on which all callbacks share the same forward passes.

    A method of the module, such as ``observe``, is not called if ``test_step`` or ``validation_step`` returns its observation
    under its name: ``return {"observe": observation}`` saves a forward pass.
    """

    def __init__(self) -> None:
        self.split: EvaluatedSplit | None = None
        """What is known of the split that the current batch belongs to, such as its data loader; None before the first
        batch."""
        self.of_transformers: OfTransformers | None = None
        """The adapter that observes a ``transformers`` model inside the LightningModule. None if the LightningModule has
        methods of its own for that, and until it is needed."""
        self._batch: Any = None
        self._index = 0
        self._returned: Mapping[str, Any] = {}
        self._observed: dict[str, Any] = {}

    def enter(self, trainer: Trainer, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int) -> EvaluatedSplit:
        """Make the given batch the current one, and return the split that contains it."""
        if self.split is None or batch is not self._batch:
            fresh = EvaluatedSplit(trainer, dataloader_idx)
            if self.split is None or self.split.loader is not fresh.loader:
                self.split = fresh
            self._batch, self._index, self._observed = batch, batch_idx, {}
            self._returned = outputs if isinstance(outputs, Mapping) else {}
        return self.split

    def leave(self) -> None:
        """Forget the current batch and its observations, to free memory."""
        self._batch, self._observed, self._returned = None, {}, {}

    def observe(self, pl_module: LightningModule, method: str) -> Any:
        """Call the named method of the module on the current batch, only once per batch, and return its result."""
        if method not in self._observed:
            found = self._returned.get(method)
            if found is None:
                with torch.inference_mode(False), torch.no_grad():  # tensors of inference mode cannot have gradients
                    found = getattr(pl_module if hasattr(pl_module, method) else self.of_transformers, method)(self._batch)
            if isinstance(found, Observation | LayerObservation) and not found.ids_given:
                assert self.split is not None
                found = replace(found, ids=self.split.rows_of_batch(self._index, len(found.mask)).to(found.mask.device))
            if isinstance(found, Observation | LayerObservation) and (labels := self._labels(found)) is not None:
                found = replace(found, labels=labels)
            self._observed[method] = found
        return self._observed[method]

    def _labels(self, observation: Observation | LayerObservation) -> Tensor | None:
        """Return the labels of the batch as class numbers; None if it has no labels."""
        labels = observation.labels
        if labels is None and isinstance(self._batch, Mapping):
            labels = self._batch.get("label", self._batch.get("labels"))
        if labels is None:
            return None
        predicted, classes = observation.predicted, observation.probabilities.shape[-1]
        numbers = class_numbers(labels, tuple(predicted.shape), classes=classes, partly=True)
        return torch.from_numpy(numbers).to(predicted.device)


Value = TypeVar("Value")


def all_gather(value: Value) -> list[Value]:
    """Gather a value from every rank, in the order of ranks; every rank must call the function."""
    if not _together():
        return [value]
    values: list[Value] = [value] * distributed.get_world_size()
    distributed.all_gather_object(values, value)
    return values


def share_of_rank(values: list[Value]) -> list[Value]:
    """Divide the values that all ranks stored in a checkpoint among the ranks; return this rank's part."""
    return values[distributed.get_rank() :: distributed.get_world_size()] if _together() else values


def _together() -> bool:
    return distributed.is_available() and distributed.is_initialized()
