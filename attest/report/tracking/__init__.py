"""Tracking sends the numbers, the figures and the files of a run folder to W&B and other loggers; start at ``loggers.py``."""
