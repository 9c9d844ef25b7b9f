"""Every sentence of the report, whole, from summaries made by hand."""

import math
from types import SimpleNamespace

import pytest

from attest.core.measures import Paired
from attest.experiments.readings.compared import SURVIVAL, title_of
from attest.experiments.registry import EXPERIMENTS
from attest.report.answers import answers
from attest.report.collection import Pairing

ANSWERED = [spec.id for spec in EXPERIMENTS.values() if spec.answer]


def said(summary, experiment, instances=None, **others):
    """The sentence of one experiment; keys of the summary without their statistic are means of what is never undefined."""
    full = {}
    for key, value in summary.items():
        full |= {key: value} if key.startswith("test/") or key.endswith("/nan") else {f"{key}/mean": value, f"{key}/nan": 0.0}
    full |= {key: value for key, value in summary.items() if key.endswith("/nan")}
    known = {"summary": full, "is_uniform": False, "uniform": None, "of_trial": False}
    controls = SimpleNamespace(**(known | others.pop("controls", {})))
    return plain(answers(controls, instances, **others).get(experiment))


def plain(sentence):
    return None if sentence is None else sentence.replace("\N{NO-BREAK SPACE}", " ")


def uniform(ours, theirs, pair=None):
    twin = {"uniform": {"test/accuracy": theirs}}
    return said({"test/accuracy": ours}, "E4", controls=twin, pair=pair)


def test_every_answer_is_asked_for_here():
    assert [*ANSWERED] == ["E1", "E2", "E3", "E8", "E10", "E11", "E12", "E14", "E15", "E16"]


def test_what_was_not_measured_is_not_spoken_of():
    assert [said({}, experiment) for experiment in ("test", *ANSWERED)] == [None] * 11


def test_uniform_attention_is_a_control_of_its_own():
    assert said({}, "E4", controls={"is_uniform": True}) == "This run is the control itself: every token weighs the same."


def test_uniform_attention_may_not_have_been_trained():
    assert said({}, "E4") == (
        "Not known: the same model with uniform attention was not trained. Until then nothing below can be weighed."
    )


def test_uniform_attention_without_accuracies():
    expected = "Not known: this run and the one with uniform attention have no accuracy in common."
    assert said({"test/accuracy": 0.5}, "E4", controls={"uniform": {}}) == expected
    assert said({}, "E4", controls={"uniform": {"test/accuracy": 0.5}}) == expected


def test_learned_attention_that_is_better_by_the_pairs():
    """0.893 and 0.883 of 4,356 texts are no more apart than two independent samples may be, and p = 0.0008 of these pairs."""
    pair = Pairing(True, 4356, False, Paired(105, 61, 0.00079, 1))
    assert uniform(0.893, 0.883, pair) == (
        "With uniform attention 88.3 % of test texts are decided rightly, with learned attention 89.3 %. Learned attention is "
        "better by more than chance: of 166 texts that only one of the two decides rightly, learned attention decides 105 "
        "(McNemar's exact test: p = 0.00079)."
    )


def test_uniform_attention_that_is_better_by_the_pairs():
    pair = Pairing(True, 1821, False, Paired(40, 90, 0.0000137, -1))
    assert uniform(0.8, 0.825, pair) == (
        "With uniform attention 82.5 % of test texts are decided rightly, with learned attention 80.0 %. Uniform attention is "
        "better by more than chance: of 130 texts that only one of the two decides rightly, learned attention decides 40 "
        "(McNemar's exact test: p < 0.0001)."
    )


def test_pairs_that_do_not_tell_the_two_apart():
    pair = Pairing(True, 1821, False, Paired(60, 55, 0.709, 1))
    assert uniform(0.806, 0.803, pair) == (
        "With uniform attention 80.3 % of test texts are decided rightly, with learned attention 80.6 %. These 1,821 texts do "
        "not show that the task needs attention: of 115 texts that only one of the two decides rightly, learned attention "
        "decides 60 (McNemar's exact test: p = 0.71)."
    )


@pytest.mark.parametrize(("p", "shown"), [(0.0499, True), (0.05, False)])
def test_what_is_more_than_chance(p, shown):
    sentence = uniform(0.9, 0.8, Pairing(True, 99, False, Paired(20, 8, p, 1)))
    assert ("better by more than chance" in sentence) == shown
    assert ("do not show that the task needs attention" in sentence) != shown


def test_decisions_that_are_all_alike():
    assert uniform(0.5, 0.5, Pairing(True, 20, False, Paired(0, 0, 1.0, 0))) == (
        "With uniform attention 50.0 % of test texts are decided rightly, with learned attention 50.0 %. These 20 texts do "
        "not "
        "show that the task needs attention: on none of them is only one of the two right (McNemar's exact test: p = 1)."
    )


def test_a_single_text_that_differs():
    sentence = uniform(0.76, 0.755, Pairing(True, 200, False, Paired(1, 0, 1.0, 1)))
    assert "of 1 text that only one of the two decides rightly, learned attention decides 1 (" in sentence


def test_taggers_are_paired_by_sentence():
    assert uniform(0.94, 0.93, Pairing(True, 2012, True, Paired(300, 200, 0.0004, 1))) == (
        "With uniform attention 93.0 % of tokens are tagged rightly, with learned attention 94.0 %. Learned attention is "
        "better "
        "by more than chance: of 500 sentences that one of the two tags better, learned attention is better on 300 "
        "(Wilcoxon's "
        "signed-rank test over sentences, since tokens of one are not independent: p = 0.0004)."
    )
    assert uniform(0.94, 0.94, Pairing(True, 2012, True, Paired(0, 0, 1.0, 0))) == (
        "With uniform attention 94.0 % of tokens are tagged rightly, with learned attention 94.0 %. These 2,012 sentences do "
        "not show that the task needs attention: on none of them is one of the two better (Wilcoxon's signed-rank test over "
        "sentences, since tokens of one are not independent: p = 1)."
    )


@pytest.mark.parametrize("pair", [None, Pairing(None), Pairing(True)])
def test_summaries_alone_allow_no_test(pair):
    assert uniform(0.801, 0.785, pair) == (
        "With uniform attention 78.5 % of test texts are decided rightly, with learned attention 80.1 %. Whether that is more "
        "than chance is not tested: it takes the decisions on single texts, and of these runs only the summaries are there."
    )


def test_runs_on_other_texts_are_not_compared():
    assert uniform(0.801, 0.785, Pairing(False)) == (
        "With uniform attention 78.5 % of test texts are decided rightly, with learned attention 80.1 %. But the two runs "
        "were "
        "tested on different texts, so these numbers cannot be compared."
    )


TAU = {"E1/tau_gradient_inputs": 0.21, "E1/tau_leave_one_out_inputs": -0.16, "E1/tau_gradient_and_leave_one_out": 0.4}
CEILING = {"E1/ceiling_gradient_inputs": 0.65, "E1/ceiling_leave_one_out_inputs": 0.7}
SHARES = {
    "E1/concordant_gradient_inputs": 0.91,
    "E1/concordant_leave_one_out_inputs": 0.12,
    "E1/concordant_gradient_and_leave_one_out": 0.7,
}


def test_ranking_is_told_in_pairs_that_differ_in_both():
    assert said(TAU | CEILING | SHARES, "E1") == (
        "Take all pairs of tokens of a text that differ in attention and in importance: attention orders them as gradients do "
        "in 91 % and as leave-one-out does in 12 % of cases (mean over texts; chance: 50 %). Gradients and leave-one-out "
        "order "
        "70 % of theirs alike."
    )


def test_ranking_by_gradients_alone():
    gradients = {"E1/tau_gradient_inputs": 0.21, "E1/concordant_gradient_inputs": 0.61}
    assert said(gradients, "E1") == (
        "Take all pairs of tokens of a text that differ in attention and in importance: attention orders them as gradients do "
        "in 61 % of cases (mean over texts; chance: 50 %)."
    )


def test_ranking_of_a_run_from_before_the_shares_were_measured():
    assert said(TAU | CEILING, "E1") == (
        "Kendall's τ-b of attention, mean over texts, is 0.210 with gradients (ties allow at most 0.650) and −0.160 with "
        "leave-one-out (ties allow at most 0.700); 0 means no relation. Gradients and leave-one-out have 0.400 with one "
        "another."
    )
    assert said({"E1/tau_gradient_inputs": 0.21}, "E1") == (
        "Kendall's τ-b of attention, mean over texts, is 0.210 with gradients; 0 means no relation."
    )


@pytest.mark.parametrize("shares", [{}, {"E1/concordant_gradient_inputs": math.nan}])
def test_uniform_attention_ranks_nothing(shares):
    assert said({"E1/tau_gradient_inputs": math.nan} | shares, "E1") == (
        "Undefined: attention that is the same everywhere ranks nothing."
    )


def test_shuffling():
    assert said({"E2/tvd_median": 0.027, "E2/flipped": 0.14}, "E2") == (
        "Shuffling attention over the tokens moves the prediction by 0.027 in the average text and changes 14 % of decisions."
    )
    assert said({"E2/tvd_median": 0.027}, "E2") is None


def test_another_attention():
    search, exact = {"E3/jsd_search": 0.25 * math.log(2)}, {"E3/jsd_exact": 0.8 * math.log(2)}
    assert said(search | exact, "E3") == (
        "In the average text there is an attention that is 80 % of the greatest possible distance away and moves the "
        "prediction by at most 0.01."
    )
    assert said(search, "E3") == (
        "In the average text a search finds an attention that is 25 % of the greatest possible distance away and moves the "
        "prediction by at most 0.01."
    )


def test_swapped_projections():
    swapped = {"E8/correct": 0.81, "E8/correct_softmax": 0.82, "E8/correct_sparsemax": 0.07, "E8/correct_entmax15": 0.5}
    assert said(swapped, "E8") == (
        "81 % of texts are decided rightly as trained, 82 % under softmax, 7.0 % under sparsemax, 50 % under 1.5-entmax."
    )
    assert said({"E8/correct": 0.81}, "E8") is None


def test_concentration():
    assert said({"E10/entropy_gradient": 0.85, "E10/entropy_attention": 0.3}, "E10") == (
        "On a scale from one token (0) to all tokens alike (1), the influence of the inputs is 0.850, attention 0.300."
    )
    assert said({"E10/entropy_gradient": 0.85}, "E10") is None


def test_erasing_one():
    assert said({"E11/only_top": 0.12, "E11/only_random": 0.03}, "E11") == (
        "12 % of decisions change only without the most attended token, 3.0 % only without a random other one."
    )
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


def test_orders_of_erasure_are_compared_on_the_same_texts():
    assert said(FLIPS | COMMON | LEFT_OUT | EXCESS, "E12", instances=20) == (
        "Of 20 decisions, erasing weight after weight flips 6 in the order of attention and 4 in random order. On the 3 "
        "texts that flip in every order, the share of weights to erase is 20 % in the order of attention, 60 % in random "
        "order, 10 % in the smallest set that flips the decision. The order of attention needs 2.2 weights more than the "
        "smallest set that flips the decision, mean over the 6 texts that flip in that order."
    )


def test_orders_where_the_number_of_texts_is_not_known():
    del_minimum = {key: value for key, value in COMMON.items() if "minimum" not in key}
    assert said(FLIPS | del_minimum, "E12") == (
        "On the texts that flip in every order, the share of weights to erase is 20 % in the order of attention, 60 % in "
        "random "
        "order."
    )


def test_orders_of_a_run_from_before_they_were_measured_on_the_same_texts():
    assert said(FLIPS | EXCESS, "E12", instances=20) == (
        "Of 20 decisions, erasing weight after weight flips 6 in the order of attention and 4 in random order. This run's "
        "means are over different texts for each order, so the shares of weights cannot be compared. The order of attention "
        "needs 2.2 weights more than the smallest set that flips the decision, mean over the 6 texts that flip in that "
        "order."
    )


def test_orders_that_never_flip_together():
    undefined = dict.fromkeys(COMMON, math.nan)
    assert said(FLIPS | undefined, "E12", instances=20) == (
        "Of 20 decisions, erasing weight after weight flips 6 in the order of attention and 4 in random order. No decision "
        "flips "
        "in every order, so orders cannot be compared."
    )


def test_decisions_that_never_flip():
    never = {f"E12/fraction_{order}": math.nan for order in ("attention", "random")}
    never |= {f"{key}/nan": 20 for key in [*never]}
    assert said(never, "E12", instances=20) == (
        "Of 20 decisions, erasing weight after weight flips 0 in the order of attention and 0 in random order."
    )


WON = "E14/win_comprehensiveness"


@pytest.mark.parametrize(
    ("won", "sentence"),
    [
        (
            {"attention": 0.48, "delete": 0.74},
            "Erasing the tokens that it ranks first moves the prediction further than as many random ones in 48 % "
            "(attention), 74 % (delete) of the comparisons. The operators disagree, so there is no verdict.",
        ),
        (
            {"attention": 0.8, "delete": 0.82, "mask": 0.6},
            "Erasing the tokens that it ranks first moves the prediction further than as many random ones in 80 % "
            "(attention), 82 % (delete), 60 % (mask) of the comparisons. The operators agree.",
        ),
        (
            {"attention": 0.8},
            "Erasing the tokens that it ranks first moves the prediction further than as many random ones in 80 % (attention) "
            "of the comparisons. Only one operator was asked, so there is no verdict.",
        ),
    ],
)
def test_erasure_gets_a_verdict_only_where_its_operators_agree(won, sentence):
    assert said({f"{WON}_{operator}": share for operator, share in won.items()}, "E14") == sentence


def test_readings_are_held_against_attention_by_the_harsher_operator():
    first, second = (f"E15/{column}" for column in SURVIVAL)
    beaten = {f"{first}_attention": 0.6, f"{second}_attention": 0.7, f"{first}_norm": 0.9, f"{second}_norm": 0.8}
    assert said(beaten | {f"{first}_random": 0.99}, "E15") == (
        f"Of 2 readings, {title_of('norm')} did best: by the stricter of two ways to erase, its first tokens beat 0.800 of "
        "random sets; attention beats 0.600."
    )


def test_edges_of_a_decoder_that_were_cut():
    means = {"E16/flipped": 0.31, "E16/flipped_random": 0.04, "E16/won": 0.825, "E16/sink": 0.4321}
    assert said(means, "E16") == (
        "Cutting the edges to the tokens that the deciding token attends to most changes 31 % of decisions; cutting as many "
        "random edges changes 4.0 %. The logit difference falls further than without random edges in 82 % of comparisons. "
        "The first token of the text gets 43 % of the deciding token's attention."
    )
