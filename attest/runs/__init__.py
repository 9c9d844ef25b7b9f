"""The folders of runs: what a user asked for, how a run is named, where its files are, and whether they belong together.

In: typed words (``choices.py``). Out: a run folder (``folder.py``), named by what was asked for (``asked.py``). Nothing is
trained or drawn here. Start at ``folder.py``.
"""
