"""What the controls of a base are called in tables, and the words that choose them; nothing heavy is imported for it."""

from collections.abc import Sequence

from attest.runs.choices import take_words

UNIFORM = "uniform attention"
GUIDE = "guide: "
BY_UNIFORM, BY_LEARNED, BY_BASE = (f"{GUIDE}{whose}" for whose in (UNIFORM, "attention learned with it", "base's attention"))
BY_ADVERSARY = f"{GUIDE}adversary's attention"
"""Followed by its λ."""
SEEDS = 3


def seed_name(seed: int) -> str:
    """Another seed of the base."""
    return f"seed {seed}"


def by_adversary(lam: float) -> str:
    """Guided by the adversary with this λ."""
    return f"{BY_ADVERSARY}, λ = {lam:g}"


def choose(arguments: Sequence[str]) -> tuple[int, str | None, list[str]]:
    """Part SEEDS and GUIDE from all other arguments.

    Raises:
        AttestError: SEEDS is not a whole number from 1.
    """
    words, rest = take_words(arguments, ("SEEDS", "GUIDE"))
    return words.count("SEEDS", SEEDS), words.text("GUIDE") or None, rest
