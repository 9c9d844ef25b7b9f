"""Which adversaries a base can have, and what each is as a dependent run (E7)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

from attest.errors import AttestError, unknown_choice
from attest.experiments.adversarial_loss import DivergenceName
from attest.runs import capabilities
from attest.runs.comparison import require_comparable, write_comparison
from attest.runs.dependent import Dependent, merged, overlay
from attest.runs.words import take_words

Settings = dict[str, Any]
KIND = "adversarial"
VARIANTS = ("unfrozen", "frozen")
DEFAULT_LAMBDA = {"label": "1e-3", "tags": "0.2"}
"""By what the base predicts."""
OVERLAYS = {"label": "adversarial", "tags": "adversarial-tagger"}
COMMAND = "make adversarial LAMBDA=1e-3 {}"


@dataclass(frozen=True)
class Choices:
    """What is typed beside the choices of the base.

    Args:
        lambdas: values of λ in the order typed; None for the base's default.
        variant, divergence: as in ``attest.lightning_modules.TrainedAdversary``.
    """

    lambdas: tuple[float, ...] | None = None
    variant: str = "unfrozen"
    divergence: str = "kl"

    @property
    def sweep(self) -> str:
        """What all adversaries that differ in λ alone have in common."""
        return f"{self.variant}-{self.divergence}"

    def name(self, lam: float) -> str:
        """Readable name of an adversary: ``unfrozen-kl-0.001``."""
        return f"{self.sweep}-{lam:g}"


def choose(arguments: Sequence[str]) -> tuple[Choices, list[str]]:
    """Part LAMBDA, VARIANT and DIVERGENCE from all other arguments.

    Raises:
        AttestError: a value that is none of those there are.
    """
    words, rest = take_words(arguments, NAMES)
    for name, known in (("VARIANT", VARIANTS), ("DIVERGENCE", get_args(DivergenceName))):
        if (typed := words.text(name, known[0])) not in known:
            raise unknown_choice(name, typed, known, COMMAND.format(f"{name}={{}}"))
    lambdas = tuple(map(_lambda, words.listed("LAMBDA"))) or None
    chosen = {name.lower(): words.typed[name] for name in ("VARIANT", "DIVERGENCE") if name in words.typed}
    return Choices(lambdas, **chosen), rest


NAMES = ("LAMBDA", "VARIANT", "DIVERGENCE")


def _lambda(text: str) -> float:
    if not re.fullmatch(r"\d*\.?\d+([eE][-+]?\d+)?", text.strip()):
        raise AttestError(
            f"LAMBDA={text} is no λ; expected numbers from 0, with commas between them. Type for example: make adversarial "
            "LAMBDA=1e-4,1e-3"
        )
    return float(text)


def named(name: str) -> tuple[Choices, float]:
    """The choices and λ of an adversary's readable name.

    Raises:
        AttestError: it is none.
    """
    match = re.fullmatch(rf"({'|'.join(VARIANTS)})-({'|'.join(get_args(DivergenceName))})-(.+)", name)
    if match is None:
        raise AttestError(f"{name} names no adversary; expected <variant>-<divergence>-<λ>, for example unfrozen-kl-0.001")
    return Choices(None, match[1], match[2]), _lambda(match[3])


def lambdas_of(choices: Choices, base: Settings) -> tuple[float, ...]:
    """The values of λ that are asked for, or the base's default one."""
    return choices.lambdas or (float(DEFAULT_LAMBDA[_predicts(base)]),)


def require_adversary(choices: Choices, base: Settings) -> None:
    """Refuse a base that cannot have such an adversary.

    Raises:
        AttestError: it does not attend, or has nothing to learn in attention, or KL to its attention is infinite.
    """
    kind, network = _predicts(base), base["model"]["init_args"]["network"]
    if kind == "label" and not capabilities.pools_by_attention(network):
        raise AttestError(
            f"{network['class_path']} does not pool its hidden states by attention, so an adversary has none to differ in; "
            "expected a network that pools by attention. Type MODEL=bilstm or MODEL=transformer-me."
        )
    require_comparable(base)
    projections = network["init_args"].get("projection") or {}
    for projection in projections if isinstance(projections, list) else [projections]:
        _require_projection(choices, projection)


def _predicts(base: Settings) -> str:
    """What the base predicts, if it is one that can have adversaries."""
    kind = capabilities.predicts(base)
    if kind not in OVERLAYS or not base["model"]["init_args"].get("network"):
        raise AttestError(
            f"{base['model']['class_path']} can have no adversary; expected a LightningModule with a network that declares "
            "predicts, label or tags, and is not itself trained against another run. Type MODEL=bilstm for example."
        )
    return kind


def _require_projection(choices: Choices, projection: Settings) -> None:
    if "class_path" not in projection:  # none is named: softmax
        return
    if not capabilities.reads_scores(projection):
        raise AttestError(
            "PROJECTION=uniform has no attention that an adversary could differ from or learn; expected another. Type "
            "PROJECTION=softmax, or make controls, which compares with uniform attention."
        )
    if capabilities.is_sparse(projection) and choices.divergence == "kl":
        name = projection["class_path"].rsplit(".", 1)[-1]
        raise AttestError(
            f"DIVERGENCE=kl is infinite wherever the adversary attends to a token to which the base's {name} gives exactly 0, "
            "so any such token would win; expected a divergence that stays finite. Type DIVERGENCE=jsd or "
            "DIVERGENCE=smoothed-kl."
        )


def adversary(choices: Choices, lam: float, base: Settings) -> Dependent:
    """The dependent run that trains this adversary against the base of these settings."""
    terms = {"lam": lam, "divergence": choices.divergence, "variant": choices.variant}
    settings = merged(overlay(OVERLAYS[_predicts(base)]), {"model": {"init_args": terms}})
    return Dependent(KIND, choices.name(lam), settings, {"E7": partial(write_comparison, "E7")})
