"""Recursive ROAR (Madsen et al. 2022): erase the tokens that an explanation (a reading) ranks first, train a new model,
explain it, and repeat. The folder ``<base>/roar/<reading>-<step>of<steps>/`` contains the model that a step trained. The table
``erased-<reading>-<step>of<steps>.parquet``, in the folder of the previous model, says which tokens the step erased.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from attest.app.dependent import Base, Dependent, overlay, train_dependent
from attest.app.evaluating import LoadedRun, configuration_of
from attest.core.errors import AttestError
from attest.datamodules.batching import batches_by_length
from attest.datamodules.corpus import SPLITS
from attest.datamodules.encoded import EncodedDocuments, read_erased
from attest.experiments.erasure.outcomes import ranks_of, sizes
from attest.experiments.readings.kinds import RANDOM, random_reading, reading_of
from attest.models.observation import spared_by
from attest.runs.capabilities import predicts
from attest.runs.folder import RunFolder, write_table
from attest.runs.identity import ROAR

EVERYTHING = "everything"


@dataclass(frozen=True)
class Step:
    """A step of ROAR: one model that is trained on texts with erased tokens."""

    reading: str
    number: int
    of: int

    @property
    def name(self) -> str:
        """Return the folder name of the model that this step trains."""
        return f"{self.reading}-{self.number}of{self.of}"


def require_classifier(settings: dict[str, Any]) -> None:
    """Refuse a base run that does not classify texts by their tokens, or that was trained on erased texts."""
    data = settings["data"]["init_args"]
    if predicts(settings) != "label" or data.get("sentences") or data.get("erased"):
        raise AttestError(
            f"MODEL={settings['run']['model']} does not classify texts by their tokens; expected a classifier of tokenised "
            "texts. Type MODEL=bilstm for example."
        )


def train_steps(base: Base, reading: str, steps: int, own: list[str]) -> Iterator[tuple[float, RunFolder]]:
    """Yield the share of erased tokens and the run trained without them, from 0 (the base run) to 1 (the last step)."""
    read = base.folder
    yield 0.0, read
    for number in range(1, steps):
        read = _trained(base, Step(reading, number, steps), read, own)
        yield number / steps, read
    yield 1.0, _trained(base, Step(EVERYTHING, steps, steps), base.folder, own)


def _trained(base: Base, step: Step, read: RunFolder, own: list[str]) -> RunFolder:
    table = read.path / f"erased-{step.name}.parquet"
    if not table.is_file() or "FORCE=1" in own:
        run = LoadedRun(configuration_of(read, trusted=[""]), read)  # this command trained the run, from typed options
        with run.prepared():
            parts = [_of_split(run, split, step) for split in SPLITS]
        write_table(table, pd.concat(parts, ignore_index=True))
    settings = overlay(ROAR, {"data": {"init_args": {"erased": str(table)}}})
    return train_dependent(base, Dependent(ROAR, step.name, settings, reads=read, own_network=False), own)


def _of_split(run: LoadedRun, split: str, step: Step) -> pd.DataFrame:
    texts: EncodedDocuments = getattr(run.datamodule, split)
    before = read_erased(Path(run.datamodule.erased), split) if run.datamodule.erased else {}
    rows = []
    for places in batches_by_length(texts.sizes, run.datamodule.batch_size):
        batch = texts.__getitems__(places)
        gone = torch.zeros_like(batch["mask"])
        for row, identity in enumerate(batch["id"].tolist()):
            known = torch.as_tensor(before.get(identity, ()), dtype=torch.bool)
            gone[row, : len(known)] = known
        for identity, mask, erased in zip(batch["id"].tolist(), batch["mask"], _further(run, batch, gone, step), strict=True):
            rows.append({"split": split, "id": identity, "erased": erased[mask].numpy()})
    return pd.DataFrame(rows)


def _further(run: LoadedRun, batch: dict[str, Tensor], gone: Tensor, step: Step) -> Tensor:
    """Return which tokens are erased at a step of ROAR, bool ``(B, T)``; tokens of earlier steps stay erased."""
    if step.reading == EVERYTHING:
        spared = spared_by(run.model.network, batch["mask"], batch["word"] < 0 if "word" in batch else None)
        return batch["mask"] if spared is None else batch["mask"] & ~spared
    observation = run.model.observe_steps(batch)
    if step.reading == RANDOM:
        values = random_reading(observation, run.datamodule.seed)
    else:
        values = reading_of(step.reading, observation).magnitude(observation)
    ranks = ranks_of(
        values.masked_fill(gone, torch.inf).unsqueeze(1), observation.ids, observation.ranked, run.datamodule.seed
    ).squeeze(1)
    return (ranks < sizes(observation.erasable, (step.number / step.of,))) & observation.ranked
