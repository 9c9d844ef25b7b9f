"""The foundation of all other folders: attention, measures, memory, random numbers, processes, errors.

``attention`` and ``measures`` contain the mathematics. The files beside them contain the means to compute it: pieces of work
that fit a memory budget, random numbers that do not depend on the order of the work, and several processes. Nothing here knows
of experiments, run folders or commands. Start at ``memory.py``.
"""
