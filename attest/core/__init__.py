"""The foundation of all other folders: attention, measures, memory, random numbers, processes, errors.

``attention`` and ``measures`` are the mathematics. The files beside them are how evidence is computed: in chunks under a
memory budget, with random numbers that depend on no order, sorted in blocks, in several processes. Nothing here knows of
experiments, run folders or commands. Start at ``memory.py``.
"""
