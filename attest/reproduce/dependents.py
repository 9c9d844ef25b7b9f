"""Runs that depend on a base run: how each is typed, and where it lies inside the base run's folder."""

from collections.abc import Callable

DEPENDENTS: dict[str, Callable] = {}
