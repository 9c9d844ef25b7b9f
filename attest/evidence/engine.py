"""The engine that measures experiments on observed batches and keeps the rows of their tables.

Runs, trials and other people's Trainers measure with it. They differ only in who brings the batches: a trial orders the texts
itself, and a Trainer brings the batches of its loader to the callbacks.

Legend: B batch, T tokens.
"""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pandas as pd
from torch import Tensor, distributed

from attest.experiments.deciding.experiment import Pools
from attest.experiments.erasure import Background
from attest.experiments.layers import LayerObservation, read_from_layers
from attest.experiments.readings import Clock, read_as, where_explained
from attest.experiments.registry import EXPERIMENTS, ConfiguredExperiment, Context
from attest.experiments.rows import rows_of
from attest.experiments.sampling import Everyone
from attest.models.observation import Observation


@dataclass(eq=False)
class Engine:
    """Measures experiments on observed batches, and keeps the rows and the seconds of each table.

    Args:
        reading: the reading (a weight for each token) that replaces attention; None for the attention itself.
        background: training texts, from which replacements of erased tokens are drawn; None if there are none.

    Examples:
        >>> import attest, torch
        >>> from attest.experiments.registry import askable
        >>> from attest.models.networks.pooling import PoolingClassifier
        >>> tokens, engine = torch.tensor([[1, 2, 3], [4, 5, 0]]), Engine()
        >>> seen = attest.observe(PoolingClassifier(vocab_size=10, outputs=2).eval(), None, tokens, tokens > 0)
        >>> columns = engine.columns(askable()["E2"], seen, engine.context(labels=None, everyone=2))
        >>> engine.keep("E2", {"id": seen.ids} | columns, seen.mask)
        >>> [len(rows) for rows in engine.take("E2")]
        [2]
    """

    reading: str | None = None
    background: Background | None = None
    neutral: Pools | None = None
    """Two pools of neutral words (words that hardly move the model); experiment E19 puts them in the place of other words.
    None until they have been searched for."""
    head_means: Mapping[str, Tensor] | None = None
    """By layer, float64 ``(N, D)``: the mean output of each of N attention heads over all tokens of all texts; it replaces the
    output of a head that is switched off. None if no experiment needs it."""
    rows: dict[str, list[pd.DataFrame]] = field(default_factory=partial(defaultdict, list))
    """The rows measured so far, as one data frame for each batch. The keys are ids of experiments, or names of other
    tables."""
    seconds: dict[str, float] = field(default_factory=partial(defaultdict, float))
    """The seconds that this process has spent on each table, by the name of the table. After ``share`` was called, the first
    process has the sums over all processes."""
    clock: Clock = field(default_factory=Clock)
    """A record of the seconds that experiment E15 has spent on each explanation that it compares."""

    def explained(self, observation: Observation, layers: LayerObservation | None = None) -> Observation:
        """Return the observation with the tested explanation in place of attention.

        Args:
            layers: attention inside the layers of the same texts, if attention rollout is tested; None for attention itself.
        """
        if layers is not None:
            observation = observation.explained_by(read_from_layers(observation, layers.attention))
        return observation if self.reading is None else read_as(observation, self.reading)

    def context(self, labels: Tensor | None, everyone: Everyone, seed: int = 0, truth: Tensor | None = None) -> Context:
        """Return what experiments may need beside a batch; the arguments are the attributes of ``Context``."""
        return Context(
            labels, everyone, seed, self.background, truth, self.clock, neutral=self.neutral, head_means=self.head_means
        )

    def columns(
        self, experiment: ConfiguredExperiment, observation: Observation | LayerObservation, context: Context
    ) -> dict[str, Tensor]:
        """Run an experiment on a batch; return columns with a number per text ``(B,)`` or per token ``(B, T)``.

        If a reading replaces attention, numbers of texts for which it is undefined are NaN.
        """
        columns = experiment(observation, context)
        if self.reading is None or not isinstance(observation, Observation) or not _is_of_one(experiment.id):
            return columns
        return where_explained(observation, columns)

    def keep(self, table: str, columns: Mapping[str, Tensor], mask: Tensor, **others: Any) -> None:
        """Keep the rows of a batch for a table.

        Args:
            columns: ``(B,)`` or, per token, ``(B, T)``.
            mask: bool ``(B, T)``, True at real tokens.
            others: further columns, one value for each text.
        """
        self.rows[table].append(rows_of(columns, mask).assign(**others))

    def take(self, table: str) -> list[pd.DataFrame]:
        """Return the rows of a table in parts, and forget them."""
        return self.rows.pop(table, [])

    @contextmanager
    def timed(self, table: str) -> Iterator[None]:
        """Add the seconds inside the ``with`` block to those of a table."""
        started = time.perf_counter()
        yield
        self.seconds[table] += time.perf_counter() - started

    @contextmanager
    def whole_or_nothing(self) -> Iterator[None]:
        """Forget all rows that were kept inside the ``with`` block if it raises an error."""
        kept = {table: len(parts) for table, parts in self.rows.items()}
        try:
            yield
        except BaseException:
            for table, parts in self.rows.items():
                del parts[kept.get(table, 0) :]
            raise

    def share(self) -> None:
        """Give the rows of all connected processes to each of them, and the seconds that they have spent to the first."""
        shares: list[Any] = [None] * distributed.get_world_size()
        distributed.all_gather_object(shares, (dict(self.rows), dict(self.seconds)))
        self.rows.clear()
        self.seconds.clear()
        for tables, seconds in shares:
            for table, parts in tables.items():
                self.rows[table] += parts
            for table, spent in seconds.items() if distributed.get_rank() == 0 else ():
                self.seconds[table] += spent


def _is_of_one(experiment: str) -> bool:
    """Return whether an experiment tests one explanation; E15 compares several, each of which says where it is defined."""
    return experiment not in EXPERIMENTS or EXPERIMENTS[experiment].any_reading
