"""Attest: attention on trial.

Trains text models with attention or takes yours, applies the published interventions to the attention, and reports what
changes, beside the published numbers.

Rooms, in the order data flows through them:

* ``attention``          scoring functions, projections, and interventions where attention is computed
* ``networks``           encoders and the networks built on them; each exposes encode, score, project, decode
* ``measures``           distances, entropies, rank correlation; batched and masked
* ``experiments``        one file an experiment: an observed forward pass in, one row per instance out
* ``compute``            what experiments share: chunks under a memory budget, counter-based random numbers
* ``configs``            every choice as a small YAML file
* ``datamodules``        corpora as batches
* ``lightning_modules``  how each kind of model is trained
* ``callbacks``          what happens beside training: experiments, checkpoints, progress
* ``runs``               run folders, and what is done in them: training, evidence, adversaries, controls
* ``tracking``           W&B and other loggers
* ``report``             figures, tables and the HTML report, made from run folders and nothing else
* ``tables``             published tables, ours beside theirs
* ``cli``                one file a command; ``main.py`` is the one door
* ``api``                what is called from Python, listed below

Start reading at ``experiments/observation.py``: every experiment is the same model with its attention tampered with.

From Python:

* ``attest.trial(model, texts)``       puts a model of yours on trial, ``attest.observe`` runs it once for your own experiments
* ``attest.train(data=…, model=…)``    the same as the command ``attest fit``
* ``attest.open_run(path)``            opens a finished run
* ``attest.EXPERIMENTS``               every experiment by id: its question, its columns, how its numbers are read and misread

``import attest`` loads nothing heavy: each name is imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attest.api.run import Run, open_run, train
    from attest.api.trials import Trial, trial
    from attest.errors import AttestError
    from attest.experiments.observation import Observation, observe
    from attest.experiments.registry import EXPERIMENTS

__version__ = "0.2.0"

__all__ = ["EXPERIMENTS", "AttestError", "Observation", "Run", "Trial", "observe", "open_run", "train", "trial"]

_HOMES = {
    "AttestError": "attest.errors",
    "EXPERIMENTS": "attest.experiments.registry",
    "Observation": "attest.experiments.observation",
    "Run": "attest.api.run",
    "Trial": "attest.api.trials",
    "observe": "attest.experiments.observation",
    "open_run": "attest.api.run",
    "train": "attest.api.run",
    "trial": "attest.api.trials",
}
"""Where each public name is defined."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
