"""Benchmarks: the evidence computed here beside the literature's own way, on the same texts, in one run.

``python -m benchmarks.evidence --data sst|imdb --texts N``. Start at ``evidence.py``; ``published.py`` is the other side.
"""
