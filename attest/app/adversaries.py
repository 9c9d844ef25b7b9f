"""Which adversaries a base can have, and what each is as a dependent run (E7).

What a base is compared with: its twin under uniform attention (E4), its seeds (E5), its guides (E6).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from attest.app.dependent import Base, Dependent, merged, overlay, train_base, train_dependent
from attest.core.errors import AttestError
from attest.runs import capabilities
from attest.runs.adversary_names import Choices, named
from attest.runs.capabilities import pools_by_attention, predicts, reads_questions, trains_with_any_projection
from attest.runs.choices import config_file
from attest.runs.comparison import require_comparable, write_comparison
from attest.runs.control_names import BY_BASE, BY_LEARNED, BY_UNIFORM, UNIFORM, by_adversary, seed_name
from attest.runs.folder import RunFolder, read_yaml
from attest.runs.identity import ADVERSARIAL, GUIDES
from attest.runs.past import at_most

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


ABOUT_THE_MODEL = re.compile(
    r"(MODEL|SCORING|PROJECTION|RECIPE)=|EXPERIMENTS=(?!none$)|--model\.|--experiments\.(?!\w+=null$)"
)
"""What is typed of a base and cannot be said of a model without context; what is left out of one is left out of the other."""
GUIDE_OVERLAYS = {"label": "guide", "tags": "probe"}
GUIDING = {"label": (1e-3,), "tags": (0.2, 3.0)}
"""By what the base predicts; of the latter λ of the adversaries that guide, where none is typed."""


@dataclass(frozen=True)
class Control:
    """One run beside the base.

    Args:
        experiment: E4, E5 or E6.
        name: in tables.
        train: trains it, unless it is there, and says where it lies.
        epochs: of its training, at most; None or -1 for no limit.
        adversary_epochs: likewise of the adversary that is trained before it; 0 for none.
    """

    experiment: str
    name: str
    train: Callable[[], RunFolder]
    epochs: int | None
    adversary_epochs: int = 0


def require_controls(base: dict[str, Any]) -> None:
    """Refuse a base that has no learned attention to control for.

    Raises:
        AttestError: it is neither classifier nor tagger, or its attention is uniform itself.
    """
    run = base["run"]
    if predicts(base) not in GUIDE_OVERLAYS:
        raise AttestError(
            f"{base['model']['class_path']} has no controls; expected a LightningModule that declares predicts, label or "
            "tags, and is not itself trained against another run. Type MODEL=bilstm for example."
        )
    if run["projection"] == "uniform" or run["model"] == "average":
        raise AttestError(
            f"MODEL={run['model']} PROJECTION={run['projection']} is a control itself; expected the model to compare "
            "controls with. Type MODEL=bilstm PROJECTION=softmax"
        )
    require_comparable(base)


def require_guides(base: dict[str, Any]) -> None:
    """Refuse a base whose attention guides no other model.

    Raises:
        AttestError: as ``require_controls``, or E6 says nothing of it.
    """
    require_controls(base)
    reasons = dict(without_sense(base))
    if "E6" in reasons:
        raise AttestError(
            f"MODEL={base['run']['model']} has no guides (E6): {reasons['E6']}; expected a base such as MODEL=bilstm. Leave "
            "GUIDE out for its other controls."
        )


def guiding_lambdas(base: Base) -> tuple[float, ...]:
    """λ of the adversaries that guide a base, where none is typed."""
    return GUIDING[str(predicts(base.settings))]


def controls(
    base: Base, typed: Sequence[str], own: Sequence[str], seeds: int, choices: Choices, lambdas: Sequence[float]
) -> Iterator[Control]:
    """All controls of a base, in the order of their experiments.

    Args:
        base: trained.
        typed: the choices and options that named it.
        own: options of the runs that depend on it alone.
        seeds: how many other seeds; those that follow the base's.
        choices, lambdas: of the adversaries whose attention guides; they are trained too.
    """
    twins = _with_corpus(base, typed)
    epochs = base.settings["trainer"]["max_epochs"]
    guide_epochs = _typed_epochs(own, epochs)
    adversary_epochs = _typed_epochs(own, adversary(choices, 0.0, base.settings).overlay["trainer"]["max_epochs"])
    left_out = dict(without_sense(base.settings))
    if "E4" not in left_out:
        yield Control("E4", UNIFORM, lambda: train_base([*typed, "PROJECTION=uniform"]).folder, epochs)
    for seed in range(base.settings["seed_everything"] + 1, base.settings["seed_everything"] + 1 + seeds):
        yield Control("E5", seed_name(seed), partial(_train_seed, twins, seed), epochs)
    if "E6" in left_out:
        return
    if not _tags(base):
        yield from _contextless(base, typed)
    yield Control("E6", BY_BASE, partial(train_guide, base, own, "base"), guide_epochs)
    for lam in lambdas:
        train = partial(train_guide, base, own, choices.name(lam))
        yield Control("E6", by_adversary(lam), train, guide_epochs, adversary_epochs)


def without_sense(base: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The experiments that say nothing of such a base, and why.

    Args:
        base: its settings.
    """
    network = base["model"]["init_args"].get("network")
    if not network:
        return
    name = network["class_path"].rsplit(".", 1)[-1]
    if not trains_with_any_projection(network):
        yield "E4", f"{name} was pretrained with a softmax, and would have to learn uniform attention from nothing"
    if predicts(base) == "label" and not pools_by_attention(network):
        yield "E6", f"{name} does not pool its hidden states by attention, so there is none that could guide another model"
    elif reads_questions(network):
        yield "E6", f"{name} reads a question beside each text, and the model without context that E6 guides reads none"


def _typed_epochs(own: Sequence[str], otherwise: Any) -> Any:
    """``trainer.max_epochs`` of the runs that depend on the base, where that is typed in one word."""
    typed = [option.partition("=")[2] for option in own if option.startswith("--trainer.max_epochs=")]
    return int(typed[-1]) if typed and typed[-1].isdigit() else otherwise


def announced(control: Control, base: Base) -> str:
    """A line that says what is trained for a control, and about how long."""
    most = partial(at_most, steps=base.settings["trainer"]["max_steps"], base=base.folder)
    first = f"an adversary, {most(control.adversary_epochs)}, and then " if control.adversary_epochs else ""
    return f"  {control.experiment}  {control.name}: {first}{most(control.epochs)}"


def _with_corpus(base: Base, typed: Sequence[str]) -> list[str]:
    """Where a generated corpus is another with every seed, other seeds keep the base's, so that texts can be compared."""
    follows_seed = base.settings["data"]["init_args"].get("corpus_seed", 0) is None
    return [*typed, f"--data.init_args.corpus_seed={base.settings['seed_everything']}"] if follows_seed else list(typed)


def _train_seed(typed: Sequence[str], seed: int) -> RunFolder:
    return train_base([*typed, f"SEED={seed}"]).folder


def _tags(base: Base) -> bool:
    return predicts(base.settings) == "tags"


def _contextless(base: Base, typed: Sequence[str]) -> Iterator[Control]:
    """Guides of a classifier with uniform and with learned attention; of a tagger these are E4 and the base itself."""
    recipe, epochs = base.settings["run"]["recipe"], base.settings["trainer"]["max_epochs"]
    average = [*(each for each in typed if not ABOUT_THE_MODEL.match(each)), "MODEL=average", f"RECIPE={recipe}"]
    yield Control("E6", BY_UNIFORM, lambda: train_base([*average, "PROJECTION=uniform"]).folder, epochs)
    yield Control("E6", BY_LEARNED, lambda: train_base(average).folder, epochs)


def train_guide(base: Base, own: Sequence[str], name: str) -> RunFolder:
    """Train what is guided by the base's attention, or by that of an adversary, which is trained first if it is missing.

    Args:
        base, own: as in ``controls``.
        name: ``base``, or the readable name of an adversary, ``unfrozen-kl-0.001``; the guided run is called the same.
    """
    if name == "base":
        return train_dependent(base, guide(name, base), own)
    choices, lam = named(name)
    return train_dependent(base, guide(name, base, train_dependent(base, adversary(choices, lam, base.settings), own)), own)


def guide(name: str, base: Base, reads: RunFolder | None = None) -> Dependent:
    """The dependent run that learns with attention given by the base or by another run, an adversary of it."""
    settings, comparison = overlay(GUIDE_OVERLAYS[str(predicts(base.settings))]), {"E6": partial(write_comparison, "E6")}
    return Dependent(GUIDES, name, settings, comparison, reads, None if _tags(base) else _contextless_network())


def _contextless_network() -> dict[str, Any]:
    """That of MODEL=average; its attention is given, so it learns none."""
    model = read_yaml(config_file("MODEL", "average"))["model"]
    network = model["init_args"]["network"]
    return merged(network, {"init_args": {"projection": {"class_path": "attest.core.attention.Uniform"}}})
