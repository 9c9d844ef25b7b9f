"""Attest: attention on trial.

Trains text models with attention, tampers with the attention in every way the literature knows, and sets what happens to
the predictions beside the published numbers.

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

Start reading at ``experiments/observation.py``: every experiment is the same model with its attention tampered with.
"""

__version__ = "0.1.0"
