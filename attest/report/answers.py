"""Say in one plain sentence for each question what the numbers of a run mean, with the p-value of each test that decides a
word.
"""

from attest.core.measures import Paired
from attest.core.measures.comparison import LEVEL
from attest.core.measures.numbers import p_value, percent
from attest.experiments.registry import EXPERIMENTS
from attest.experiments.spec import Means
from attest.report.collection import Pairing
from attest.report.controls import Baseline, Controls, sentence


def answers(
    controls: Controls, instances: int | None, held: Baseline | None = None, pair: Pairing | None = None
) -> dict[str, str]:
    """Return one sentence for each experiment that ran, by its id.

    Args:
        controls: the controls of the run, which hold its summary.
        instances: the number of test texts; None if it is not known.
        held: the comparison of the run with a constant answer; None if it is not known.
        pair: the comparison of the run with the same model under uniform attention; None if that was not run.
    """
    mean = Means(controls.summary, instances)
    sentences: dict[str, str | None] = {"test": sentence(held, controls.summary)}
    if not controls.of_trial:
        sentences["E4"] = _uniform(controls, pair)
    sentences |= {name: spec.answer(mean) for name, spec in EXPERIMENTS.items() if spec.answer}
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
    """Say what the paired test finds about learned and uniform attention, or why there is no test."""
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
