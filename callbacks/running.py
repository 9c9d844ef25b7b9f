"""The current batch of an evaluation and its observations, which all experiments of a trainer share; values of all ranks."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import torch
from pytorch_lightning import LightningModule, Trainer
from torch import Tensor, distributed

from attest.callbacks.of_transformers import OfTransformers
from attest.callbacks.split import EvaluatedSplit
from attest.core.labels import class_numbers
from attest.experiments.layers import LayerObservation
from attest.models.observation import Observation


class RunningBatch:
    """The current batch, which each method of the module observes once, however many callbacks ask.

    If ``test_step`` or ``validation_step`` returns an observation under the name of such a method, the method is not called:
    ``return {"observe": observation}`` saves a forward pass.
    """

    def __init__(self) -> None:
        self.split: EvaluatedSplit | None = None
        """The split of the last batch."""
        self.of_transformers: OfTransformers | None = None
        """What observes the module's model of transformers, where the module offers no method for it."""
        self._batch: Any = None
        self._index = 0
        self._returned: Mapping[str, Any] = {}
        self._observed: dict[str, Any] = {}

    def enter(self, trainer: Trainer, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int) -> EvaluatedSplit:
        """Make a batch the current one, unless another callback has done so, and return the split that it belongs to."""
        if self.split is None or batch is not self._batch:
            fresh = EvaluatedSplit(trainer, dataloader_idx)
            if self.split is None or self.split.loader is not fresh.loader:
                self.split = fresh
            self._batch, self._index, self._observed = batch, batch_idx, {}
            self._returned = outputs if isinstance(outputs, Mapping) else {}
        return self.split

    def leave(self) -> None:
        """Forget the current batch and its observations, whose graph takes much memory."""
        self._batch, self._observed, self._returned = None, {}, {}

    def observe(self, pl_module: LightningModule, method: str) -> Any:
        """Return the observation of the batch by a method of the module."""
        if method not in self._observed:
            found = self._returned.get(method)
            if found is None:
                with torch.inference_mode(False), torch.no_grad():  # tensors of inference mode cannot have gradients
                    found = getattr(pl_module if hasattr(pl_module, method) else self.of_transformers, method)(self._batch)
            self._observed[method] = self._with_ids_and_labels(found)
        return self._observed[method]

    def _with_ids_and_labels(self, observation: Any) -> Any:
        """Return an observation in which missing ids are rows of the data set, and missing labels are those of the batch."""
        known: dict[str, Any] = {}
        if not getattr(observation, "ids_given", True):
            assert self.split is not None
            mask = observation.mask
            known["ids"] = self.split.rows_of_batch(self._index, len(mask)).to(mask.device)
        if isinstance(observation, Observation | LayerObservation) and (labels := self._labels(observation)) is not None:
            known["labels"] = labels
        return replace(observation, **known) if known else observation

    def _labels(self, observation: Observation | LayerObservation) -> Tensor | None:
        """Return the labels of the observation, or of the batch, as class numbers; None if neither has labels."""
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
    """Return the values of all ranks in their order, on every rank; every rank must call this."""
    if not _together():
        return [value]
    values: list[Value] = [value] * distributed.get_world_size()
    distributed.all_gather_object(values, value)
    return values


def share_of_rank(values: list[Value]) -> list[Value]:
    """Return the part of this rank of values that all ranks of a stopped run kept: its own if there are as many ranks now."""
    return values[distributed.get_rank() :: distributed.get_world_size()] if _together() else values


def _together() -> bool:
    return distributed.is_available() and distributed.is_initialized()
