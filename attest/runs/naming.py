"""What a run is called: a readable name, and a hash where the name does not say it all."""

import hashlib
import json
import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from attest.errors import AttestError
from attest.runs.earlier_names import earlier


@dataclass
class RunSettings:
    """What a run is and where it goes.

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
    """Refuse settings that name a folder of the run and would lead out of the root of all runs.

    Raises:
        AttestError: one would.
    """
    for part in ("data", *NAME_PARTS):
        if not NAME.fullmatch(portable(run[part])):
            raise AttestError(
                f"run.{part} is {run[part]!r}, which is a part of the run's folder; expected letters, digits, '.', '-' and "
                f"'_', and no '.' or '-' in front. Type --run.{part}=<name>; --run.root=<folder> says where runs lie."
            )


MACHINE_KEYS = (
    "run.root",
    "run.force",
    "run.threads",
    "run.processes",
    "run.checkpoint_every_n_batches",
    "run.evidence_while_training",
    "run.memory_gib",
    "run.max_evidence_tokens",
    "run.max_search_steps",
    "run.until",
    "trainer.accelerator",
    "trainer.devices",
    "trainer.num_nodes",
    "trainer.strategy",
    "trainer.logger",
    "trainer.log_every_n_steps",
    "trainer.enable_progress_bar",
    "trainer.enable_model_summary",
    "trainer.default_root_dir",
    "trainer.profiler",
    "data.init_args.num_workers",
    "seed_everything",
    "config",
    "ckpt_path",
    "weights_only",
    "verbose",
)
"""Settings that say where and how a run is computed, not what; the seed has a folder of its own, and the steps that searches
are cut to stand in ``experiments``."""


ADDED_LATER = ("E14", "E15")
"""Experiments that were added to the shipped sets when there were runs already. They are gathered after training and change
nothing of it, so they are no part of what a run is: names stay the same, and a run that is complete without them stays so."""


SETTINGS_ADDED_LATER: dict[str, dict[str, Any]] = {
    "model": {"masking": None, "freeze_embeddings": False},
    "data": {"erased": None, "subwords": None, "max_subwords": None, "unseen": "zeros"},
}
"""Settings of model and data that were added when there were runs already, with the value that leaves a run as it was.
With that value they are no part of what a run is."""


def without_machine_keys(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that make a run what it is."""
    settings = _one_corpus(deepcopy(settings))
    for name in ADDED_LATER:
        _section(settings, "experiments").pop(name, None)
    for part, added in SETTINGS_ADDED_LATER.items():
        _leave_out(_section(settings, part, "init_args"), added)
    for key in MACHINE_KEYS:
        *path, last = key.split(".")
        _section(settings, *path).pop(last, None)
    return settings


def _section(settings: dict[str, Any], *path: str) -> dict[str, Any]:
    """The settings at a place; an empty section where a file that was written by hand has something else."""
    section: Any = settings
    for name in path:
        section = section.get(name)
        if not isinstance(section, dict):
            return {}
    return section


def _leave_out(settings: dict[str, Any], added: dict[str, Any]) -> None:
    """Those of ``added`` that have the value they have there."""
    for name, value in added.items():
        if settings.get(name, value) == value:
            settings.pop(name, None)


def canonical(settings: dict[str, Any]) -> bytes:
    """What is hashed of a run's settings: those that make it what it is, written alike by every version of Attest."""
    return json.dumps(earlier(without_machine_keys(settings)), sort_keys=True).encode()


def variant(settings: dict[str, Any]) -> str:
    """8 hex digits that tell a run from others of its readable name."""
    return hashlib.sha256(canonical(settings)).hexdigest()[:8]


def _one_corpus(settings: dict[str, Any]) -> dict[str, Any]:
    """A generated corpus by the seed that it is drawn from, whether that is the run's or its own.

    0 is written as null, which is what it was when folders were first named, and stood for the run's seed.
    """
    options = _section(settings, "data", "init_args")
    if "corpus_seed" in options:
        own = options["corpus_seed"]
        options["corpus_seed"] = (settings.get("seed_everything") if own is None else own) or None
    return settings


def differing_keys(ours: dict[str, Any], theirs: dict[str, Any], prefix: str = "") -> list[str]:
    """Dotted names of the settings in which two configurations differ."""
    keys = []
    for name in sorted({*ours, *theirs}):
        mine, other = ours.get(name), theirs.get(name)
        if isinstance(mine, dict) and isinstance(other, dict):
            keys += differing_keys(mine, other, f"{prefix}{name}.")
        elif mine != other:
            keys.append(f"{prefix}{name}")
    return keys


UNNAMED = {"LOGGER": "csv"}
"""Choices that are no part of a name, as names are resolved: this logger needs no W&B."""
NAME_PARTS = ("recipe", "model", "scoring", "projection")


def readable_name(run: Mapping[str, Any]) -> str:
    """``<recipe>-<model>-<scoring>-<projection>`` of a run's settings: its folder's name where nothing else differs."""
    return portable("-".join(run[part] for part in NAME_PARTS))


def portable(name: str) -> str:
    """A name that every system takes for a folder's: ``entmax-1.3`` for ``entmax:1.3``, whose colon Windows refuses."""
    return name.replace(":", "-")


def run_path(settings: dict[str, Any], reference: dict[str, Any] | None) -> Path:
    """``<root>/<data>/<recipe>-<model>-<scoring>-<projection>[-<hash>]/seed<n>``, or where an earlier version put that.

    Args:
        settings: the resolved configuration.
        reference: what the configs of the readable name resolve to by themselves, or None if some are not ours.
    """
    run = settings["run"]
    require_names(run)
    return folder_of(Path(run["root"]), run["data"], run_name(settings, reference), settings["seed_everything"])


def run_name(settings: dict[str, Any], reference: dict[str, Any] | None) -> str:
    """``<recipe>-<model>-<scoring>-<projection>[-<hash>]``: the name of the setting, which its seeds share.

    Args:
        settings: the resolved configuration.
        reference: what the configs of the readable name resolve to by themselves, or None if some are not ours. Where
            anything else differs, 8 hex digits of the resolved configuration tell the run apart.
    """
    name = readable_name(settings["run"])
    if reference is None or without_machine_keys(settings) != without_machine_keys(reference):
        name = f"{name}-{variant(settings)}"
    return name


def folder_of(root: Path, data: str, name: str, seed: int | str) -> Path:
    """``<root>/<data>/<name>/seed<n>``, or where an earlier version put that.

    Args:
        root: of all runs.
        data: the corpus, as it is typed.
        name: readable name, with the variant where there is one.
        seed: of the run.
    """
    return where_it_lies(root / portable(data) / name / f"seed{seed}")


def where_it_lies(folder: Path) -> Path:
    """The folder of a run, or the one with a colon in its name in which an earlier version has put it, or its other seeds.

    Args:
        folder: ``<root>/<data>/<portable name>/seed<n>``; need not exist.
    """
    if folder.exists():
        return folder
    names = (path for path in sorted(folder.parent.parent.glob("*:*")) if portable(path.name) == folder.parent.name)
    earlier = next((name / folder.name for name in names), folder)
    return folder if folder.parent.exists() and not earlier.exists() else earlier
