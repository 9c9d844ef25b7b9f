"""Which adversaries a base can have, and what each is as a dependent run (E7)."""

from functools import partial
from typing import Any

from attest.errors import AttestError
from attest.runs import capabilities
from attest.runs.adversary_names import Choices
from attest.runs.comparison import require_comparable, write_comparison
from attest.runs.dependent import Dependent, merged, overlay
from attest.runs.identity import ADVERSARIAL

Settings = dict[str, Any]
DEFAULT_LAMBDA = {"label": "1e-3", "tags": "0.2"}
"""By what the base predicts."""
OVERLAYS = {"label": "adversarial", "tags": "adversarial-tagger"}


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
            f"{network['class_path']} does not pool its hidden states by attention, so there is none that an adversary could "
            "change; expected a network that pools by attention. Type MODEL=bilstm or MODEL=transformer-me."
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
            f"{base['model']['class_path']} cannot have an adversary; expected a LightningModule with a network that "
            "declares predicts, label or tags, and is not itself trained against another run. Type MODEL=bilstm for "
            "example."
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
    return Dependent(ADVERSARIAL, choices.name(lam), settings, {"E7": partial(write_comparison, "E7")})
