"""The evidence of a run that one process has trained, computed by one process for each core.

Evidence is exact on any number of processes, so nothing but time depends on it.
"""

from collections.abc import Callable
from typing import Any

from pytorch_lightning import Trainer
from pytorch_lightning.plugins.environments import ClusterEnvironment
from pytorch_lightning.strategies import DDPStrategy

from attest.compute.cores import cores
from attest.compute.memory import processes_that_fit
from attest.runs.processes import can_fork, together

MakeTrainer = Callable[..., Trainer]
"""Makes the run's Trainer with some settings of its own instead of the run's."""


def processes_for(asked: int | None, trainer: Trainer) -> int:
    """How many processes gather the evidence.

    Args:
        asked: what the run's settings say; None for one a core, as far as the memory budget goes.
        trainer: that has trained, or loaded what is put on trial; where it has several processes already, or a GPU, it goes on
            as it is.
    """
    if trainer.world_size > 1 or trainer.strategy.root_device.type != "cpu" or not can_fork():
        return 1
    return min(cores(), processes_that_fit()) if asked is None else asked


def shared(processes: int, make_trainer: MakeTrainer, evaluate: Callable[[Trainer], Any]) -> Any:
    """What ``evaluate`` returns in this process, while copies of it do the same with the other batches.

    Args:
        processes: how many, this one included.
        make_trainer: makes a Trainer for one of them.
        evaluate: goes through the split with that Trainer.
    """

    def one(rank: int) -> Any:
        company = _Company(rank, processes)
        strategy = DDPStrategy(cluster_environment=company, process_group_backend="gloo")
        return evaluate(make_trainer(accelerator="cpu", devices=processes, num_nodes=1, strategy=strategy))

    return together(processes, one)


class _Company(ClusterEnvironment):
    """One of several processes on this machine that know one another already."""

    def __init__(self, rank: int, processes: int) -> None:
        super().__init__()
        self.rank, self.processes = rank, processes

    @property
    def creates_processes_externally(self) -> bool:
        return True

    @property
    def main_address(self) -> str:
        return "127.0.0.1"

    @property
    def main_port(self) -> int:
        return 0  # nobody connects to it: the group is there

    @staticmethod
    def detect() -> bool:
        return False

    def world_size(self) -> int:
        return self.processes

    def set_world_size(self, size: int) -> None: ...

    def global_rank(self) -> int:
        return self.rank

    def set_global_rank(self, rank: int) -> None: ...

    def local_rank(self) -> int:
        return self.rank

    def node_rank(self) -> int:
        return 0
