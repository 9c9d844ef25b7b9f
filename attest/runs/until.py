"""A run's evidence on no more test texts than are needed: part after part in random order, until the means are known.

Experiments that need too many texts, and those that take a sample of their own, then go through the whole split.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pandas as pd
import torch
from pytorch_lightning import Trainer

from attest.callbacks.evidence import Evidence, log_table
from attest.datamodules import TextDataModule
from attest.errors import AttestError
from attest.experiments.registry import EXPERIMENTS
from attest.runs.folder import RunFolder
from attest.runs.stopping import Stopping, in_random_order, looks

Experiments = Mapping[str, Evidence]


def read_until(precision: float, folder: RunFolder, experiments: Experiments, trainer: Trainer, **tested: Any) -> None:
    """Write the tables of the experiments that know their means from a part of the texts, and enable these no longer.

    Every process looks at the rows of all, so all come to the same end, however many there are.

    Args:
        precision: half the width of the intervals for the means, in their units.
        folder: of the run.
        experiments: by id; those that are enabled are gone through.
        trainer: that evaluates.
        tested: ``model``, ``datamodule`` and ``ckpt_path``, as ``Trainer.test`` takes them.
    Raises:
        AttestError: the data cannot be read in parts.
    """
    data = _require_parts(tested["datamodule"], trainer)
    asked = [name for name, evidence in experiments.items() if evidence.enabled_on_test]
    going = {name: _Reading(experiments[name], Stopping(name, precision, len(data.test)))
             for name in asked if name in EXPERIMENTS and not experiments[name].draws_a_sample}  # fmt: skip
    stopped: dict[str, _Reading] = {}
    order, read = in_random_order(torch.tensor(data.test.ids), data.seed), 0
    with _in_parts(trainer, data, experiments):
        for after in looks(len(order)) if going else []:
            _enable(experiments, going)
            data.part = order[read:after]
            trainer.test(**tested, verbose=False, weights_only=True)
            for name in [name for name, reading in going.items() if reading.knows_enough(data.part)]:
                stopped[name] = going.pop(name)
                stopped[name].write(folder, trainer)
            if not going:
                break
            read = after
    for name, reading in stopped.items():
        log_table(trainer, name, reading.rows)
    _enable(experiments, {*asked} - stopped.keys())


def _require_parts(data: Any, trainer: Trainer) -> TextDataModule:
    if not isinstance(data, TextDataModule):
        raise AttestError(
            f"{type(data).__name__} cannot be read in random order; expected a TextDataModule. Leave --run.until out."
        )
    if trainer.limit_test_batches != 1.0:
        raise AttestError(
            f"trainer.limit_test_batches is {trainer.limit_test_batches} and run.until is set: each says how many texts are "
            "read; expected one of both. Leave one out."
        )
    return data


def _enable(experiments: Experiments, names: Collection[str]) -> None:
    for name, evidence in experiments.items():
        evidence.enabled_on_test = name in names


@contextmanager
def _in_parts(trainer: Trainer, data: TextDataModule, experiments: Experiments) -> Iterator[None]:
    """Nothing is logged of parts, and their rows are kept where they were measured."""
    loggers, folders = trainer.loggers, {name: evidence.folder for name, evidence in experiments.items()}
    trainer.loggers = []
    for evidence in experiments.values():
        evidence.folder = None
    try:
        yield
    finally:
        data.part, trainer.loggers = None, loggers
        for name, evidence in experiments.items():
            evidence.folder = folders[name]


class _Reading:
    """What an experiment has found so far.

    Args:
        evidence: the experiment.
        rule: that says when to stop.
    """

    def __init__(self, evidence: Evidence, rule: Stopping) -> None:
        self._evidence, self._rule = evidence, rule
        self._parts: list[pd.DataFrame] = []
        self._seconds = 0.0

    def knows_enough(self, ids: Sequence[int]) -> bool:
        """Take up the rows of the part that was measured last; ``ids`` in the order in which the rule counts them."""
        assert self._evidence.table is not None
        self._parts.append(self._evidence.table.set_index("id", drop=False).loc[[*ids]].reset_index(drop=True))
        self._seconds += self._evidence.seconds
        return self._rule.after(self._parts[-1])

    @property
    def rows(self) -> pd.DataFrame:
        """All, as they stand in the table."""
        return pd.concat(self._parts).sort_values("id", ignore_index=True)

    def write(self, folder: RunFolder, trainer: Trainer) -> None:
        """The table, and why it ends."""
        if trainer.is_global_zero:
            part = f"evidence/{self._evidence.id}"
            folder.write_evidence(self._evidence.id, self.rows, self._rule.found())
            folder.note(seconds={part: self._seconds}, processes={part: trainer.world_size})
