"""The settings of a run that name it, and the name of its folder: readable, with a hash if other settings differ.

Start at ``RunSettings`` and ``readable_name``; ``attest.runs.asked`` adds the hash.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from attest.core.errors import AttestError


@dataclass
class RunSettings:
    """The settings in section ``run`` of a configuration: how a run is named, computed and stored.

    Args:
        root: folder of all runs.
        data, recipe, model, scoring, projection: readable names of the configs it is made of.
        monitor: logged validation score that chooses the best epoch.
        mode: ``max`` or ``min`` of it.
        force: begin afresh, deleting what is there.
        threads: intra-op threads of a process on the CPU; results are bit-identical only for equal numbers.
        processes: that gather evidence where one has trained on the CPU; results are bit-identical for all numbers. None for
            one a core.
        checkpoint_every_n_batches: what a killed run loses at most.
        evidence_while_training: whether evidence is also gathered at validation end; without it, training gives the same
            model sooner, and there are no curves of evidence.
        memory_gib: working memory that evidence may take above the loaded model and batch, in GiB.
        max_evidence_tokens: longer texts are left out of evidence that compares every token with every other, as are those
            whose pairs do not fit ``memory_gib``; their columns are NaN, and counted.
        max_search_steps: experiments that search take at most so many steps, whatever ``experiments`` says; None for as many.
        until: how well the means of evidence on the test split are to be known at 95 %, in their units, such as 0.01. Texts
            are then read in random order, and an experiment stops when it knows its means. None for all texts.
    """

    root: str = "runs"
    data: str = "unnamed"
    recipe: str = "unnamed"
    model: str = "unnamed"
    scoring: str = "unnamed"
    projection: str = "unnamed"
    monitor: str = "validation/loss"
    mode: Literal["max", "min"] = "min"
    force: bool = False
    threads: int = 1
    processes: int | None = None
    checkpoint_every_n_batches: int = 100
    evidence_while_training: bool = True
    memory_gib: float = 1.0
    max_evidence_tokens: int = 3000
    max_search_steps: int | None = None
    until: float | None = None


NAME = re.compile(r"\w[\w.-]*")


def require_names(run: Mapping[str, Any]) -> None:
    """Refuse names for the folder of a run that would lead out of the root of all runs."""
    for part in ("data", *NAME_PARTS):
        if not NAME.fullmatch(portable(run[part])):
            raise AttestError(
                f"run.{part} is {run[part]!r}, which is a part of the run's folder; expected letters, digits, '.', '-' and "
                f"'_', and no '.' or '-' in front. Type --run.{part}=<name>; --run.root=<folder> says where runs lie."
            )


def differing_keys(ours: dict[str, Any], theirs: dict[str, Any], prefix: str = "") -> list[str]:
    """Return the dotted names of the settings that two configurations both have, with different values."""
    keys = []
    for name in sorted({*ours} & {*theirs}):
        mine, other = ours[name], theirs[name]
        if isinstance(mine, dict) and isinstance(other, dict):
            keys += differing_keys(mine, other, f"{prefix}{name}.")
        elif mine != other:
            keys.append(f"{prefix}{name}")
    return keys


NAME_PARTS = ("recipe", "model", "scoring", "projection")


def readable_name(run: Mapping[str, Any]) -> str:
    """Return ``<recipe>-<model>-<scoring>-<projection>``, the name of the folder of a run if no other settings differ."""
    return portable("-".join(run[part] for part in NAME_PARTS))


def portable(name: str) -> str:
    """Return a name that every system accepts for a folder: ``entmax-1.3`` for ``entmax:1.3``, whose colon Windows refuses."""
    return name.replace(":", "-")
