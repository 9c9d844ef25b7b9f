"""Every sentence of the report, whole, from summaries made by hand."""

import math
from types import SimpleNamespace

import pytest

from attest.core.measures import Paired
from attest.experiments.readings.compared import SURVIVAL, title_of
from attest.experiments.registry import EXPERIMENTS
from attest.experiments.spec import Means
from attest.report.collection import Pairing
from attest.report.controls import baseline
from attest.report.findings import answers
from attest.runs.contents import RunContents
from tests.report.made import decided, made_run

ANSWERED = [spec.id for spec in EXPERIMENTS.values() if spec.answer]


def said(summary, experiment, instances=None, **others):
    """The sentence of one experiment; keys of the summary without their statistic are means of what is never undefined."""
    full = {}
    for key, value in summary.items():
        full |= {key: value} if key.startswith("test/") or key.endswith("/nan") else {f"{key}/mean": value, f"{key}/nan": 0.0}
    full |= {key: value for key, value in summary.items() if key.endswith("/nan")}
    known = {"summary": full, "is_uniform": False, "uniform": None, "held_uniform": None, "of_trial": False, "scored": None}
    controls = SimpleNamespace(**(known | others.pop("controls", {})))
    return plain(answers(controls, instances, **others).get(experiment))


def plain(sentence):
    return None if sentence is None else sentence.replace("\N{NO-BREAK SPACE}", " ")


def uniform(ours, theirs, pair=None):
    twin = {"uniform": {"test/accuracy": theirs}}
    return said({"test/accuracy": ours}, "E4", controls=twin, pair=pair)


def test_a_share_stands_with_its_interval():
    within = {"E2/tvd_median/mean": 0.1, "E2/flipped/mean": 0.2, "E2/flipped/ci_low": 0.1, "E2/flipped/ci_high": 0.3}
    said = plain(EXPERIMENTS["E2"].answer(Means(within, 100)))
    assert said.endswith("changes 20 % [10 %, 30 %] of decisions.")
    halved = Means({"E3/jsd/mean": 0.4, "E3/jsd/ci_low": 0.2, "E3/jsd/ci_high": 0.6}, 100).share("E3/jsd", of=2)
    assert plain(halved) == "20 % [10 %, 30 %]"


FLIPPED = dict.fromkeys(("flipped_look", "flipped_random_look", "flipped_write", "flipped_random_write"), 0.3)


@pytest.mark.parametrize(
    ("experiment", "means", "intervals"),
    [
        ("E1", {"concordant_gradient_inputs": 0.7, "tau_gradient_inputs": 0.4}, 1),
        ("E1", {"tau_gradient_inputs": 0.4, "ceiling_gradient_inputs": 0.8, "tau_gradient_and_leave_one_out": 0.6}, 3),
        ("E2", {"tvd_median": 0.4, "flipped": 0.3}, 2),
        ("E2", {"moved_median": 0.4}, 1),
        ("E8", {"moved_sparsemax": 0.4}, 1),
        ("E10", {"entropy_gradient": 0.4, "entropy_attention": 0.6}, 2),
        ("E12", {"fraction_attention": 0.5, "fraction_common_attention": 0.4, "excess_attention": 3.0}, 2),
        ("E15", {f"{way}_{name}": share for name, share in (("attention", 0.6), ("norm", 0.8)) for way in SURVIVAL}, 2),
        ("E16", {"won": 0.7, "sink": 0.3, "moved": 0.4}, 3),
        ("E17", {"drop_chosen": 0.5, "drop_random_chosen": 0.2, "flipped_chosen": 0.4, "won_chosen": 0.7}, 4),
        ("E17", {"flipped_write": 0.3, "flipped_random_write": 0.2}, 2),
        ("E17", FLIPPED | {"tau_look": 0.4, "tau_write": 0.5}, 6),
    ],
)
def test_every_mean_in_an_answer_stands_with_its_interval(experiment, means, intervals, snapshot):
    summary = {}
    for name, mean in means.items():
        key = f"{experiment}/{name}"
        summary |= {f"{key}/mean": mean, f"{key}/ci_low": mean - 0.1, f"{key}/ci_high": mean + 0.1, f"{key}/nan": 0.0}
    answer = plain(EXPERIMENTS[experiment].answer(Means(summary, 100)))
    assert answer == snapshot
    assert answer.count("[") == intervals


def test_the_interval_of_one_text_is_left_out():
    one = {"E2/moved_median/mean": 0.4, "E2/moved_median/ci_low": math.nan, "E2/moved_median/ci_high": math.nan}
    assert plain(EXPERIMENTS["E2"].answer(Means(one, 1))).endswith("by 0.400 in the average text.")


def test_what_was_not_measured_is_not_spoken_of():
    assert {experiment: answer for experiment in ("test", *ANSWERED) if (answer := said({}, experiment))} == {}


def test_uniform_attention_is_a_control_of_its_own(snapshot):
    assert said({}, "E4", controls={"is_uniform": True}) == snapshot


def test_both_accuracies_stand_with_their_intervals(tmp_path):
    labels = [0, 1] * 10
    ours, theirs = (
        baseline(
            RunContents(
                made_run(tmp_path / str(right), {}, decided(labels, [*labels[:right], *(1 - each for each in labels[right:])]))
            )
        )
        for right in (18, 16)
    )
    twin = {"uniform": {"test/accuracy": 0.8}, "held_uniform": theirs}
    assert said({"test/accuracy": 0.9}, "E4", controls=twin, held=ours).startswith(
        "With uniform attention 80.0 % [56.3 %, 94.3 %] of test texts are decided rightly, with learned attention 90.0 % "
        "[68.3 %, 98.8 %]."
    )


def test_uniform_attention_may_not_have_been_trained(snapshot):
    assert said({}, "E4") == snapshot


def test_uniform_attention_without_accuracies():
    expected = "Not known: the accuracy of this run or of the run with uniform attention is missing."
    assert said({"test/accuracy": 0.5}, "E4", controls={"uniform": {}}) == expected
    assert said({}, "E4", controls={"uniform": {"test/accuracy": 0.5}}) == expected


def test_learned_attention_that_is_better_by_the_pairs(snapshot):
    """0.893 and 0.883 of 4,356 texts are no more apart than two independent samples may be, and p = 0.0008 of these pairs."""
    pair = Pairing(True, 4356, False, Paired(105, 61, 0.00079, 1))
    assert uniform(0.893, 0.883, pair) == snapshot


def test_uniform_attention_that_is_better_by_the_pairs(snapshot):
    pair = Pairing(True, 1821, False, Paired(40, 90, 0.0000137, -1))
    assert uniform(0.8, 0.825, pair) == snapshot


def test_pairs_that_do_not_tell_the_two_apart(snapshot):
    pair = Pairing(True, 1821, False, Paired(60, 55, 0.709, 1))
    assert uniform(0.806, 0.803, pair) == snapshot


@pytest.mark.parametrize(("p", "shown"), [(0.0499, True), (0.05, False)])
def test_what_is_more_than_chance(p, shown):
    sentence = uniform(0.9, 0.8, Pairing(True, 99, False, Paired(20, 8, p, 1)))
    assert ("better by more than chance" in sentence) == shown
    assert ("do not show that the task needs attention" in sentence) != shown


def test_decisions_that_are_all_alike(snapshot):
    assert uniform(0.5, 0.5, Pairing(True, 20, False, Paired(0, 0, 1.0, 0))) == snapshot


def test_a_single_text_that_differs():
    sentence = uniform(0.76, 0.755, Pairing(True, 200, False, Paired(1, 0, 1.0, 1)))
    assert "learned attention is right on 1 of the 1 text that only one of the two gets right (" in sentence


def test_taggers_are_paired_by_sentence(snapshot):
    assert uniform(0.94, 0.93, Pairing(True, 2012, True, Paired(300, 200, 0.0004, 1))) == snapshot
    assert uniform(0.94, 0.94, Pairing(True, 2012, True, Paired(0, 0, 1.0, 0))) == snapshot


@pytest.mark.parametrize("pair", [None, Pairing(None), Pairing(True)])
def test_summaries_alone_allow_no_test(pair, snapshot):
    assert uniform(0.801, 0.785, pair) == snapshot


def test_runs_on_other_texts_are_not_compared(snapshot):
    assert uniform(0.801, 0.785, Pairing(False)) == snapshot


TAU = {"E1/tau_gradient_inputs": 0.21, "E1/tau_leave_one_out_inputs": -0.16, "E1/tau_gradient_and_leave_one_out": 0.4}
CEILING = {"E1/ceiling_gradient_inputs": 0.65, "E1/ceiling_leave_one_out_inputs": 0.7}
SHARES = {
    "E1/concordant_gradient_inputs": 0.91,
    "E1/concordant_leave_one_out_inputs": 0.12,
    "E1/concordant_gradient_and_leave_one_out": 0.7,
}


def test_ranking_is_told_in_pairs_that_differ_in_both(snapshot):
    assert said(TAU | CEILING | SHARES, "E1") == snapshot


def test_ranking_by_gradients_alone(snapshot):
    gradients = {"E1/tau_gradient_inputs": 0.21, "E1/concordant_gradient_inputs": 0.61}
    assert said(gradients, "E1") == snapshot


def test_ranking_of_a_run_from_before_the_shares_were_measured(snapshot):
    assert said(TAU | CEILING, "E1") == snapshot
    assert said({"E1/tau_gradient_inputs": 0.21}, "E1") == snapshot


@pytest.mark.parametrize("shares", [{}, {"E1/concordant_gradient_inputs": math.nan}])
def test_uniform_attention_ranks_nothing(shares, snapshot):
    assert said({"E1/tau_gradient_inputs": math.nan} | shares, "E1") == snapshot


def test_shuffling(snapshot):
    assert said({"E2/tvd_median": 0.027, "E2/flipped": 0.14}, "E2") == snapshot
    assert said({"E2/tvd_median": 0.027}, "E2") is None


def test_another_attention(snapshot):
    search, exact = {"E3/jsd_search": 0.25 * math.log(2)}, {"E3/jsd_exact": 0.8 * math.log(2)}
    assert said(search | exact, "E3") == snapshot
    assert said(search, "E3") == snapshot


def test_swapped_projections(snapshot):
    swapped = {"E8/correct": 0.81, "E8/correct_softmax": 0.82, "E8/correct_sparsemax": 0.07, "E8/correct_entmax15": 0.5}
    assert said(swapped, "E8") == snapshot
    assert said({"E8/correct": 0.81}, "E8") is None


def test_concentration(snapshot):
    assert said({"E10/entropy_gradient": 0.85, "E10/entropy_attention": 0.3}, "E10") == snapshot
    assert said({"E10/entropy_gradient": 0.85}, "E10") is None


def test_erasing_one(snapshot):
    assert said({"E11/only_top": 0.12, "E11/only_random": 0.03}, "E11") == snapshot
    assert said({"E11/only_top": 0.12}, "E11") is None


FLIPS = {
    "E12/fraction_attention": 0.588,
    "E12/fraction_attention/nan": 14,
    "E12/fraction_random": 0.7,
    "E12/fraction_random/nan": 16,
}
COMMON = {f"E12/fraction_common_{order}": share for order, share in {"attention": 0.2, "random": 0.6, "minimum": 0.1}.items()}
LEFT_OUT = {f"{key}/nan": 17 for key in COMMON}
EXCESS = {"E12/excess_attention": 2.25, "E12/excess_attention/nan": 14}


def test_orders_of_erasure_are_compared_on_the_same_texts(snapshot):
    assert said(FLIPS | COMMON | LEFT_OUT | EXCESS, "E12", instances=20) == snapshot


def test_orders_where_the_number_of_texts_is_not_known(snapshot):
    del_minimum = {key: value for key, value in COMMON.items() if "minimum" not in key}
    assert said(FLIPS | del_minimum, "E12") == snapshot


def test_orders_that_never_flip_together(snapshot):
    undefined = dict.fromkeys(COMMON, math.nan)
    assert said(FLIPS | undefined, "E12", instances=20) == snapshot


def test_decisions_that_never_flip(snapshot):
    never = {f"E12/fraction_{order}": math.nan for order in ("attention", "random")}
    never |= {f"{key}/nan": 20 for key in [*never]}
    assert said(never, "E12", instances=20) == snapshot


WON = "E14/win_comprehensiveness"


@pytest.mark.parametrize(
    "won", [{"attention": 0.48, "delete": 0.74}, {"attention": 0.8, "delete": 0.82, "mask": 0.6}, {"attention": 0.8}]
)
def test_erasure_gets_a_verdict_only_where_its_operators_agree(won, snapshot):
    assert said({f"{WON}_{operator}": share for operator, share in won.items()}, "E14") == snapshot


def test_readings_are_held_against_attention_by_the_harsher_operator():
    first, second = (f"E15/{column}" for column in SURVIVAL)
    beaten = {f"{first}_attention": 0.6, f"{second}_attention": 0.7, f"{first}_norm": 0.9, f"{second}_norm": 0.8}
    assert said(beaten | {f"{first}_random": 0.99}, "E15") == (
        f"Of 2 readings, {title_of('norm')} did best: by the stricter of two ways to erase, its first tokens beat 80 % of "
        "random sets; attention beats 60 %."
    )


def test_edges_of_a_decoder_that_were_cut(snapshot):
    means = {"E16/flipped": 0.31, "E16/flipped_random": 0.04, "E16/won": 0.825, "E16/sink": 0.4321}
    assert said(means, "E16") == snapshot


HEADS = {
    "E17/flipped_look": 0.05, "E17/flipped_random_look": 0.04, "E17/won_look": 0.6, "E17/flipped_write": 0.31,
    "E17/flipped_random_write": 0.06, "E17/tau_look": 0.12, "E17/tau_write": 0.81,
}  # fmt: skip
CHOSEN = {"E17/drop_chosen": 1.5, "E17/drop_random_chosen": 0.25, "E17/flipped_chosen": 0.2, "E17/won_chosen": 0.8}


def test_heads_that_were_switched_off(snapshot):
    known = {name: value for name, value in HEADS.items() if "look" not in name}
    assert [said(HEADS, "E17"), said(known, "E17")] == snapshot


@pytest.mark.parametrize("ends", [(0.7, 0.9), (0.4, 0.6), (0.1, 0.3)], ids=["more", "unknown", "less"])
def test_heads_of_somebodys_choice(ends, snapshot):
    low, high = ends
    interval = {"E17/won_chosen/ci_low": low, "E17/won_chosen/ci_high": high}
    full = {f"{name}/mean": value for name, value in CHOSEN.items()} | interval
    assert plain(EXPERIMENTS["E17"].answer(Means(full, None))) == snapshot


def test_deciding_words_are_told_beside_chance(snapshot):
    known = {"E19/right": 0.46, "E19/needs_words": 0.8, "E19/right_random": 0.05}
    assert said(known, "E19") == snapshot
    ends = {"right": (0.39, 0.54), "needs_words": (0.75, 0.85), "right_random": (0.02, 0.1)}
    interval = {
        f"E19/{key}/{end}": at for key, pair in ends.items() for end, at in zip(("ci_low", "ci_high"), pair, strict=True)
    }
    full = {f"{name}/mean": value for name, value in known.items()} | interval
    assert plain(EXPERIMENTS["E19"].answer(Means(full, None))) == snapshot
    of_tagger = plain(EXPERIMENTS["E19"].answer(Means(full, None, "sentences")))
    assert "of the sentences that need words" in of_tagger
    assert "texts" not in of_tagger
    assert said({"E19/right": math.nan, "E19/needs_words": 0.0}, "E19") is None


def test_of_a_tagger_the_average_is_over_sentences():
    summary = {"E2/tvd_median/mean": 0.1, "E2/tvd_median/nan": 0.0, "E2/flipped/mean": 0.2, "E2/flipped/nan": 0.0}
    for called, one in (("texts", "text"), ("sentences", "sentence")):
        assert f"in the average {one} and" in EXPERIMENTS["E2"].answer(Means(summary, 50, called))
