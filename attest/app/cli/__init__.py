"""What a user types: one file a command, each with a ``main`` that takes what follows the command's name.

In: words such as ``DATA=sst --run.root=elsewhere``. Out: an exit code, and sentences. Start at ``main.py``, which lists the
commands. Nothing else in the package imports from here.
"""
