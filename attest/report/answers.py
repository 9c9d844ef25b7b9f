"""What the numbers of a run say, a plain sentence a question; where a test decides a word, its p-value stands beside it."""

import math
from collections.abc import Callable
from typing import Any

from attest.measures import Paired
from attest.report import baseline
from attest.report.controls import Controls
from attest.report.numbers import number, p_value, percent
from attest.report.pairing import Pairing

LEVEL = 0.05


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

    def defined(self, key: str) -> int | None:
        """On how many of the texts a measure is defined."""
        return None if self.instances is None else self.instances - int(self.summary[f"{key}/nan"])


def answers(
    controls: Controls, instances: int | None, held: baseline.Baseline | None = None, pair: Pairing | None = None
) -> dict[str, str]:
    """A sentence for each experiment that ran.

    Args:
        controls: of the run, and with them its summary.
        instances: test texts; None where that is not known.
        held: the run against a constant answer; None where that is not known.
        pair: the run, first, against its twin under uniform attention, where there is one.
    """
    mean = _Means(controls.summary, instances)
    sentences = {"test": baseline.sentence(held, controls.summary), "E4": _uniform(controls, pair)}
    sentences |= {name: sentence(mean) for name, sentence in ANSWERS.items()}
    return {name: said for name, said in sentences.items() if said}


def _uniform(controls: Controls, pair: Pairing | None) -> str:
    if controls.is_uniform:
        return "This run is the control itself: every token weighs the same."
    if controls.uniform is None:
        return "Not known: the same model with uniform attention was not trained. Until then nothing below can be weighed."
    ours, theirs = controls.summary.get("test/accuracy"), controls.uniform.get("test/accuracy")
    if ours is None or theirs is None:
        return "Not known: this run and the one with uniform attention have no accuracy in common."
    units = "tokens are tagged" if pair is not None and pair.tagging else "test texts are decided"
    said = f"With uniform attention {percent(theirs, 1)} of {units} rightly, with learned attention {percent(ours, 1)}."
    return f"{said} {_paired(pair)}"


def _paired(pair: Pairing | None) -> str:
    """What the texts say of the two, one by one."""
    if pair is not None and pair.same is False:
        return "But the two runs were tested on different texts, so these numbers cannot be compared."
    if pair is None or pair.test is None:
        return (
            "Whether that is more than chance is not tested: it takes the decisions on single texts, and of these runs only "
            "the summaries are there."
        )
    found, units = pair.test, "sentences" if pair.tagging else "texts"
    said = (
        f"{_differing(pair, found)} ({'Wilcoxon' if pair.tagging else 'McNemar'}'s {_kind(pair)}: {p_value(found.p_value)})."
    )
    if not found.differing or found.p_value >= LEVEL or not found.favours:
        return f"These {pair.instances:,} {units} do not show that the task needs attention: {said}"
    better = "Learned" if found.favours > 0 else "Uniform"
    return f"{better} attention is better by more than chance: {said}"


def _kind(pair: Pairing) -> str:
    return "signed-rank test over sentences, since tokens of one are not independent" if pair.tagging else "exact test"


def _differing(pair: Pairing, found: Paired) -> str:
    if not found.differing:
        return f"on none of them {'is one of the two better' if pair.tagging else 'is only one of the two right'}"
    if pair.tagging:
        several, learned = f"{_units('sentence', found)} that one of the two tags better", "is better on"
    else:
        several, learned = f"{_units('text', found)} that only one of the two decides rightly", "decides"
    return f"of {found.differing:,} {several}, learned attention {learned} {found.only_first:,}"


def _units(name: str, found: Paired) -> str:
    return name if found.differing == 1 else f"{name}s"


RANKED = {"gradients": "gradient_inputs", "leave-one-out": "leave_one_out_inputs"}
"""The importances that the sentence of E1 speaks of, by what it calls them."""


def _ranking(mean: _Means) -> str | None:
    """The shares of pairs that agree; of runs from before these were measured, correlations beside their ceilings."""
    if not any(f"E1/tau_{kind}" in mean for kind in RANKED.values()):
        return None
    shares = {name: share for name, kind in RANKED.items() if (share := mean(f"E1/concordant_{kind}")) is not None}
    if not shares:
        return _correlated(mean)
    said = " and ".join(
        f"as {name} {'do' if name == 'gradients' else 'does'} in {percent(share)}" for name, share in shares.items()
    )
    between = mean("E1/concordant_gradient_and_leave_one_out")
    both = "" if between is None else f" Gradients and leave-one-out order {percent(between)} of theirs alike."
    return (
        "Take all pairs of tokens of a text that differ in attention and in importance: attention orders them "
        f"{said} of cases (mean over texts; chance: {percent(0.5)}).{both}"
    )


def _correlated(mean: _Means) -> str:
    taus = {name: tau for name, kind in RANKED.items() if (tau := mean(f"E1/tau_{kind}")) is not None}
    if not taus:
        return "Undefined: attention that is the same everywhere ranks nothing."
    said = " and ".join(f"{number(tau)} with {name}{_at_most(mean, name)}" for name, tau in taus.items())
    between = mean("E1/tau_gradient_and_leave_one_out")
    both = "" if between is None else f" Gradients and leave-one-out have {number(between)} with one another."
    return f"Kendall's τ-b of attention, mean over texts, is {said}; 0 means no relation.{both}"


def _at_most(mean: _Means, name: str) -> str:
    ceiling = mean(f"E1/ceiling_{RANKED[name]}")
    return "" if ceiling is None else f" (ties allow at most {number(ceiling)})"


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
    if trained is None:
        return _kept(mean, names)
    if not others:
        return None
    each = ", ".join(f"{percent(value)} under {label}" for label, value in others.items())
    return f"{percent(trained)} of texts are decided rightly as trained, {each}."


def _kept(mean: _Means, names: dict[str, str]) -> str | None:
    """The same where labels are not known."""
    known = {label: value for name, label in names.items() if (value := mean(f"E8/kept_{name}")) is not None}
    shares = ", ".join(f"{percent(value)} under {label}" for label, value in known.items())
    return f"Share of decisions that stay with another projection: {shares}." if shares else None


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


ORDERS = {"in the order of attention": "attention", "in random order": "random"}
"""The orders of erasure that the sentence of E12 speaks of, by what it calls them."""
LEAST = {"in the smallest set that will do": "minimum"}


def _erasing_many(mean: _Means) -> str | None:
    if not any(f"E12/fraction_{order}" in mean for order in ORDERS.values()):
        return None
    return " ".join(said for said in (_flips(mean), _needed(mean), _excess(mean)) if said)


def _flips(mean: _Means) -> str:
    """How many decisions flip at all, in each order by itself."""
    counts = {how: mean.defined(f"E12/fraction_{order}") for how, order in ORDERS.items() if f"E12/fraction_{order}" in mean}
    known = [f"{count:,} {how}" for how, count in counts.items() if count is not None]
    return f"Of {mean.instances:,} decisions, erasing weight after weight flips {' and '.join(known)}." if known else ""


def _needed(mean: _Means) -> str:
    """How much each order must erase, on the texts that flip in every order; of older runs no such number is known."""
    if all(mean(f"E12/fraction_{order}") is None for order in ORDERS.values()):
        return ""
    if "E12/fraction_common_attention" not in mean:
        return (
            "After what share of the weights is not said here: this run's means are over other texts for each order, and so "
            "cannot be compared."
        )
    shares = {how: mean(f"E12/fraction_common_{order}") for how, order in (ORDERS | LEAST).items()}
    said = [f"{percent(share)} {how}" for how, share in shares.items() if share is not None]
    if not said:
        return "No decision flips in every order, so orders cannot be compared."
    count = mean.defined("E12/fraction_common_attention")
    texts = "texts" if count is None else f"{count:,} texts"
    return f"On the {texts} that flip in every order, the share of weights to erase is {', '.join(said)}."


def _excess(mean: _Means) -> str:
    excess, count = (
        mean("E12/excess_attention"),
        mean.defined("E12/excess_attention") if "E12/excess_attention" in mean else None,
    )
    if excess is None:
        return ""
    over = "" if count is None else f", mean over the {count:,} texts that flip in that order"
    return f"The order of attention needs {excess:.1f} weights more than the smallest set that will do{over}."


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
