"""All readings of a model, or of a text, in one table."""

import numpy as np
import pandas as pd
import pytest

from attest.report.readings import EMPTY, readings_of_run, readings_of_text

NAN = float("nan")
ROWS = pd.DataFrame(
    {
        "win_comprehensiveness_attention": [0.2, 0.6, NAN],
        "win_deleted_comprehensiveness_attention": [0.9, 0.9, NAN],
        "win_comprehensiveness_gradient_input": [0.7, 0.7, NAN],
        "win_deleted_comprehensiveness_gradient_input": [0.4, 0.6, NAN],
        "win_comprehensiveness_gradient_input_signed": [0.8, 0.8, NAN],
        "win_deleted_comprehensiveness_gradient_input_signed": [0.8, 0.8, NAN],
        "win_comprehensiveness_flow": [NAN, NAN, NAN],
        "naopc_comprehensiveness_attention": [0.25, 0.75, NAN],
        "tau_attention_and_gradient_input": [-0.5, 0.0, NAN],
        "precision_attention": [1.0, NAN, NAN],
    }
)


def test_a_run_has_the_means_of_the_sampled_texts_and_what_survived_best_first():
    table = readings_of_run(ROWS, {"attention": 0.00012, "gradient-input": 0.5})
    assert table.header == [
        *("reading", "random sets beaten", "… text shortened", "NAOPC", "P@k", "τ-b with attention", "seconds a text")
    ]
    assert table.rows == [
        ["Gradient × input (signed)", "0.800", "0.800", EMPTY, EMPTY, EMPTY, "0.5"],
        ["Attention α", "0.400 [0.000, 1.000]", "0.900", "0.500 [−2.677, 3.677]", "1.000", "1.000", "0.00012"],
        ["Gradient × input", "0.700", "0.500 [0.002, 0.998]", EMPTY, EMPTY, "−0.250 [−1.000, 1.000]", "0.5"],
    ]
    assert table.legend.startswith("Cells are means over 2 texts, with 95 % intervals in brackets.")
    assert "P@k: share of deciding tokens" in table.legend
    assert "Signed readings" in table.legend


def test_a_column_without_any_number_is_left_out():
    table = readings_of_run(ROWS.drop(columns="precision_attention"))
    assert "P@k" not in table.header
    assert "seconds a text" not in table.header
    assert "P@k" not in table.legend
    assert readings_of_run(pd.DataFrame({"id": [1]})) is None


@pytest.fixture
def text():
    numbers = {f"E15/{name}": float(value) for name, value in ROWS.iloc[0].items()}
    weights = {"instances/attention": np.array([0.1, 0.6, 0.3, 0.0]), "E15/gradient_input": np.array([0.4, 0.1, 0.2, 0.3])}
    return numbers | weights


def test_a_text_names_the_tokens_that_each_reading_ranks_first(text):
    table = readings_of_text(text, ["a", "fine", "film", "."])
    assert table.header[-1] == "ranked first"
    assert [(row[0], row[-1]) for row in table.rows] == [
        ("Attention α", "fine, film, a"),
        ("Gradient × input", "a, ., film"),
    ]
    assert table.header[-2] == "first 3 shared"
    assert [row[-2] for row in table.rows] == ["1.000", "0.667"], "a and film are among the three first of both"
    assert "First 3 shared: share of the 3 tokens" in table.legend
    assert "Signed" not in table.legend, "the words shown are shaded by magnitude"


def test_a_text_without_numbers_has_no_table(text):
    assert (
        readings_of_text(
            {name: NAN if np.isscalar(value) else value for name, value in text.items()}, ["a", "fine", "film", "."]
        )
        is None
    )
