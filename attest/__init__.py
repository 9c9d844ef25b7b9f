"""Attest: attention on trial.

Attest trains text models with attention or takes yours, changes the attention as published experiments do, and reports what
changes, beside the published numbers.

Its folders, each of which imports from those above it:

* ``core``               attention, measures, memory, random numbers: the mathematics and how it is computed
* ``models``             networks, Transformers of other people, and the observation of one forward pass of a network
* ``experiments``        one file for each experiment, which makes one row per instance from an observed forward pass
* ``datamodules``        corpora as batches
* ``runs``               a run on disk: its choices, its name, its folder
* ``report``             figures, tables and the HTML report, made only from run folders
* ``lightning_modules``  the training of each kind of model
* ``callbacks``          the work beside training: experiments, checkpoints, progress
* ``judges``             networks whose attention is right or wrong by construction, on which experiments and metrics are tried
* ``replication``        published tables: the plan of their runs, the workflow, and the pages with our numbers beside theirs
* ``app``                the commands (``cli``), the Python functions (``api``), and the steps that they share

``configs`` contains every choice as a small YAML file.

Start reading at ``models/observation.py``: every experiment runs the same model with changed attention.

From Python:

* ``attest.trial(model, texts)``       tests the attention of a model; ``attest.observe`` runs it once for your own experiments
* ``attest.train(data=…, model=…)``    does the same as the command ``attest fit``
* ``attest.sources(model, context)``   says from which sentences of a context a language model's answer comes
* ``attest.judge(metric)``             tests your metric on networks whose attention is known to be right or wrong
* ``attest.open_run(path)``            opens a finished run
* ``attest.EXPERIMENTS``               every experiment by id: its question, its columns, and how (not) to read its numbers

``import attest`` loads nothing heavy: each name is imported on first use.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attest.core.version import __version__ as __version__

if TYPE_CHECKING:
    from attest.app.api.run import Run, open_run, train
    from attest.app.api.sources import sources
    from attest.app.api.trials import Trial, trial
    from attest.core.errors import AttestError
    from attest.experiments.registry import EXPERIMENTS
    from attest.judges.metric import judge
    from attest.models.observation import Observation, observe

if not Path(__file__).with_name("callbacks").is_dir():  # a checkout without symbolic links: these folders lie at its top
    __path__.append(str(Path(__file__).parents[1]))

__all__ = [
    "EXPERIMENTS",
    "AttestError",
    "Observation",
    "Run",
    "Trial",
    "judge",
    "observe",
    "open_run",
    "sources",
    "train",
    "trial",
]

_HOMES = {
    "AttestError": "attest.core.errors",
    "EXPERIMENTS": "attest.experiments.registry",
    "Observation": "attest.models.observation",
    "Run": "attest.app.api.run",
    "Trial": "attest.app.api.trials",
    "judge": "attest.judges.metric",
    "observe": "attest.models.observation",
    "open_run": "attest.app.api.run",
    "sources": "attest.app.api.sources",
    "train": "attest.app.api.run",
    "trial": "attest.app.api.trials",
}
"""The module that defines each public name of the package; the name is imported from there when it is first used."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
