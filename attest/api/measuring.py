"""Experiments on a network, batch by batch, and their files: those of a run without training."""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import pandas as pd
import torch
import yaml
from rich.console import Console
from rich.progress import Progress
from torch import Tensor, distributed, nn

from attest import __version__
from attest.api.batches import Batch, attended
from attest.api.expected import Expected, work_of
from attest.api.parts import batches_of_ids, in_rows
from attest.attention.interventions import attending
from attest.compute.memory import give_back_freed_memory, memory_budget, rows_at_once
from attest.errors import AttestError
from attest.experiments.contract import require_finite_logits
from attest.experiments.layers import LayerObservation, attention_rollout, observe_layers, where_rollout_begins
from attest.experiments.observation import Network, Observation, observe
from attest.experiments.registry import Asked, Run
from attest.experiments.rows import rows_of, text_columns
from attest.labels import of_batch
from attest.report.summary import VERSION, summarise_tables
from attest.runs.folder import INSTANCES, TRIAL, RunFolder, write_json, write_text
from attest.runs.processes import can_fork, together
from attest.runs.stopping import SAMPLING, Stopping, in_random_order, looks
from attest.runs.turns import Turns
from attest.runs.versions import environment, peak_memory

WEIGHTS_HELD = 14 * 4
"""Bytes that a trial takes at its peak for each number of attention inside layers: fourteen times as many numbers."""


class Measuring:
    """Experiments on one batch after the other; each batch is observed once for all of them.

    Args:
        network: in evaluation mode.
        measures: by id.
        label_names: in class order; empty for numbers.
        seed: of the random draws.
    """

    first = INSTANCES
    """The table of the texts themselves."""

    def __init__(self, network: nn.Module, measures: dict[str, Run], label_names: tuple[str, ...], seed: int) -> None:
        self.network, self.measures, self.label_names, self.seed = network, measures, label_names, seed
        self.seconds: dict[str, float] = defaultdict(float)
        self._parts: dict[str, list[pd.DataFrame]] = defaultdict(list)
        self._asked = {self.first, *measures}
        """What is measured now."""
        self._stopped: dict[str, tuple[Stopping, list[pd.DataFrame]]] = {}
        """The experiments that have read enough texts, with their tables."""

    def all_of(
        self, batches: Sequence[Batch], progress: bool, processes: int = 1, until: float | None = None, batch_size: int = 32
    ) -> None:
        """Measure all batches.

        Args:
            batches: with ids, all different.
            progress: whether a bar shows how far it is, where there is a terminal or a notebook.
            processes: that share the batches; what comes out is the same for all numbers.
            until: how well the means of the verdict are to be known, in their units; an experiment for which a part of the
                texts is enough reads no more. None for all texts.
            batch_size: of batches that texts are put into in random order.
        Raises:
            AttestError: a batch or what the network makes of it is not as it should be.
        """
        everyone = torch.cat([batch["id"].cpu() for batch in batches])

        def work(rank: int) -> None:
            if until is not None:
                self._read_until(until, batches, everyone, progress and rank == 0, batch_size, turns)
            self._some_of(batches, everyone, progress and rank == 0, turns)
            self._share()

        turns = Turns(processes if can_fork() else 1)
        if turns.processes == 1:
            work(0)
        else:
            together(processes, work)
        for name, (_, tables) in self._stopped.items():
            self._parts[name] = tables

    def _share(self) -> None:
        """Have what all processes have measured, here and in each of them."""
        if not distributed.is_initialized():
            return
        shares: list[Any] = [None] * distributed.get_world_size()
        distributed.all_gather_object(shares, (dict(self._parts), dict(self.seconds)))
        self._parts.clear()
        self.seconds.clear()
        for parts, seconds in shares:
            for name, part in parts.items():
                self._parts[name] += part
            for name, spent in seconds.items():
                self.seconds[name] += spent

    def _read_until(
        self,
        precision: float,
        batches: Sequence[Batch],
        everyone: Tensor,
        progress: bool,
        batch_size: int,
        turns: Turns,
    ) -> None:
        """Read texts in random order, until experiments know their means; those that need too many are left for later."""
        order, read = in_random_order(everyone, self.seed), 0
        going = {name: Stopping(name, precision, len(order)) for name in self.measures if name not in SAMPLING}
        tables: dict[str, list[pd.DataFrame]] = defaultdict(list)
        for after in looks(len(order)):
            self._asked = set(going)
            part = batches_of_ids(batches, order[read:after], batch_size)
            self._some_of(part, everyone, progress, turns)
            self._share()
            for name in list(going):
                rows = pd.concat(self._parts.pop(name)).set_index("id", drop=False).loc[order[read:after]]
                tables[name].append(rows.reset_index(drop=True))
                if going[name].after(tables[name][-1]):
                    self._stopped[name] = going.pop(name), tables[name]
            read = after
            if not going:
                break
        self._asked = {self.first, *self.measures} - self._stopped.keys()
        if distributed.is_initialized() and distributed.get_rank():
            self.seconds.clear()  # the first process has them all

    def _that_fit(self, batches: Sequence[Batch], processes: int) -> list[Batch]:
        """Batches in parts whose attention inside layers fits the budget, which processes share."""
        heads = sum(layer.heads or 0 for layer in attending(self.network).values())
        parts = []
        for batch in batches:
            size = WEIGHTS_HELD * heads * attended(batch).shape[-1] ** 2
            parts += in_rows(batch, rows_at_once(size, memory_budget() // processes)) if heads else [batch]
        return parts

    def _some_of(self, batches: Sequence[Batch], everyone: Tensor, progress: bool, turns: Turns) -> None:
        """Measure the batches that fall to this process, those with the longest texts first."""
        console = Console(stderr=True)
        shown = progress and (console.is_terminal or console.is_jupyter)
        ordered = sorted(self._that_fit(batches, turns.processes), key=work_of, reverse=True)
        works = [work_of(batch) for batch in ordered]
        expected = Expected(sum(works), console if progress else None)
        with Progress(console=console, transient=True, disable=not shown) as bar:
            task = bar.add_task("", total=sum(works))
            for place in turns.of(len(ordered)):
                for name in self._measured(ordered[place], everyone):
                    bar.update(task, description=name)
                give_back_freed_memory()
                done = sum(works[: place + turns.processes])  # the others are as far with theirs
                bar.update(task, completed=done)
                expected.after(done)

    def _measured(self, batch: Batch, everyone: Tensor) -> Iterator[str]:
        """Measure one batch; names each table when it has been measured."""
        observation = self._observed(batch)
        label = self._label(batch, observation)
        layers = self._layers(observation)
        if layers is not None:
            rollout = attention_rollout(layers.attention, where_rollout_begins(observation))
            observation = observation.explained_by(rollout)
        decided = observation.predicted if label is None and layers is not None else label
        asked = Asked(decided, everyone.to(observation.ids.device), self.seed)
        known = {} if label is None else {"label": label}
        identity = {"id": observation.ids} | known | {"predicted": observation.predicted, "length": observation.lengths}
        for name, measure in ({INSTANCES: self._texts} | self.measures).items():
            if name not in self._asked:
                continue
            inside = layers if isinstance(measure, Run) and measure.inside else None
            with self._timed(name):
                rows = rows_of(identity | measure(inside or observation, asked), observation.mask)
                self._parts[name].append(rows.assign(tokens=batch["tokens"]) if name == INSTANCES else rows)
            yield name

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        """Count the seconds of a table."""
        started = time.perf_counter()
        yield
        self.seconds[name] += time.perf_counter() - started

    def _observed(self, batch: Batch) -> Observation:
        device = next((parameter.device for parameter in self.network.parameters()), torch.device("cpu"))
        ids, tokens, mask = (each.to(device) for each in (batch["id"], batch["token_ids"], attended(batch)))
        words, special = (batch[name].to(device) if name in batch else None for name in ("word", "special"))
        observation = observe(cast(Network, self.network), ids, tokens, mask, words=words, special=special)
        require_finite_logits(observation.logits, ids, mask)
        self._require_names(observation.probabilities.shape[-1])
        return observation

    def _require_names(self, classes: int) -> None:
        """Refuse names for other than so many classes."""
        self.label_names = self.label_names or tuple(map(str, range(classes)))
        if len(self.label_names) != classes:
            raise AttestError(
                f"there are {len(self.label_names)} label names for {classes} classes; expected one for each class that the "
                "model decides between."
            )

    def _layers(self, observation: Observation) -> LayerObservation | None:
        """What the layers attend to, of a network that has its attention there alone."""
        if getattr(self.network, "pools_by_attention", True):
            return None
        with torch.no_grad():
            texts = observation.ids, observation.tokens, observation.mask
            return observe_layers(self.network, *texts, special=observation.spared)

    def _label(self, batch: Batch, observation: Observation) -> Tensor | None:
        if batch.get("label") is None:
            return None
        return of_batch(batch["label"], observation.ids.shape, self.label_names).to(observation.ids)

    def _texts(self, observation: Any, asked: Asked) -> dict[str, Tensor]:
        return text_columns(observation, self.label_names)

    def write(self, folder: RunFolder, limits: dict[str, Any]) -> None:
        """Write all files of a run except the report."""
        stopped = {name: rule.found() for name, (rule, _) in self._stopped.items()}
        for name, parts in self._parts.items():
            folder.write_evidence(name, pd.concat(parts).sort_values("id", ignore_index=True), stopped.get(name))
        texts = pd.read_parquet(folder.evidence(self.first))
        write_text(folder.config, yaml.safe_dump(self._settings(len(texts), limits), sort_keys=False))
        summary = {"version": VERSION} | self._scores(texts) | summarise_tables(folder, self._parts)
        write_json(folder.summary, summary)
        seconds = {f"evidence/{name}": value for name, value in self.seconds.items()}
        write_json(folder.timing, {"seconds": seconds, "environment": environment(), "peak_memory": peak_memory()})

    def _scores(self, texts: pd.DataFrame) -> dict[str, float]:
        """``test/accuracy`` and the like, where labels are known."""
        if "label" not in texts:
            return {}
        from attest.measures.decisions import decision_scores

        probabilities = torch.tensor(texts.filter(regex="^probability_").to_numpy(), dtype=torch.float32)
        scores = decision_scores(probabilities, torch.tensor(texts["label"].to_numpy()))
        return {f"test/{name}": float(score) for name, score in scores.items()}

    def _settings(self, texts: int, limits: dict[str, Any]) -> dict[str, Any]:
        """What the report says of how it came about; ``trial`` tells it from a run that was trained."""
        model = shown_class(self.network)
        names = {"data": "own", "recipe": "own", "model": model.__name__, "scoring": "own", "projection": "own"}
        experiments = {name: _plain(measure.settings) for name, measure in self.measures.items()}
        about = {"model": f"{model.__module__}.{model.__qualname__}", "texts": texts, "experiments": experiments}
        return {"run": names, "seed_everything": self.seed, TRIAL: about | limits | {"attest": __version__}}


def shown_class(network: nn.Module) -> type:
    """The class by which a network is called: its own, or that of the model that it holds for a trial."""
    return type(network.model) if getattr(network, "holds_a_model", False) else type(network)


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that YAML can hold."""
    return {name: value if isinstance(value, int | float | str) else str(value) for name, value in settings.items()}
