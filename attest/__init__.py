"""Attest: attention on trial.

Trains text models with attention, tampers with the attention in every way the literature knows, and sets what happens to
the predictions beside the published numbers.

Rooms, in the order data flows through them:

* ``attention``   scoring functions and projections
* ``networks``    encoders and the networks built on them; each exposes encode, score, project, decode
* ``measures``    distances, entropies, rank correlation; batched and masked
* ``evidence``    one file an experiment: an observed forward pass in, one row per instance out
* ``run_folder``  where a run keeps its files, and whether it is complete
* ``report``      figures, tables and the HTML report, made from a run folder and nothing else
* ``run_command`` ``attest fit|validate|test``, the only file here that knows the training shells; ``cli`` is the one door

Start reading at ``evidence/observation.py``: every experiment is the same model with its attention tampered with.
"""

__version__ = "0.1.0"
