"""The names of the controls of a base in tables, and the words that choose controls. Nothing heavy is imported."""

from collections.abc import Sequence

from attest.runs.choices import take_words

UNIFORM = "uniform attention"
GUIDE = "guide: "
BY_UNIFORM, BY_LEARNED, BY_BASE = (f"{GUIDE}{whose}" for whose in (UNIFORM, "attention learned with it", "base's attention"))
BY_ADVERSARY = f"{GUIDE}adversary's attention"
"""Its λ follows."""
SEEDS = 3


def seed_name(seed: int) -> str:
    """Return the name of the run with another seed."""
    return f"seed {seed}"


def by_adversary(lam: float) -> str:
    """Return the name of the guide by the adversary with this λ."""
    return f"{BY_ADVERSARY}, λ = {lam:g}"


def take_controls(arguments: Sequence[str]) -> tuple[int, str | None, list[str]]:
    """Return the number that SEEDS says, the guide that GUIDE names, None if none is typed, and all other arguments.

    Raises:
        AttestError: SEEDS is not a whole number from 1.
    """
    words, rest = take_words(arguments, ("SEEDS", "GUIDE"))
    return words.count("SEEDS", SEEDS), words.text("GUIDE") or None, rest
