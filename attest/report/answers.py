"""What the numbers of a run say, a plain sentence a question: no threshold decides, the numbers speak."""

import math
from collections.abc import Callable
from typing import Any

from attest.report.controls import Controls
from attest.report.numbers import number, percent

Z = 1.96


class _Means:
    """The means of a summary by key; ``None`` for what was not measured or is undefined."""

    def __init__(self, summary: dict[str, Any], instances: int | None) -> None:
        self.summary, self.instances = summary, instances

    def __call__(self, key: str) -> float | None:
        value = self.summary.get(f"{key}/mean")
        return None if value is None or math.isnan(value) else float(value)

    def __contains__(self, key: str) -> bool:
        """Whether it was measured, defined or not."""
        return f"{key}/nan" in self.summary

    def share_defined(self, key: str) -> float | None:
        """On what share of the texts a measure is defined."""
        return 1 - self.summary[f"{key}/nan"] / self.instances if self.instances else None


def answers(controls: Controls, instances: int | None) -> dict[str, str]:
    """A sentence for each experiment that ran.

    Args:
        controls: of the run, and with them its summary.
        instances: test texts, which say how far two accuracies must differ; None where that is not known.
    """
    mean = _Means(controls.summary, instances)
    sentences = {name: sentence(mean) for name, sentence in ANSWERS.items()}
    return {"E4": _uniform(controls, instances)} | {name: said for name, said in sentences.items() if said}


def _uniform(controls: Controls, instances: int | None) -> str:
    if controls.is_uniform:
        return "This run is the control itself: every token weighs the same."
    if controls.uniform is None:
        return "Not known: the same model with uniform attention was not trained. Until then nothing below can be weighed."
    ours, theirs = controls.summary["test/accuracy"], controls.uniform["test/accuracy"]
    said = f"With uniform attention {percent(theirs)} are decided rightly, with learned attention {percent(ours)}"
    if not instances:
        return f"{said}."
    noise = Z * math.sqrt((ours * (1 - ours) + theirs * (1 - theirs)) / instances)
    if abs(ours - theirs) <= noise:
        return (
            f"{said}: no more apart than {instances} texts can tell ({percent(noise)}). The task does not show a need for it."
        )
    return f"{said}: further apart than chance over {instances} texts ({percent(noise)})."


def _ranking(mean: _Means) -> str | None:
    pairs = {"gradients": "E1/tau_gradient_inputs", "leave-one-out": "E1/tau_leave_one_out_inputs"}
    known = {name: value for name, key in pairs.items() if (value := mean(key)) is not None}
    if not known:
        return "Undefined: attention that is the same everywhere ranks nothing." if pairs["gradients"] in mean else None
    said = " and ".join(f"with {name} on {percent((1 + tau) / 2)}" for name, tau in known.items())
    sentence = f"Of two tokens of a text that differ, attention agrees on which matters more {said} of pairs (chance: 50 %)"
    between = mean("E1/tau_gradient_and_leave_one_out")
    return (
        f"{sentence}." if between is None else f"{sentence}; the two agree with one another on {percent((1 + between) / 2)}."
    )


def _shuffling(mean: _Means) -> str | None:
    moved, flipped = mean("E2/tvd_median"), mean("E2/flipped")
    if moved is None or flipped is None:
        return None
    return (f"Shuffled over the tokens, attention moves the prediction by {number(moved)} in the average text and changes "
            f"{percent(flipped)} of decisions.")  # fmt: skip


def _another(mean: _Means) -> str | None:
    exact = mean("E3/jsd_exact")
    found = mean("E3/jsd_search") if exact is None else exact
    if found is None:
        return None
    how = "there is" if exact is not None else "a search finds"
    return (f"In the average text {how} an attention that is {percent(found / math.log(2))} of the greatest possible distance "
            "away and leaves the prediction as it was, to 0.01.")  # fmt: skip


def _swapped(mean: _Means) -> str | None:
    trained = mean("E8/correct")
    names = {"softmax": "softmax", "sparsemax": "sparsemax", "entmax15": "1.5-entmax"}
    others = {label: value for name, label in names.items() if (value := mean(f"E8/correct_{name}")) is not None}
    if trained is None or not others:
        return None
    each = ", ".join(f"{percent(value)} under {label}" for label, value in others.items())
    return f"{percent(trained)} of texts are decided rightly as trained, {each}."


def _concentration(mean: _Means) -> str | None:
    influence, attention = mean("E10/entropy_gradient"), mean("E10/entropy_attention")
    if influence is None or attention is None:
        return None
    return (f"On a scale from one token (0) to all alike (1), the influence of the inputs stands at {number(influence)}, "
            f"attention at {number(attention)}.")  # fmt: skip


def _erasing_one(mean: _Means) -> str | None:
    top, other = mean("E11/only_top"), mean("E11/only_random")
    if top is None or other is None:
        return None
    return (f"Erasing the most attended token alone changes {percent(top)} of decisions, erasing a random other one alone "
            f"{percent(other)}.")  # fmt: skip


def _erasing_many(mean: _Means) -> str | None:
    orders = {"In the order of attention": "attention", "at random": "random"}
    said = [f"{how} {_flips(mean, order)}" for how, order in orders.items() if mean(f"E12/fraction_{order}") is not None]
    excess = mean("E12/excess_attention")
    least = "" if excess is None else f" Attention's order needs {excess:.1f} weights more than the smallest set that will do."
    return f"{'; '.join(said)}.{least}" if said else None


def _flips(mean: _Means, order: str) -> str:
    """How many decisions flip, and after how much, if weights are zeroed in an order."""
    flip = mean.share_defined(f"E12/fraction_{order}")
    after = percent(mean(f"E12/fraction_{order}") or 0.0)
    return f"{'' if flip is None else f'{percent(flip)} of '}decisions flip, after {after} of the weights"


ANSWERS: dict[str, Callable[[_Means], str | None]] = {
    "E1": _ranking,
    "E2": _shuffling,
    "E3": _another,
    "E8": _swapped,
    "E10": _concentration,
    "E11": _erasing_one,
    "E12": _erasing_many,
}
"""By experiment; one that is not listed has numbers only."""
