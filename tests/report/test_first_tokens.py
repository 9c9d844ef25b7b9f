"""How far attention and importance agree on the tokens that they rank first."""

import numpy as np
import pandas as pd
import pytest

from attest.report.findings import Findings
from attest.report.readings import compared_first_tokens

NAN = float("nan")
INSTANCES = pd.DataFrame(
    {
        "id": [7, 3, 5],
        "attention": [np.array([0.6, 0.3, 0.1, 0.0]), np.array([0.5, 0.4, 0.1, 0.0, 0.0, 0.0]), np.array([0.9, 0.1])],
    }
)
IMPORTANCES = pd.DataFrame(
    {
        "id": [3, 5, 7, 9],
        "gradient_inputs": [np.arange(6.0), np.array([1.0, 0.0]), np.array([9.0, 2.0, 3.0, 4.0]), np.zeros(3)],
        "leave_one_out_inputs": [np.full(6, 0.2), np.array([NAN, NAN]), np.full(4, 0.1), np.zeros(3)],
        "tau_gradient_inputs": [0.25, 0.5, 0.75, NAN],
        "tau_leave_one_out_inputs": [NAN, NAN, NAN, NAN],
    }
)


@pytest.fixture
def found():
    return compared_first_tokens(INSTANCES, IMPORTANCES[:3])


def plain(cells):
    return [cell.replace("\N{NO-BREAK SPACE}", " ").partition(" [")[0] for cell in cells]


def test_a_text_is_held_against_its_own_importance_and_counts_where_it_is_longer_than_k(found):
    """By hand; of six tokens three tie behind the third of attention, and two of the five places are left for them."""
    assert found.shares["gradient_inputs/1"].tolist() == [1, 0, 1]
    np.testing.assert_allclose(found.shares["gradient_inputs/3"], [2 / 3, (0 + 0 + 0) / 3, NAN])
    np.testing.assert_allclose(found.shares["gradient_inputs/5"], [NAN, (2 + 3 * 2 / 3) / 5, NAN])
    np.testing.assert_allclose(found.shares["random/3"], [3 / 4, 3 / 6, NAN])


def test_an_importance_that_ranks_nothing_shares_what_random_tokens_share(found):
    line = found.lines(3)[1]
    assert line.name == "leave-one-out"
    assert line.value == pytest.approx((3 / 4 + 3 / 6) / 2)
    assert line.controls[0].value == pytest.approx(line.value)


def test_the_table_has_tau_beside_the_first_tokens_and_random_tokens_last(found):
    assert found.table.header == ["reading", "τ-b with attention", "first 1", "first 3", "first 5"]
    assert [plain(row) for row in found.table.rows] == [
        ["Gradient × input", "0.500", "66.7 %", "33.3 %", "80.0 %"],
        ["Leave-one-out", "–", "20.8 %", "62.5 %", "83.3 %"],
        ["Random tokens", "0.000", "30.6 %", "62.5 %", "83.3 %"],
    ]


def test_a_size_that_no_text_is_long_enough_for_is_left_out():
    short = compared_first_tokens(INSTANCES[2:], IMPORTANCES)
    assert short.table.header == ["reading", "τ-b with attention", "first 1"]
    assert [plain(row) for row in short.table.rows] == [
        ["Gradient × input", "0.500", "100.0 %"],
        ["Leave-one-out", "–", "–"],
        ["Random tokens", "0.000", "50.0 %"],
    ]
    assert short.lines() == []


def test_texts_that_the_experiment_did_not_read_are_left_out():
    found = compared_first_tokens(INSTANCES, IMPORTANCES[:2])
    assert found.shares["gradient_inputs/1"].tolist() == [0, 1]
    np.testing.assert_allclose(found.shares["random/1"], [1 / 6, 1 / 2])


IN_SUBWORDS = pd.DataFrame(
    {
        "id": [0, 1, 2],
        "attention": [np.array([0.5, 0.1, 0.3, 0.1]), np.array([0.6, 0.3, 0.1, 0.0]), np.array([0.9, 0.1])],
        "special": [np.array([1, 0, 0, 1], dtype=bool)] * 2 + [np.ones(2, dtype=bool)],
    }
)
OF_SUBWORDS = pd.DataFrame(
    {
        "id": [0, 1, 2],
        "gradient_inputs": [np.array([9.0, 2.0, 1.0, 0.0]), np.array([9.0, 2.0, 1.0, 0.0]), np.ones(2)],
        "tau_gradient_inputs": [0.5, 1.0, NAN],
    }
)


def test_special_tokens_are_left_out(snapshot):
    """By hand: [CLS] is first in both texts that have words; of these words readings order those of the first otherwise."""
    found = compared_first_tokens(IN_SUBWORDS, OF_SUBWORDS)
    assert [plain(row) for row in found.table.rows] == [
        ["Gradient × input", "0.750", "50.0 %"],
        ["Random tokens", "0.000", "50.0 %"],
    ]
    assert "leaves out special tokens such as [CLS], and the token at which a Transformer decides" in found.legend
    assert [found.sentence.replace("\N{NO-BREAK SPACE}", " ")] == snapshot
    assert [line.value for line in found.lines(1)] == [0.5]


def test_an_earlier_run_has_the_correlation_that_leaves_special_tokens_out():
    earlier = OF_SUBWORDS.assign(tau_without_special_gradient_inputs=[-1.0, 1.0, NAN])
    assert compared_first_tokens(IN_SUBWORDS, earlier).taus == {"gradient_inputs": 0.0}


def test_a_run_that_has_not_stored_which_tokens_are_special_says_that_they_count():
    in_words = OF_SUBWORDS.assign(tau_words_gradient_inputs=1.0)
    found = compared_first_tokens(IN_SUBWORDS.drop(columns="special"), in_words)
    assert "Special tokens such as [CLS] and [SEP] count as tokens in this table" in found.legend
    assert found.lines(1)[0].value == pytest.approx((1 + 1 + 1 / 2) / 3)
    assert len(found.table.rows) == 2


def test_nothing_is_said_of_special_tokens_where_there_are_none():
    of_words = IN_SUBWORDS.assign(special=[np.zeros(len(each), dtype=bool) for each in IN_SUBWORDS["attention"]])
    for instances, importances in ((of_words, OF_SUBWORDS), (INSTANCES, IMPORTANCES)):
        assert "pecial tokens" not in compared_first_tokens(instances, importances).legend


@pytest.mark.parametrize(
    ("instances", "importances"),
    [
        (None, IMPORTANCES),
        (INSTANCES, None),
        (INSTANCES.drop(columns="attention"), IMPORTANCES),
        (INSTANCES, IMPORTANCES[3:]),
        (INSTANCES, IMPORTANCES[["id", "tau_gradient_inputs"]]),
        (INSTANCES[:0], IMPORTANCES),
    ],
)
def test_it_is_silent_where_weights_of_tokens_are_not_stored(instances, importances):
    assert compared_first_tokens(instances, importances) is None


def test_the_answer_and_the_band_say_it_beside_the_correlation(small_run):
    found = Findings(small_run)
    assert "The token with the most attention is also the first of gradient × input in" in found.answers["E1"]
    questions = [question for _, question, _ in found.pictures]
    assert questions.index("How many of attention's 3 first tokens do other readings also rank first?") == 1 + questions.index(
        "Does attention rank tokens as their importance does?"
    )
