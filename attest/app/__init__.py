"""What is called: commands, Python functions, and what they do with a run from its configuration to its evidence.

In: words such as ``DATA=sst``. Out: run folders with everything in them. Start at ``training.py``, which trains a run, gathers
its evidence and takes it up again; ``dependent.py`` does the same inside the folder of a base, for ``adversaries.py`` and
``controls.py``. ``cli`` holds the commands, ``api`` the Python functions, ``reproduce`` the plans of published tables. Nothing
else in the package imports from here.
"""
