"""Tracking: what W&B and other loggers get from a run.

In: a run folder and its figures. Out: logs, artifacts with their lineage, and workspaces. Start at ``loggers.py``.
"""
