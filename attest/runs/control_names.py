"""What the controls of a base are called in tables; nothing heavy is imported for it."""

UNIFORM = "uniform attention"
GUIDE = "guide: "
BY_UNIFORM, BY_LEARNED, BY_BASE = (f"{GUIDE}{whose}" for whose in (UNIFORM, "attention learned with it", "base's attention"))
BY_ADVERSARY = f"{GUIDE}adversary's attention"
"""Followed by its λ."""


def seed_name(seed: int) -> str:
    """Another seed of the base."""
    return f"seed {seed}"


def by_adversary(lam: float) -> str:
    """Guided by the adversary with this λ."""
    return f"{BY_ADVERSARY}, λ = {lam:g}"
