"""The words that choose adversaries and controls of a base, and the names of these dependent runs.

An adversary (E7) and its folder are named ``unfrozen-kl-0.001``, or ``unfrozen-kl-yang-0.001`` if its loss follows another
convention than ours; a control (E4 to E6) has the name that a table shows.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from attest.core.errors import AttestError, unknown_choice
from attest.core.spelled import spelled
from attest.runs.choices import take_words

VARIANTS = ("unfrozen", "frozen")
DIVERGENCES = ("kl", "jsd", "smoothed-kl")
CONVENTIONS = ("instances", "wiegreffe-pinter", "yang")
"""The conventions for the scale of the terms in an adversary's loss, by the papers they come from; ``instances`` is Attest's
own. The list is repeated from ``attest.experiments.adversarial_loss``, because importing that module takes seconds."""
ADVERSARY_WORDS = ("LAMBDA", "VARIANT", "DIVERGENCE", "CONVENTION")
PROBES = ("attention", "states")
"""The models that experiment E6 trains with a tagger's attention: ``attention``, a tagger of the same kind; ``states``, a
tagger whose hidden state of a token depends on no other token."""
UNIFORM = "uniform attention"
LAST = "attention on the last state alone"
GUIDE = "guide: "
BY_UNIFORM, BY_LEARNED, BY_BASE = (f"{GUIDE}{whose}" for whose in (UNIFORM, "attention learned with it", "base's attention"))
BY_ADVERSARY = f"{GUIDE}adversary's attention"
"""The beginning of the name of a model that is trained with an adversary's attention; the λ of the adversary follows."""
SEEDS = 3
"""With how many other seeds ``attest controls`` trains the model of the base run again, unless the user types another
number."""


@dataclass(frozen=True)
class AdversaryChoices:
    """The user's choices for adversaries: values of λ (a weight in the loss), a variant, a divergence and a convention."""

    lambdas: tuple[float, ...] | None = None
    variant: str = "unfrozen"
    divergence: str = "kl"
    convention: str = "instances"

    @property
    def sweep(self) -> str:
        """Return the common part of the adversaries' names, without λ: ``unfrozen-kl``, or with another convention than
        ours ``unfrozen-kl-yang``.
        """
        named = [] if self.convention == CONVENTIONS[0] else [self.convention]
        return "-".join([self.variant, self.divergence, *named])

    def name(self, lam: float) -> str:
        """Return the name of the adversary with a given λ, such as ``unfrozen-kl-0.001``."""
        return f"{self.sweep}-{lam:g}"


def take_adversaries(arguments: Sequence[str]) -> tuple[AdversaryChoices, list[str]]:
    """Parse the words LAMBDA, VARIANT, DIVERGENCE and CONVENTION; return their values and all other arguments."""
    words, rest = take_words(arguments, ADVERSARY_WORDS)
    chosen = []
    for name, known in (("VARIANT", VARIANTS), ("DIVERGENCE", DIVERGENCES), ("CONVENTION", CONVENTIONS)):
        if (typed := words.text(name, known[0])) not in known:
            raise unknown_choice(name, typed, known, spelled("adversarial", f"LAMBDA=1e-3 {name}={{}}"))
        chosen.append(typed)
    lambdas = tuple(map(_parse_lambda, words.listed("LAMBDA"))) or None
    return AdversaryChoices(lambdas, *chosen), rest


def _parse_lambda(text: str) -> float:
    if not re.fullmatch(r"\d*\.?\d+([eE][-+]?\d+)?", text.strip()):
        raise AttestError(
            f"LAMBDA={text} is not valid; expected one or more numbers from 0, separated by commas. Type for example: "
            f"{spelled('adversarial', 'LAMBDA=1e-4,1e-3')}"
        )
    return float(text)


def parse_adversary(name: str) -> tuple[AdversaryChoices, float]:
    """Return the choices and the λ in the name of an adversary, such as ``unfrozen-kl-0.001`` or ``unfrozen-kl-yang-0.2``."""
    match = re.fullmatch(rf"({'|'.join(VARIANTS)})-({'|'.join(DIVERGENCES)})(?:-({'|'.join(CONVENTIONS[1:])}))?-(.+)", name)
    if match is None:
        raise AttestError(
            f"{name!r} is not the name of an adversary; expected <variant>-<divergence>-<λ> or "
            "<variant>-<divergence>-<convention>-<λ>, for example unfrozen-kl-0.001"
        )
    return AdversaryChoices(None, match[1], match[2], match[3] or CONVENTIONS[0]), _parse_lambda(match[4])


@dataclass(frozen=True)
class ControlChoices:
    """The user's choices for controls: the number of seeds, and the attention and the kind of a single probe.

    Args:
        guide: ``base`` or the name of an adversary; None to train all controls.
        probe: one of ``PROBES``.
    """

    seeds: int = SEEDS
    guide: str | None = None
    probe: str = PROBES[0]


def take_controls(arguments: Sequence[str]) -> tuple[ControlChoices, list[str]]:
    """Parse the words SEEDS, GUIDE and PROBE; return their values and all other arguments."""
    words, rest = take_words(arguments, ("SEEDS", "GUIDE", "PROBE"))
    choices = ControlChoices(words.count("SEEDS", SEEDS), words.text("GUIDE") or None, words.text("PROBE", PROBES[0]))
    if choices.probe not in PROBES:
        raise unknown_choice("PROBE", choices.probe, PROBES, spelled("controls", "GUIDE=base PROBE={}"))
    if choices.probe != PROBES[0] and choices.guide is None:
        raise AttestError(
            f"PROBE={choices.probe} lacks GUIDE=, the attention that this probe uses; expected GUIDE=base or the name of an "
            f"adversary. Type for example: {spelled('controls', f'GUIDE=base PROBE={choices.probe}')}"
        )
    return choices, rest


def guide_name(guide: str, probe: str = PROBES[0]) -> str:
    """Return the name of the folder of a guided run, such as ``base`` or ``states-unfrozen-kl-0.2``."""
    return guide if probe == PROBES[0] else f"{probe}-{guide}"


def seed_name(seed: int) -> str:
    """Return the name of a control, which is a run that differs from its base run only in the seed."""
    return f"seed {seed}"


def by_adversary(lam: float) -> str:
    """Return the name of the control run that uses the attention of the adversary with a given λ."""
    return f"{BY_ADVERSARY}, λ = {lam:g}"
