"""A run on disk: what was asked, what it is called, where its files are and whether they belong together.

In: choices (``choices.py``). Out: a run folder (``folder.py``) whose name says what the run is (``naming.py``). What published
tables ask of runs is data, too (``published_tables.py``). Nothing here trains or draws; ``attest.app`` does. Start at
``folder.py``.
"""
