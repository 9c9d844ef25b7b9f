"""What the report says of attention whose truth is known."""

import re

import pandas as pd
import pytest

from attest.report.findings import pools
from attest.report.readings import truth_lines, truth_sentence


def texts(*masses: float) -> pd.DataFrame:
    return pd.DataFrame({"attention": [[mass, 1 - mass] for mass in masses], "rationale": [[True, False]] * len(masses)})


def without_intervals(said: str) -> str:
    return re.sub(r" \[[^]]*\]", "", said.replace("\N{NO-BREAK SPACE}", " "))


def test_it_says_how_much_lies_on_the_deciding_tokens(snapshot):
    said = truth_sentence(texts(1.0, 0.9, 0.5, 0.0)).replace("\N{NO-BREAK SPACE}", " ")
    assert said == snapshot


def test_importances_are_held_against_the_same_truth_text_by_text():
    """Their table may have its rows in another order, and more of them."""
    rows = texts(1.0, 0.0, 0.0, 0.0).assign(id=[3, 1, 2, 4])
    importances = pd.DataFrame(
        {
            "id": [1, 2, 3, 4, 5],
            "gradient_inputs": [[2.0, 1.0], [2.0, 1.0], [0.0, 1.0], [0.0, 1.0], [2.0, 1.0]],
            "leave_one_out_inputs": [[0.2, 0.1], [0.2, 0.1], [0.2, 0.1], [0.2, 0.2], [0.0, 0.1]],
        }
    )
    assert (
        "in 25.0 % of texts for attention, 50.0 % for gradient × input, 87.5 % for leave-one-out, "
        "and 50.0 % for a random token."
    ) in without_intervals(truth_sentence(rows, importances))
    drawn = truth_lines(rows, importances)
    assert [line.name for line in drawn] == ["attention", "gradient × input", "leave-one-out"]
    assert [line.place(line.value) for line in drawn] == [25.0, 50.0, 87.5]
    assert {line.place(control.value) for line in drawn for control in line.controls} == {50.0}
    assert all(0 <= line.bounds[0] < line.value < line.bounds[1] <= 1 for line in drawn)


def test_where_e1_stopped_early_all_are_compared_on_the_texts_that_it_read():
    rows = texts(1.0, 0.0, 0.0).assign(id=[3, 1, 2])
    early = pd.DataFrame({"id": [3, 1], "leave_one_out_inputs": [[0.2, 0.1], [0.2, 0.1]]})
    said = without_intervals(truth_sentence(rows, early))
    assert (
        "The top token is a deciding word in 50.0 % of texts for attention, 100.0 % for leave-one-out, and 50.0 % for a "
        "random token (over the 2 of 3 texts that E1 read). Deciding words get 33.3 % of the attention in the average text,"
    ) in said
    drawn = truth_lines(rows, early)
    assert [(line.name, line.value) for line in drawn] == [("attention", 0.5), ("leave-one-out", 1.0)]
    assert {control.name for line in drawn for control in line.controls} == {"random token, 2 of 3 texts"}


def test_where_e1_read_no_text_of_the_run_attention_stands_alone():
    rows = texts(1.0, 0.0).assign(id=[3, 1])
    drawn = truth_lines(rows, pd.DataFrame({"id": [7], "leave_one_out_inputs": [[0.2, 0.1]]}))
    assert [(line.name, line.value) for line in drawn] == [("attention", 0.5)]
    assert "E1" not in truth_sentence(rows, pd.DataFrame({"id": [7], "leave_one_out_inputs": [[0.2, 0.1]]}))


@pytest.mark.parametrize("rows", [None, texts(1.0).drop(columns="rationale"), texts(1.0).drop(columns="attention")])
def test_it_is_silent_where_the_truth_is_not_known(rows):
    assert truth_sentence(rows) is None
    assert truth_lines(rows) == []


def test_rollout_is_no_attention_that_pools():
    inside = {"experiments": {"instances": {"explanation": "rollout"}}}
    assert (pools(inside), pools({}), pools({"experiments": {"instances": {}}})) == (False, True, True)
