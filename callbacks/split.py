"""The split of an evaluation, as any loader of torch tells of it: its batches, and the instances in them."""

from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import torch
from pytorch_lightning import Trainer
from pytorch_lightning.trainer.states import TrainerFn
from torch import Tensor
from torch.utils.data import BatchSampler, DistributedSampler, IterableDataset, SequentialSampler

from attest.core.errors import AttestError
from attest.datamodules.corpus import KEY
from attest.experiments.sampling import Everyone

GIVE_IDS = "Give every instance a number of its own in the data set, and pass these to attest's observe as ids."


class EvaluatedSplit:
    """The split that a loader goes through: the number of its batches, and which instances they hold.

    Length and batch size are read as torch has them. A loader may also offer ``batches_of_all_ranks``, an int, if ranks have
    different numbers of batches. A data set may offer ``ids``, int64 ``(N,)``, if these are not 0 … N - 1.

    Args:
        trainer: in evaluation.
        place: the number of the loader among the loaders of the trainer.
    """

    def __init__(self, trainer: Trainer, place: int = 0) -> None:
        loops: Any = {TrainerFn.VALIDATING: trainer.validate_loop, TrainerFn.TESTING: trainer.test_loop}
        loop = loops.get(trainer.state.fn, trainer.fit_loop.epoch_loop.val_loop)
        loaders = loop._combined_loader.flattened  # the trainer's own properties answer for fit, whatever runs
        self.loader = loaders[place]
        self.place = place
        self.alone = len(loaders) == 1
        """Whether the trainer has this loader alone."""
        self.rank, self.ranks = trainer.global_rank, trainer.world_size
        self._batches_here = loop.max_batches[place]

    @property
    def dataset(self) -> Any:
        """Return the data set of the loader; None if it has none."""
        return getattr(self.loader, "dataset", None)

    @property
    def batches(self) -> float:
        """Return the number of batches of all ranks; infinite if it is not known."""
        declared = getattr(self.loader, "batches_of_all_ranks", None)
        return self._batches_here * self.ranks if declared is None else declared

    @property
    def batch_size(self) -> int:
        """Return the largest number of instances in a batch."""
        sampler = getattr(self.loader, "batch_sampler", None)
        return getattr(sampler, "batch_size", None) or getattr(self.loader, "batch_size", None) or 1

    def sampled_batches(self, instances: int) -> np.ndarray:
        """Return the numbers of batches that hold about ``instances`` instances, equal for all ranks, epochs and seeds.

        The split is cut into equal stretches, and one batch is drawn at random from each. Of a loader without an end the first
        batches are taken.
        """
        wanted = int(min(self.batches, -(-instances // self.batch_size)))
        if not np.isfinite(self.batches):
            return np.arange(wanted)
        ends = np.arange(wanted + 1) * int(self.batches) // wanted
        return ends[:-1] + (np.random.PCG64(KEY).random_raw(wanted) % np.diff(ends).astype(np.uint64)).astype(np.int64)

    def number_among_ranks(self, batch_idx: int) -> int:
        """Return the number of this rank's batch among those of all ranks, which take turns."""
        return batch_idx * self.ranks + self.rank

    def rows_of_batch(self, batch_idx: int, count: int) -> Tensor:
        """Return the row numbers in the data set of a batch's instances, int64 ``(count,)``; ids if instances have none."""
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
                f"the instances have no ids, and observe returns {count} rows for a batch of {len(rows)}; expected one for "
                f"each. {GIVE_IDS}"
            )
        return torch.tensor(rows)

    @cached_property
    def _rows_by_batch(self) -> list[list[int]] | None:
        sampler = getattr(self.loader, "batch_sampler", None)
        return list(sampler) if type(sampler) is BatchSampler and _goes_in_order(sampler.sampler) else None

    def everyone(self, observation: Any) -> Everyone:
        """Return the ids of all instances; their number if the data set does not list ids; None if it has no length."""
        if not hasattr(self.dataset, "__len__"):
            return None
        count = len(self.dataset)
        known = getattr(self.dataset, "ids", None) if observation.ids_given else range(count)
        return count if known is None else torch.tensor(known, device=observation.ids.device)

    def with_words(self, rows: pd.DataFrame, column: str, method: str) -> pd.DataFrame:
        """Return a table with a column of words, one list for each id, if the data set has the method that returns them."""
        read = getattr(self.dataset, method, None)
        return rows if read is None else rows.assign(**{column: rows["id"].map(read)})


def _goes_in_order(sampler: Any) -> bool:
    return type(sampler) is SequentialSampler or (type(sampler) is DistributedSampler and not sampler.shuffle)
