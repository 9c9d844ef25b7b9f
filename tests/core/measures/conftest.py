"""Hypothesis without deadlines: the first call of an operation may take as long as it likes on a busy machine."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
