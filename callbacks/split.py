"""The split of an evaluation, as its loader knows it; the loader may be any."""

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


class Split:
    """What is asked of a loader: how many batches there are, which instances they hold.

    A loader is asked for its length and batch size as torch has them. It may also offer ``batches_of_all_ranks``, an int,
    where ranks have different numbers of batches; ``places``, ints, of this rank's batches among these, where they are not
    dealt in turn; ``dealt``, two ints, where it goes through a shard of the split; and its data set ``ids``, int64 ``(N,)``,
    where these are not 0 … N - 1.

    Args:
        trainer: in evaluation.
        place: of the loader among those of the trainer.
    """

    def __init__(self, trainer: Trainer, place: int = 0) -> None:
        loop = _evaluation_loop(trainer)
        loaders = loop._combined_loader.flattened  # the trainer's own properties answer for fit, whatever runs
        self.loader = loaders[place]
        self.place = place
        self.alone = len(loaders) == 1
        """Whether there is no other loader beside this one."""
        dealt: tuple[int, int] | None = getattr(self.loader, "dealt", None)
        self.rank, self.ranks = dealt or (trainer.global_rank, trainer.world_size)
        self._batches_here = loop.max_batches[place]

    @property
    def dataset(self) -> Any:
        """What the loader reads, or None."""
        return getattr(self.loader, "dataset", None)

    @property
    def batches(self) -> float:
        """Batches over all ranks; infinite where nobody knows."""
        declared = getattr(self.loader, "batches_of_all_ranks", None)
        return self._batches_here * self.ranks if declared is None else declared

    @property
    def batch_size(self) -> int:
        """Largest number of instances in a batch."""
        sampler = getattr(self.loader, "batch_sampler", None)
        return getattr(sampler, "batch_size", None) or getattr(self.loader, "batch_size", None) or 1

    def part(self, instances: int) -> np.ndarray:
        """Places of about so many instances: whole batches, one drawn at random from each of as many equal stretches.

        Of a loader without an end, the first ones. They are the same for all ranks, epochs and seeds.
        """
        wanted = self._wanted(instances)
        if not np.isfinite(self.batches):
            return np.arange(wanted)
        ends = np.arange(wanted + 1) * int(self.batches) // wanted
        return ends[:-1] + (np.random.PCG64(KEY).random_raw(wanted) % np.diff(ends).astype(np.uint64)).astype(np.int64)

    def _wanted(self, instances: int) -> int:
        return int(min(self.batches, -(-instances // self.batch_size)))

    def place_of(self, batch_idx: int) -> int:
        """Where this rank's batch stands among those of all ranks: dealt in turn, unless the loader says otherwise."""
        places = getattr(self.loader, "places", None)
        return batch_idx * self.ranks + self.rank if places is None else places[batch_idx]

    def numbers(self, batch_idx: int, count: int) -> Tensor:
        """Which rows of the data set a batch holds, int64 ``(count,)``: ids where the instances bring none.

        Raises:
            AttestError: nobody can know.
        """
        if isinstance(self.dataset, IterableDataset) and self.ranks == 1 and self.loader.batch_size:
            return batch_idx * self.loader.batch_size + torch.arange(count)
        if self._rows is None:
            processes = f" on {self.ranks} processes" if self.ranks > 1 else ""
            raise AttestError(
                f"the instances have no ids, and {type(self.loader).__name__} does not say{processes} which rows of its data "
                f"set are in a batch; expected ids, or a loader that goes through a data set in order. {GIVE_IDS}"
            )
        rows = self._rows[batch_idx]
        if len(rows) != count:
            raise AttestError(
                f"the instances have no ids, and observe returns {count} rows for a batch of {len(rows)}; expected one for "
                f"each. {GIVE_IDS}"
            )
        return torch.tensor(rows)

    @cached_property
    def _rows(self) -> list[list[int]] | None:
        """Rows of the data set in each batch of this rank, where the loader gives the same ones each time it is asked."""
        sampler = getattr(self.loader, "batch_sampler", None)
        return list(sampler) if type(sampler) is BatchSampler and _in_order(sampler.sampler) else None

    def everyone(self, observation: Any) -> Everyone:
        """Return the ids of all instances; how many there are if instances have ids and the data set does not list them."""
        if not hasattr(self.dataset, "__len__"):
            return None
        count = len(self.dataset)
        known = getattr(self.dataset, "ids", None) if observation.ids_given else range(count)
        return count if known is None else torch.tensor(known, device=observation.ids.device)

    def with_tokens(self, rows: pd.DataFrame, method: str) -> pd.DataFrame:
        """A table with the texts of its instances as ``tokens``, where the data set has a method that gives them by id."""
        read = getattr(self.dataset, method, None)
        return rows if read is None else rows.assign(tokens=rows["id"].map(read))

    def with_question(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The table with ``question``, its words, where the data set has a ``question_of(id)``."""
        read = getattr(self.dataset, "question_of", None)
        return rows if read is None else rows.assign(question=rows["id"].map(read))


def _in_order(sampler: Any) -> bool:
    """Whether a sampler of torch's goes through the rows in order, of a rank through every so many-th."""
    return type(sampler) is SequentialSampler or (type(sampler) is DistributedSampler and not sampler.shuffle)


def _evaluation_loop(trainer: Trainer) -> Any:
    loops = {TrainerFn.VALIDATING: trainer.validate_loop, TrainerFn.TESTING: trainer.test_loop}
    return loops.get(trainer.state.fn, trainer.fit_loop.epoch_loop.val_loop)  # type: ignore[arg-type]
