"""The verdict table: each number with its definition, its interval, its control and the published one."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attest.report.published import Published, published
from attest.run_folder import RunFolder, read_json


@dataclass(frozen=True)
class Line:
    """One row of the verdict."""

    name: str
    ours: str
    meaning: str
    detail: str = ""
    published: Published | None = None


SCORES = {
    "test/accuracy": ("Accuracy", "Share of test texts decided as their label says."),
    "test/f1": ("F1", "Harmonic mean of precision and recall of the positive class (macro average for more classes)."),
    "test/roc_auc": ("ROC-AUC", "Probability that a positive text scores above a negative one."),
}

EVIDENCE = {
    "E1/tau_gradient_inputs": (
        "E1  τ-b of attention and gradient × input",
        "Do tokens rank alike by attention and by |⟨∂ŷ/∂e, e⟩| with attention held constant? 1: the same ranking; 0: none in "
        "common. High speaks for reading attention as importance, low does not by itself speak against it.",
    ),
    "E1/tau_gradient_norm_inputs": (
        "E1  τ-b of attention and gradient norm",
        "The same with ‖∂ŷ/∂e‖, the gradient flowing through the attention too.",
    ),
    "E1/tau_gradient_norm_hidden": (
        "E1  τ-b of attention and gradient norm, hidden states",
        "The same of the hidden states that attention weights. High here and low for inputs: attention says which states "
        "matter, not which words.",
    ),
    "E1/tau_leave_one_out_inputs": (
        "E1  τ-b of attention and leave-one-out",
        "Do tokens rank alike by attention and by how far the prediction moves when they are removed and the text read anew?",
    ),
    "E1/tau_leave_one_out_hidden": (
        "E1  τ-b of attention and leave-one-out, hidden states",
        "The same where the text is read as it was and attention must do without one of its states.",
    ),
    "E1/tau_gradient_and_leave_one_out": (
        "E1  τ-b of gradient × input and leave-one-out",
        "How far two kinds of importance agree with one another: what may be expected of attention at best.",
    ),
    "E1/significant_gradient_inputs": (
        "E1  share of significant τ-b",
        "Share of texts whose τ-b with gradient × input has p < 0.05. Long texts reach it with a small τ-b.",
    ),
    "E1/ceiling_gradient_inputs": (
        "E1  ceiling of τ-b",
        "The largest |τ-b| that ties allow: sparse attention has many, so raw τ-b of sparse and dense do not compare.",
    ),
    "E2/tvd_median": (
        "E2  Δŷ under permuted attention",
        "Median total variation distance of the prediction when attention is shuffled over the tokens, 0 to 1. Near 0: the "
        "prediction does not depend on which tokens were attended to.",
    ),
    "E2/flipped": ("E2  decisions flipped", "Share of permutations that change the decision."),
    "E3/jsd_exact": (
        "E3  ε-max JSD, exact",
        "How different an attention gives the same prediction, to 0.01: the largest Jensen-Shannon divergence there is, up to "
        "ln 2 = 0.693. Large: the prediction does not pin the attention down.",
    ),
    "E3/jsd_search": (
        "E3  ε-max JSD, by search",
        "The same as gradient search finds it, k = 5; it can only fall short of the exact one.",
    ),
    "E3/jsd_search_filter": (
        "E3  ε-max JSD, by search, as released",
        "The same search, its results kept while the prediction moves by at most 0.05, as the released code does.",
    ),
    "E5/jsd": (
        "E5  JSD between seeds",
        "How far apart attention is when nothing but the seed differs: the noise floor of every other difference.",
    ),
    "E7/jsd": (
        "E7  Attention of the adversary, JSD to the base",
        "How differently this run attends, trained to predict as its base does; ln 2 = 0.693 is the most. Only what exceeds "
        "the JSD between seeds (E5, make controls) was gained by trying.",
    ),
    "E7/kl": ("E7  KL to the base", "The same as Kullback-Leibler divergence, from the adversary to the base, in nats."),
    "E7/tvd": (
        "E7  Predictions of the adversary, TVD to the base",
        "What the other attention costs: total variation distance of the predictions, 0 to 1.",
    ),
    "E7/nll": ("E7  NLL of the base's tags", "What the other attention costs: negative log-likelihood of the base's tags."),
    "E7/same": ("E7  decisions as the base's", "Share of texts, of taggers of tokens, that are decided as the base decides."),
    "E6/tvd": ("E6  Predictions of the guided model, TVD to the base", "A model whose attention is given, not learned."),
    "E6/same": ("E6  decisions as the base's", "Share of texts, of taggers of tokens, that are decided as the base decides."),
    "E8/correct_softmax": ("E8  accuracy under softmax", "The trained model, its projection swapped for softmax."),
    "E8/correct_sparsemax": ("E8  accuracy under sparsemax", "The trained model, its projection swapped for sparsemax."),
    "E8/correct_entmax15": ("E8  accuracy under 1.5-entmax", "The trained model, its projection swapped for 1.5-entmax."),
    "E8/support": ("E8  support of the attention", "Share of real tokens that get any weight."),
    "E10/entropy_gradient": (
        "E10  H̃ of the influence of inputs",
        "Normalised entropy of the gradient norms of the inputs, 1: spread evenly. Sparse attention need not make it smaller.",
    ),
    "E10/entropy_hidden": (
        "E10  H̃ of the influence on hidden states",
        "The same of the inputs' influence on single hidden states, on a sample of texts: near 1, a state stands for all.",
    ),
    "E11/only_top": (
        "E11  decisions that need the top token",
        "Share of texts whose decision flips without the most attended token but not without a random other one.",
    ),
    "E11/only_random": ("E11  decisions that need another", "The reverse: only the random other one flips the decision."),
    "E12/fraction_attention": (
        "E12  erased by attention until the flip",
        "Share of the weights zeroed, largest first, before the decision flips.",
    ),
    "E12/fraction_minimum": (
        "E12  erased at least until the flip",
        "Share of the weights in the smallest set that flips the decision, exactly. A faithful order comes near.",
    ),
}


def verdict(folder: RunFolder, settings: dict[str, Any], summary: dict[str, Any], class_names: Sequence[str]) -> list[Line]:
    """The control first, then scores, then evidence; what did not run is left out."""
    theirs = published(folder.path.parent.parent.name, folder.path.parent.name)
    summary = summary | {key: value for key, value in _controls(folder).items() if key.startswith("E5/")}
    lines = [uniform_control(folder, settings)]
    for key, (name, meaning) in SCORES.items():
        if key in summary:
            lines.append(Line(name, _number(summary[key]), meaning, published=theirs.get(key)))
    for key, (name, meaning) in EVIDENCE.items():
        if f"{key}/mean" in summary:
            detail = _detail(summary, key, class_names)
            lines.append(Line(name, _with_interval(summary, key), meaning, detail, theirs.get(key)))
    return lines


def uniform_control(folder: RunFolder, settings: dict[str, Any]) -> Line:
    """E4: the same model trained with uniform attention, read from its own run folder, or how to run it."""
    run = settings["run"]
    name = "E4  Accuracy with uniform attention"
    meaning = "The control that says whether the rest means anything: if it is as good, the task needs no attention."
    if run["projection"] == "uniform":
        return Line(name, "this run", meaning)
    controls = _controls(folder)
    compared = [row["accuracy"] for row in controls.get("rows", []) if row["experiment"] == "E4"]
    if compared:
        return Line(name, _number(compared[0]), meaning)
    twin = _uniform_twin(folder, run)
    if twin is not None and twin.is_file():
        return Line(name, _number(read_json(twin)["test/accuracy"]), meaning)
    choices = " ".join(f"{choice.upper()}={run[choice]}" for choice in ("data", "model", "scoring", "projection"))
    return Line(name, f"not run: make controls {choices} SEED={settings['seed_everything']}", meaning)


def _controls(folder: RunFolder) -> dict[str, Any]:
    """What ``make controls`` has written into the run's folder, or into its base's where it depends on one."""
    base = folder.path.parents[1] if (folder.path / "base.json").is_file() else folder.path
    summary = base / "controls" / folder.summary.name
    return read_json(summary) if summary.is_file() else {}


def _uniform_twin(folder: RunFolder, run: dict[str, Any]) -> Path | None:
    """The summary of the run that differs in its projection alone; None where a hash in the name hides what differs."""
    parts = [run[part] for part in ("recipe", "model", "scoring")]
    if folder.path.parent.name != "-".join((*parts, run["projection"])):
        return None
    return folder.path.parent.parent / "-".join((*parts, "uniform")) / folder.path.name / folder.summary.name


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def _with_interval(summary: dict[str, Any], key: str) -> str:
    mean, low, high = (summary[f"{key}/{part}"] for part in ("mean", "ci_low", "ci_high"))
    return _number(mean) if low is None or low == high else f"{_number(mean)} [{_number(low)}, {_number(high)}]"


def _detail(summary: dict[str, Any], key: str, class_names: Sequence[str]) -> str:
    """Spread over instances, means by predicted class, and how many instances were left out."""
    prefix = f"{key}/mean/predicted_"
    by_class = [f"{class_names[int(k.removeprefix(prefix))]} {_number(v)}" for k, v in summary.items() if k.startswith(prefix)]
    undefined = [f"undefined on {summary[f'{key}/nan']:.0f}"] if summary[f"{key}/nan"] else []
    classes = [f"predicted {', '.join(by_class)}"] if by_class else []
    return "; ".join([f"± {_number(summary[f'{key}/std'])}", *classes, *undefined])
