"""The Python functions: ``attest.trial``, ``attest.train``, ``attest.open_run``, and what they return.

In: a network and texts, or the choices of a command (``data="sst"``). Out: a ``Trial`` or a ``Run``, which both are an
``Outcome``: numbers, tables, answers and a report, read from a run folder and nothing else. Start with ``Outcome`` in
``run.py``. The package offers these names itself (``attest.trial``) and imports them when they are first used.
"""
