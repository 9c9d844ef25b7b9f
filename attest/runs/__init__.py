"""A run on disk: what was asked for, how the run is named, where its files lie and whether they belong together.

In: typed words (``choices.py``). Out: a run folder (``folder.py``) whose name follows from what was asked for (``asked.py``).
Published tables are data, too (``published_tables.py``). Nothing is trained or drawn here, but in ``attest.app``. Start at
``folder.py``.
"""
