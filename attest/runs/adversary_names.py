"""The words that choose adversaries of a base, and the names of their folders (E7). Nothing heavy is imported."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from attest.core.errors import AttestError, unknown_choice
from attest.runs.choices import take_words

VARIANTS = ("unfrozen", "frozen")
DIVERGENCES = ("kl", "jsd", "smoothed-kl")
"""As ``attest.experiments.adversarial_loss`` has them, which takes seconds to import."""
COMMAND = "make adversarial LAMBDA=1e-3 {}"


@dataclass(frozen=True)
class Choices:
    """The choices of adversaries.

    Args:
        lambdas: the values of λ in the order in which they were typed; None for the default of the base.
        variant, divergence: as in ``attest.lightning_modules.TrainedAdversary``.
    """

    lambdas: tuple[float, ...] | None = None
    variant: str = "unfrozen"
    divergence: str = "kl"

    @property
    def sweep(self) -> str:
        """The part of the name that all adversaries share which differ in λ alone."""
        return f"{self.variant}-{self.divergence}"

    def name(self, lam: float) -> str:
        """Return the readable name of the adversary with this λ: ``unfrozen-kl-0.001``."""
        return f"{self.sweep}-{lam:g}"


def take_adversaries(arguments: Sequence[str]) -> tuple[Choices, list[str]]:
    """Return what LAMBDA, VARIANT and DIVERGENCE choose, and all other arguments.

    Raises:
        AttestError: a value is not known.
    """
    words, rest = take_words(arguments, NAMES)
    for name, known in (("VARIANT", VARIANTS), ("DIVERGENCE", DIVERGENCES)):
        if (typed := words.text(name, known[0])) not in known:
            raise unknown_choice(name, typed, known, COMMAND.format(f"{name}={{}}"))
    lambdas = tuple(map(_lambda, words.listed("LAMBDA"))) or None
    chosen = {name.lower(): words.typed[name] for name in ("VARIANT", "DIVERGENCE") if name in words.typed}
    return Choices(lambdas, **chosen), rest


NAMES = ("LAMBDA", "VARIANT", "DIVERGENCE")


def _lambda(text: str) -> float:
    if not re.fullmatch(r"\d*\.?\d+([eE][-+]?\d+)?", text.strip()):
        raise AttestError(
            f"LAMBDA={text} is not a λ; expected numbers from 0, with commas between them. Type for example: make adversarial "
            "LAMBDA=1e-4,1e-3"
        )
    return float(text)


def named(name: str) -> tuple[Choices, float]:
    """Return the choices and the λ that the readable name of an adversary says.

    Raises:
        AttestError: the name is not that of an adversary.
    """
    match = re.fullmatch(rf"({'|'.join(VARIANTS)})-({'|'.join(DIVERGENCES)})-(.+)", name)
    if match is None:
        raise AttestError(
            f"{name} is not the name of an adversary; expected <variant>-<divergence>-<λ>, for example unfrozen-kl-0.001"
        )
    return Choices(None, match[1], match[2]), _lambda(match[3])
