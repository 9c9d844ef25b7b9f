"""How evidence is computed: in chunks under a memory budget, with random numbers that depend on no order, sorted in blocks.

Everything here is batched torch code that knows nothing of attention, models or files. Start at ``memory.py``.
"""
