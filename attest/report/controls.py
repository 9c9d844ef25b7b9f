"""What a run's numbers are compared with: chance within the run, its uniform twin, its siblings of other seeds."""

import shlex
from dataclasses import dataclass
from functools import cached_property
from statistics import mean, stdev
from typing import Any

from attest.experiments.registry import measures
from attest.measures.numbers import number, spread
from attest.report.baseline import Baseline
from attest.report.value import value_of
from attest.runs.asked import identity
from attest.runs.belonging import require_together
from attest.runs.folder import TRIAL, RunFolder, read_json
from attest.runs.identity import typed_of
from attest.runs.words import are_ours

Summary = dict[str, Any]


@dataclass(frozen=True)
class Control:
    """One number that another is to be held against."""

    name: str
    text: str
    """As a reader should see it."""
    value: float | None = None
    """None where it is undefined."""


NAMES = {"uniform": "uniform attention", "seeds": "other seeds"}
"""The controls that are runs of their own, by kind."""


class Controls:
    """The controls of one run, read from its own folder and from the folders of its relatives.

    Args:
        folder: of the run.
        settings: its configuration.
        summary: its numbers.
        held: the run against a constant answer; None where that is not known.
    """

    def __init__(self, folder: RunFolder, settings: dict[str, Any], summary: Summary, held: Baseline | None = None) -> None:
        self.folder, self.settings, self.summary, self.held = folder, settings, summary, held
        self.of_trial = TRIAL in settings
        """Whether the model was trained elsewhere, so that no control of it can be trained here."""
        self.is_uniform = settings["run"]["projection"] == "uniform"
        base, theirs = self._base = _base(folder, settings)
        self.uniform_run = None if self.is_uniform else _uniform_twin(base, theirs)
        self.uniform = None if self.uniform_run is None else read_json(self.uniform_run.summary)
        self.seeds = _summaries_of_seeds(folder)
        compared = base.path / "controls" / folder.summary.name
        self.between_seeds = _between_seeds(read_json(compared)) if compared.is_file() else {}
        """Of the base's attention and that of its other seeds, ``E5/…``, where ``make controls`` has compared them."""

    def of(self, key: str) -> list[Control]:
        """Everything that one number can be held against, the nearest first; without what was not run."""
        constant = [self._constant(self.held)] if key == "test/accuracy" and self.held is not None else []
        within = [self._within_run(key)]
        beside = (*constant, *within, self._of_uniform(key), self._of_seeds(key))
        return [control for control in beside if control is not None]

    @cached_property
    def not_run(self) -> list[str]:
        """The kinds of controls that were not run, but could be: ``uniform``, ``seeds``."""
        if self.of_trial:
            return []
        missing = {"uniform": not self.is_uniform and self.uniform is None, "seeds": len(self.seeds) < 2}
        return [kind for kind, lacking in missing.items() if lacking]

    @cached_property
    def commands(self) -> dict[str, str]:
        """What to type for the controls that were not run, by their kind; of the base where the run depends on one."""
        if not self.not_run:
            return {}
        return {kind: command for kind, command in _commands(*self._base).items() if kind in self.not_run}

    def _constant(self, held: Baseline) -> Control:
        return Control(f"always “{held.answer}”", number(held.majority.share), held.majority.share)

    def _within_run(self, key: str) -> Control | None:
        measure = measures().get(key)
        if measure is None or measure.beside is None:
            return None
        name, column = measure.beside
        other = f"{key.split('/')[0]}/{column}/mean"
        value = self.summary.get(other)
        return Control(name, number(value), value) if other in self.summary else None

    def _of_uniform(self, key: str) -> Control | None:
        if self.uniform is None:
            return None
        value = value_of(self.uniform, key)
        return Control(NAMES["uniform"], number(value), value)

    def _of_seeds(self, key: str) -> Control | None:
        if len(self.seeds) < 2:
            return None
        values = [value for summary in self.seeds if (value := value_of(summary, key)) is not None]
        if len(values) < 2:
            return Control(NAMES["seeds"], number(None))
        return Control(f"{len(values)} seeds", spread(mean(values), stdev(values)), mean(values))


def _commands(folder: RunFolder, settings: dict[str, Any]) -> dict[str, str]:
    """Return what to type for the controls of a run, by their kind; empty if the words that trained it are not known."""
    seed, projection, model = settings["seed_everything"], settings["run"]["projection"], settings["run"]["model"]
    typed = typed_of(folder)
    if typed is None or not are_ours(typed):  # nothing that a stranger may have written goes into a command
        return {}
    words = [word for word in typed if not word.startswith("FORCE=")]
    if projection == "uniform" or model == "average":
        others = [word for word in words if not word.startswith("SEED=")]
        return {"seeds": f"attest fit {shlex.join([*others, f'SEED={seed + 1}'])}"}
    return dict.fromkeys(("uniform", "seeds"), f"attest controls {shlex.join(words)}")


def _base(folder: RunFolder, settings: dict[str, Any]) -> tuple[RunFolder, dict[str, Any]]:
    """The run whose twins are looked for, and its configuration: the run itself, or the one that it depends on."""
    if not folder.base.is_file():
        return folder, settings
    base = RunFolder(folder.corpus)
    return base, base.settings()


def _between_seeds(compared: dict[str, Any]) -> Summary:
    return {key: value for key, value in compared.items() if key.startswith("E5/")}


def _summaries_of_seeds(folder: RunFolder) -> list[Summary]:
    """The summaries of this run and of its siblings, which differ in the seed alone."""
    paths = sorted(folder.setting.glob("seed*/summary.json"))
    require_together([RunFolder(path.parent) for path in paths if path.parent.name != folder.path.name])
    return [read_json(path) for path in paths]


def _uniform_twin(folder: RunFolder, settings: dict[str, Any]) -> RunFolder | None:
    """The run that differs in its projection alone; None where that was not run."""
    mine = _but_for_projection(settings)
    for config in sorted(folder.corpus.glob(f"*-uniform*/{folder.path.name}/config.yaml")):
        other = RunFolder(config.parent)
        if other.summary.is_file() and _but_for_projection(other.settings()) == mine:
            require_together([other])
            return other
    return None


def _but_for_projection(settings: dict[str, Any]) -> dict[str, Any]:
    """What a run is, without its projection and without what was measured on it."""
    rest = identity(settings)
    (rest.get("run") or {}).pop("projection", None)
    network = ((rest.get("model") or {}).get("init_args") or {}).get("network") or {}
    (network.get("init_args") or {}).pop("projection", None)
    return rest
