"""How long earlier runs took: runs of the same kind here or, without any, our own, whose times are in the package."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from attest.core.places import configs_folder
from attest.runs.folder import YAML, RunFolder, read_json, read_yaml

TRAINING, EPOCH, EVIDENCE = "train", "epoch", "evidence/"
"""Parts of a run: the whole of its training, an epoch of it, and before an experiment's id its evidence."""
SHIPPED = "timings.yaml"
LIMITS = ("limit_train_batches", "limit_test_batches", "fast_dev_run", "overfit_batches")
"""Settings of the Trainer that make a run shorter."""


class Like(NamedTuple):
    """Which runs take about as long as one."""

    patterns: tuple[str, ...]
    """Of folders, relative to the root of all runs; the nearest first."""
    shipped: str = ""
    """What our own are called in ``configs/timings.yaml``; empty for none."""
    whole: bool = False
    """Whether runs that read a part of their corpus, or train for a part of their time, are none of them."""


class Past(NamedTuple):
    """What such runs took."""

    seconds: Mapping[str, float]
    """By part, the median over runs; evidence as on one process."""
    whose: str
    """In words, after "judging by"."""


def like(data: str, name: str, model: str, whole: bool = True) -> Like:
    """Runs like a base run: same settings with any seed, then the same model.

    Args:
        data, name: the two folders above ``seed<s>``.
        model: the choice.
        whole: whether it reads the whole corpus; one that does not is like none that does.
    """
    if not whole:
        return Like((f"{data}/{name}/seed*",))
    return Like((f"{data}/{name}/seed*", f"{data}/*-{model}-*/seed*"), f"{data}/{model}", whole)


def like_dependent(data: str, name: str, model: str, kind: str, member: str, whole: bool = True) -> Like:
    """Runs like one in the folder of a base: of the same kind and name, then of the kind.

    Args:
        data, name, model, whole: as in ``like``, of the base.
        kind, member: folders inside the base's: ``adversarial``, ``frozen-kl-0.001``.
    """
    within = f"{data}/{name}/seed*/{kind}/{member}", f"{data}/{name}/seed*/{kind}/*", f"{data}/*/seed*/{kind}/*"
    return Like(within, f"{data}/{model}/{kind}", whole) if whole else Like(within[:2])


def reads_all(settings: Mapping[str, Any]) -> bool:
    """Whether a run reads its corpus whole and trains as long as it is meant to."""
    cuts = [settings["data"]["init_args"].get("texts"), *(settings["trainer"].get(limit) for limit in LIMITS)]
    return not any(cuts) and settings["trainer"].get("max_steps", -1) < 0


def past(root: Path, alike: Like) -> Past | None:
    """What the runs nearest to one took; None where nothing is known.

    Args:
        root: folder of all runs.
        alike: which are near.
    """
    for pattern in alike.patterns:
        folders = root.glob(pattern.lstrip("/"))
        if known := [
            times for each in folders if (times := seconds_of(RunFolder(each))) and not (alike.whole and is_cut(each))
        ]:
            return Past(medians(known), "runs like it")
    ours = shipped_timings().get(alike.shipped)
    return Past(ours, "our own runs on two cores") if ours else None


@cache
def is_cut(folder: Path) -> bool:
    """Whether a run reads a part of its corpus, or trains for fewer epochs than its recipe says; also where nobody knows.

    Args:
        folder: of the run.
    """
    run = RunFolder(folder)
    if not run.config.is_file():
        return True
    settings = run.settings()
    return not reads_all(settings) or (not run.base.is_file() and _ends_early(settings))


def _ends_early(settings: Mapping[str, Any]) -> bool:
    epochs, recipe = settings["trainer"].get("max_epochs"), settings.get("run", {}).get("recipe")
    file = configs_folder() / "recipe" / f"{recipe}.yaml"
    meant = read_yaml(file).get("trainer", {}).get("max_epochs") if file.is_file() else None
    return epochs is not None and meant is not None and 0 <= epochs < meant


def seconds_of(run: RunFolder) -> dict[str, float]:
    """What the parts of a finished run took, its evidence as on one process; empty where that is not known.

    A run that was stopped and taken up tells the seconds since its last stop alone, and so does not count.
    """
    if not (run.summary.is_file() and run.timing.is_file()):
        return {}
    timing = read_json(run.timing)
    seconds, processes = timing.get("seconds", {}), timing.get("processes", {})
    if TRAINING not in seconds or "train since the last stop" in seconds:
        return {}
    each = {part: value * processes.get(part, 1) for part, value in seconds.items()}
    epochs = len(read_json(run.curves)) if run.curves.is_file() else 0
    return each | ({EPOCH: seconds[TRAINING] / epochs} if epochs else {})


def medians(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """By part, over the runs that have it."""
    parts = dict.fromkeys(part for run in runs for part in run)
    return {part: statistics.median(run[part] for run in runs if part in run) for part in parts}


def in_all(seconds: Mapping[str, float], experiments: Iterable[str] | None = None) -> float:
    """Seconds of training and evidence together, or of some experiments alone."""
    if experiments is not None:
        return sum(seconds.get(EVIDENCE + experiment, 0) for experiment in experiments)
    return sum(value for part, value in seconds.items() if part != EPOCH)


def run_seconds(folder: Path) -> float | None:
    """Seconds that a finished run took, training and evidence, as on one process; None where that is not known."""
    return in_all(seconds_of(RunFolder(folder))) or None


@cache
def shipped_timings() -> dict[str, dict[str, float]]:
    """What our own runs took, by corpus and model, by part."""
    return yaml.load((configs_folder() / SHIPPED).read_text(encoding="utf-8"), YAML)


def duration(seconds: float) -> str:
    """Seconds as people say them: ``48 s``, ``12 min``, ``3.5 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"


def at_most(epochs: int | None, steps: int, base: RunFolder, otherwise: Past | None = None) -> str:
    """The limit of a training in words, and how long its epochs take if they are as long as those of a base.

    Args:
        epochs, steps: how many at most; None or -1 for no limit.
        base: a trained run.
        otherwise: what trainings like it took, where the base does not say.
    """
    if steps >= 0:
        return f"at most {steps} steps"
    each = seconds_of(base).get(EPOCH)
    if epochs is None or epochs < 0:
        return "no limit to its epochs"
    limit = f"at most {epochs} epoch{'' if epochs == 1 else 's'}"
    if each is not None:
        return f"{limit}, about {duration(epochs * each)} judging by the base"
    return f"{limit}, about {duration(otherwise.seconds[TRAINING])} judging by {otherwise.whose}" if otherwise else limit


def evidence_takes(known: Past | None, experiments: Iterable[str], processes: int) -> str:
    """How long evidence will take, in words; empty where nothing is known.

    Args:
        known: what that of other runs took.
        experiments: ids of those to be gathered.
        processes: that share them.
    """
    seconds = in_all(known.seconds, experiments) / processes if known else 0
    side_by_side = f" on {processes} processes" if processes > 1 else ""
    return f": about {duration(seconds)}{side_by_side}, judging by {known.whose}" if known and seconds >= 1 else ""
