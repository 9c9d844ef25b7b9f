"""The current batch of an evaluation and its observation, which all experiments of a trainer share."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import torch
from pytorch_lightning import LightningModule, Trainer
from torch import Tensor, distributed

from attest.callbacks.split import Split
from attest.core.labels import class_numbers
from attest.experiments.layers import LayerObservation
from attest.models.observation import Observation


class RunningBatch:
    """Calls each method of the module that observes a batch once, whichever callbacks ask for it.

    What ``test_step`` or ``validation_step`` returns under the name of such a method is taken instead of calling it:
    ``return {"observe": observation}`` spares a forward pass.
    """

    def __init__(self) -> None:
        self.split: Split | None = None
        """The split that the last batch was of."""
        self._batch: Any = None
        self._index = 0
        self._returned: Mapping[str, Any] = {}
        self._observed: dict[str, Any] = {}

    def enter(self, trainer: Trainer, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int) -> Split:
        """Go on to a batch, unless another callback has; returns the split that it is of."""
        if self.split is None or batch is not self._batch:
            self.split = self._split_of(trainer, dataloader_idx)
            self._batch, self._index, self._observed = batch, batch_idx, {}
            self._returned = outputs if isinstance(outputs, Mapping) else {}
        return self.split

    def _split_of(self, trainer: Trainer, dataloader_idx: int) -> Split:
        fresh = Split(trainer, dataloader_idx)
        return self.split if self.split is not None and self.split.loader is fresh.loader else fresh

    def leave(self) -> None:
        """Forget the batch, whose graph is large."""
        self._batch, self._observed, self._returned = None, {}, {}

    def observed(self, pl_module: LightningModule, method: str) -> Any:
        """What a method of the module makes of the batch."""
        if method not in self._observed:
            found = self._returned.get(method)
            self._observed[method] = self._identified(
                _called(getattr(pl_module, method), self._batch) if found is None else found
            )
        return self._observed[method]

    def _identified(self, observation: Any) -> Any:
        """With the rows of the data set as ids, and the labels of the batch, where the observation has none."""
        known: dict[str, Any] = {}
        if not getattr(observation, "ids_given", True):
            assert self.split is not None
            mask = observation.mask
            known["ids"] = self.split.numbers(self._index, len(mask)).to(mask.device)
        if isinstance(observation, Observation | LayerObservation) and (labels := self._labels(observation)) is not None:
            known["labels"] = labels
        return replace(observation, **known) if known else observation

    def _labels(self, observation: Observation | LayerObservation) -> Tensor | None:
        """Those of the observation, or of the batch, as class numbers."""
        labels = observation.labels
        if labels is None and isinstance(self._batch, Mapping):
            labels = self._batch.get("label", self._batch.get("labels"))
        if labels is None:
            return None
        predicted, classes = observation.predicted, observation.probabilities.shape[-1]
        numbers = class_numbers(labels, tuple(predicted.shape), classes=classes, partly=True)
        return torch.from_numpy(numbers).to(predicted.device)


def _called(method: Callable[[Any], Any], batch: Any) -> Any:
    """Outside Lightning's inference mode, whose tensors no gradient can be taken through."""
    with torch.inference_mode(False), torch.no_grad():
        return method(batch)


Value = TypeVar("Value")


def all_gather(value: Value) -> list[Value]:
    """Every rank's value in the order of ranks, on every rank; each must ask."""
    if not _together():
        return [value]
    values: list[Value] = [value] * distributed.get_world_size()
    distributed.all_gather_object(values, value)
    return values


def share_of_rank(values: list[Value]) -> list[Value]:
    """Of one value for each rank of a stopped run, those this rank takes up: its own, unless it has other company now."""
    return values[distributed.get_rank() :: distributed.get_world_size()] if _together() else values


def _together() -> bool:
    return distributed.is_available() and distributed.is_initialized()
