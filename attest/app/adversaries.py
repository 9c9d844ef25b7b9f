"""The runs that are compared with a base run: adversaries, which learn to predict the same with other attention (E7), and
controls: with uniform attention (E4), other seeds (E5), or a given attention (guides, E6).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from attest.app.dependent import Base, Dependent, overlay, train_base, train_dependent
from attest.core.errors import AttestError
from attest.core.spelled import spelled
from attest.runs.asked import AskedRun, Settings
from attest.runs.capabilities import declared, is_sparse, predicts
from attest.runs.choices import config_file
from attest.runs.comparison import require_comparable, write_pair
from attest.runs.dependent_names import (
    BY_BASE,
    BY_LEARNED,
    BY_UNIFORM,
    LAST,
    PROBES,
    UNIFORM,
    AdversaryChoices,
    by_adversary,
    guide_name,
    parse_adversary,
    seed_name,
)
from attest.runs.folder import RunFolder, read_yaml
from attest.runs.identity import ADVERSARIAL, GUIDES

DEFAULT_LAMBDA = {"label": "1e-3", "tags": "0.2"}
"""The default weight λ of the divergence of attention in the loss of an adversary, a model that learns to predict as the base
run does but to attend elsewhere. The keys say what the base run predicts: one ``label`` for each text, or ``tags`` of
tokens."""
OVERLAYS = {"label": "adversarial", "tags": "adversarial-tagger"}


def lambdas_of(choices: AdversaryChoices, base: Settings) -> tuple[float, ...]:
    """Return the user's values of λ (weight of the divergence in an adversary's loss), or the default value."""
    return choices.lambdas or (float(DEFAULT_LAMBDA[_predicts(base)]),)


def require_adversary(choices: AdversaryChoices, base: Settings) -> None:
    """Raise an error if no adversary of the base run is possible with the chosen VARIANT and DIVERGENCE."""
    kind, network = _predicts(base), base["model"]["init_args"]["network"]
    if kind == "label" and not declared(network, "pools_by_attention"):
        raise AttestError(
            f"{network['class_path']} does not pool its hidden states by attention, so an adversary has no attention to "
            "change; expected a network that pools by attention. Type MODEL=bilstm or MODEL=transformer-me."
        )
    require_comparable(base)
    projections = network["init_args"].get("projection") or {}
    for projection in projections if isinstance(projections, list) else [projections]:
        if "class_path" not in projection:  # none is named: softmax
            continue
        if not declared(projection, "reads_scores"):
            raise AttestError(
                "the projection of the base reads no scores (uniform or last), so an adversary has nothing to change; "
                "expected another projection. Type PROJECTION=softmax. To compare with uniform attention, type: "
                f"{spelled('controls')}"
            )
        if is_sparse(projection) and choices.divergence == "kl":
            name = projection["class_path"].rsplit(".", 1)[-1]
            raise AttestError(
                f"the base model uses {name}, which gives some tokens an attention weight of exactly 0. DIVERGENCE=kl is "
                "infinite if the adversary attends to such a token; expected a divergence that is always finite. Type "
                "DIVERGENCE=jsd or DIVERGENCE=smoothed-kl."
            )


def _predicts(base: Settings) -> str:
    """Return what the base run predicts, ``label`` or ``tags``; refuse a base run that cannot have an adversary."""
    kind = predicts(base)
    if kind not in OVERLAYS or not base["model"]["init_args"].get("network"):
        raise AttestError(
            f"no adversary can be trained against {base['model']['class_path']}; expected a LightningModule that is no "
            'adversary itself, and a network with the attribute predicts = "label" or "tags". Type for example: MODEL=bilstm'
        )
    return kind


def adversary(choices: AdversaryChoices, lam: float, base: Settings) -> Dependent:
    """Return the description of a run that trains an adversary of the base run with these choices and this λ."""
    terms = {"lam": lam, "divergence": choices.divergence, "variant": choices.variant, "convention": choices.convention}
    settings = overlay(OVERLAYS[_predicts(base)], {"model": {"init_args": terms}})
    return Dependent(ADVERSARIAL, choices.name(lam), settings, {"E7": partial(write_pair, "E7")})


ABOUT_THE_MODEL = re.compile(
    r"(MODEL|SCORING|PROJECTION|RECIPE)=|EXPERIMENTS=(?!none$)|--model\.|--experiments\.(?!\w+=null$)"
)
"""Matches the options of a command that describe the model, such as ``MODEL=bilstm``. They are not passed on to the control of
experiment E6 that reads words without context, because it has a model of its own. ``EXPERIMENTS=none`` and
``--experiments.E2=null``, which switch experiments off, do not match."""
GUIDE_OVERLAYS = {"label": "guide", "tags": "probe"}
STATES_OF, STATES = (f"attest.models.networks.{each}" for each in ("TransformerTagger", "WeightedStatesTagger"))
SIZES = ("size", "layers", "heads", "embedding_size", "dropout")
"""The names of the constructor arguments that ``WeightedStatesTagger``, a control model that reads tokens without context,
takes over from the base tagger."""
GUIDING = {"label": (1e-3,), "tags": (0.2, 3.0)}
"""The default values of λ for the adversaries of experiment E6, in which other models are trained with an adversary's
attention; one adversary is trained for each value. The keys say what the base run predicts: one ``label`` for each text, or
``tags`` of tokens."""


def require_controls(base: Settings) -> None:
    """Refuse a base run without learned attention, because control runs are compared with learned attention."""
    run = base["run"]
    if predicts(base) not in GUIDE_OVERLAYS:
        raise AttestError(
            f"no control runs can be trained for {base['model']['class_path']}; expected a LightningModule that is no "
            'adversary itself, and a network with the attribute predicts = "label" or "tags". Type for example: MODEL=bilstm'
        )
    if run["projection"] in ("uniform", "last") or run["model"] == "average":
        raise AttestError(
            f"MODEL={run['model']} PROJECTION={run['projection']} is itself a control; expected the model that is compared "
            "with control runs. Type MODEL=bilstm PROJECTION=softmax"
        )
    require_comparable(base)


def require_guides(base: Settings, probe: str = PROBES[0]) -> None:
    """Refuse a base run if a model of E6, with this kind of probe, cannot use the attention of the base run."""
    require_controls(base)
    network = base["model"]["init_args"].get("network") or {}
    if probe == "states" and network.get("class_path") != STATES_OF:
        raise AttestError(
            f"PROBE=states needs the attention of our tagger, and MODEL={base['run']['model']} has another network; "
            "expected MODEL=tagger. A classifier's model of E6 reads weighted states anyway: leave PROBE out."
        )
    reasons = dict(without_sense(base))
    if "E6" in reasons:
        raise AttestError(
            f"MODEL={base['run']['model']} cannot guide another model (E6): {reasons['E6']}; expected a base model such as "
            "MODEL=bilstm. Leave GUIDE out to train the other controls."
        )


def controls(
    base: Base, typed: Sequence[str], own: Sequence[str], seeds: int, choices: AdversaryChoices
) -> Iterator[tuple[str, str, Callable[[], RunFolder]]]:
    """Yield the experiment, the name and the training function of each control run of a base run."""
    settings = base.settings
    kind, seed_of_base = str(predicts(settings)), settings["seed_everything"]
    left_out = dict(without_sense(settings))
    if "E4" not in left_out:
        yield "E4", UNIFORM, _training(typed, "PROJECTION=uniform")
    if kind == "label" and not left_out:
        yield "E4", LAST, _training(typed, "PROJECTION=last")
    follows_seed = settings["data"]["init_args"].get("corpus_seed", 0) is None
    corpus = [f"--data.init_args.corpus_seed={seed_of_base}"] if follows_seed else []
    for seed in range(seed_of_base + 1, seed_of_base + 1 + seeds):
        yield "E5", seed_name(seed), _training(typed, *corpus, f"SEED={seed}")
    if "E6" in left_out:
        return
    if kind == "label":
        kept = [each for each in typed if not ABOUT_THE_MODEL.match(each)]
        average = [*kept, "MODEL=average", f"RECIPE={settings['run']['recipe']}"]
        yield "E6", BY_UNIFORM, _training(average, "PROJECTION=uniform")
        yield "E6", BY_LEARNED, _training(average)
    yield "E6", BY_BASE, partial(train_guide, base, own, "base")
    for lam in choices.lambdas or GUIDING[kind]:
        yield "E6", by_adversary(lam), partial(train_guide, base, own, choices.name(lam))


def _training(typed: Sequence[str], *more: str) -> Callable[[], RunFolder]:
    return lambda: train_base(AskedRun.of([*typed, *more])).folder


def without_sense(base: Settings) -> Iterator[tuple[str, str]]:
    """Yield the id of each control experiment (E4 or E6) that is impossible for a base run, and the reason."""
    network = base["model"]["init_args"].get("network")
    if not network:
        return
    name = network["class_path"].rsplit(".", 1)[-1]
    if not declared(network, "trains_with_any_projection"):
        yield "E4", f"{name} was pretrained with a softmax, and would have to learn uniform attention from nothing"
    if predicts(base) == "label" and not declared(network, "pools_by_attention"):
        yield "E6", f"{name} does not pool its hidden states by attention, so there is none that could guide another model"
    elif declared(network, "reads_questions", False):
        yield "E6", f"{name} reads a question beside each text, and the model without context that E6 guides reads none"


def train_guide(base: Base, own: Sequence[str], name: str, probe: str = PROBES[0]) -> RunFolder:
    """Train a model with the attention of the base run or of an adversary, and return the folder of the new run.

    Args:
        name: ``base``, or the readable name of an adversary, ``unfrozen-kl-0.001``, which is trained first if it is missing;
            the new run has the same name, after ``states-`` if it is such a probe.
        probe: one of ``PROBES``.
    """
    reads = None
    if name != "base":
        choices, lam = parse_adversary(name)
        reads = train_dependent(base, adversary(choices, lam, base.settings), own)
    return train_dependent(base, guide(name, base, reads, probe), own)


def guide(name: str, base: Base, reads: RunFolder | None = None, probe: str = PROBES[0]) -> Dependent:
    """Return the description of a run that uses the attention of its base run, or of the adversary ``reads``."""
    kind = str(predicts(base.settings))
    network = None
    if kind == "label":  # a model without context
        network = read_yaml(config_file("MODEL", "average"))["model"]["init_args"]["network"]
        network["init_args"]["projection"] = {"class_path": "attest.core.attention.Uniform"}
    elif probe == "states":
        sizes = base.settings["model"]["init_args"]["network"].get("init_args", {})
        network = {"class_path": STATES, "init_args": {each: sizes[each] for each in SIZES if each in sizes}}
    name = guide_name(name, probe)
    return Dependent(GUIDES, name, overlay(GUIDE_OVERLAYS[kind]), {"E6": partial(write_pair, "E6")}, reads, network)
