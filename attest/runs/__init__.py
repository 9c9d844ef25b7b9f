"""Runs: from choices to a configuration, from a configuration to a folder, and what becomes of it there.

In: a configuration, as choices (``choices.py``) or options of LightningCLI. Out: a run folder (``folder.py``) whose name says
what the run is (``naming.py``). Start at ``training.py``, which trains a run, gathers its evidence and takes it up again;
``dependent.py`` does the same inside the folder of a base, for ``adversaries.py`` and ``controls.py``.
"""
