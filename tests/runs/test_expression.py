"""Expressions of a table: the same numbers as Python gives row by row, and nothing that runs."""

import numpy as np
import pandas as pd
import pytest

from attest.runs.expression import evaluated, parsed, rows_where
from attest.runs.published_tables import read_published, table_file, table_names

ROWS = pd.DataFrame(
    {
        "id": range(6),
        "label": [0, 1, 1, 0, 2, 1],
        "predicted": [0, 1, 0, 0, 2, 2],
        "tau": [0.6, -0.2, np.nan, 0.5, 0.0, 1.0],
        "max": np.asarray([0.1, 0.25, 0.5, 0.75, 0.9, 1.0], dtype=np.float32),
        "same": [True, False, True, True, False, False],
        "word": list("abcdef"),
    }
)
RISKY = (
    *("@pd.io.common.os.system('touch ran')", "__import__('os').system('touch ran')", "tau.__class__", "tau.to_csv('ran')"),
    *("tau[0]", "(lambda: 1)()", "[tau for tau in (1,)]", "f'{tau}'", "'a' * 10**9", "tau if same else 1", "(tau := 1)"),
    *(
        "tau & same",
        "~same",
        "tau in (1, 2)",
        "tau is 1",
        "tau == True",
        "tau > 9**9**9",
        "label // 2",
        "label % 2",
        "1j",
        "",
        "tau tau",
        "tau; tau",
        "`tau`",
        "*tau",
    ),
    *("(" * 300 + "tau", "[" * 190 + "]" * 190, "-" * 500 + "tau", "9" * 399, "tau" + " + tau" * 100, "\0tau"),
)


def shipped():
    columns = [column for name in table_names() for column in read_published(table_file(name)).columns.values()]
    return sorted({text for column in columns for text in (column.value, column.where) if text})


def row_by_row(text, rows):
    return pd.Series([eval(text, {}, {name: rows[name].iloc[place] for name in rows}) for place in range(len(rows))])


@pytest.mark.parametrize("text", shipped())
def test_every_expression_that_ships_gives_what_python_gives(text):
    random, names = np.random.default_rng(0), [part for part in text.split() if part.isidentifier()]
    for kind in (np.float64, np.float32):
        values = [0, 0.25, 0.4, 0.5, 0.6, 0.75, 1, np.nan]
        rows = pd.DataFrame({name: random.choice(values, 400) for name in names}, dtype=kind)
        pd.testing.assert_series_equal(evaluated(text, rows), row_by_row(text, rows), check_names=False, check_dtype=False)


@pytest.mark.parametrize(
    "text",
    [
        *("tau > 0.25 and predicted == 1", "not tau > 0.5", "not same or label != predicted", "0 <= tau < max <= .75"),
        *("tau > 0 or same and label == 1", "-tau + 2 * max / 3", "(label - predicted) * 2", "2 * max", "label - 2 == 1"),
        *("max > 0.1", "max == 0.9", "label / 2", "tau - -1", "+tau", "same", "(tau > 0) + same", "same == (tau > 0)"),
    ],
)
def test_precedence_is_that_of_python(text):
    expected = row_by_row(text, ROWS)
    pd.testing.assert_series_equal(evaluated(text, ROWS), expected, check_names=False, check_dtype=False, check_exact=True)


@pytest.mark.parametrize("text", RISKY)
def test_nothing_else_is_read(text, tmp_path, monkeypatch, refusal):
    monkeypatch.chdir(tmp_path)
    with refusal():
        evaluated(text, ROWS)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("line", ["\x0c", "\x1c", "\x85", "\u2028"])
@pytest.mark.parametrize("text", ["tau # {} tau.to_csv('ran')", "# a = 1 {} b = tau.to_csv('ran')\ntau"])
def test_pandas_reads_what_was_checked_and_no_comment(text, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.testing.assert_series_equal(evaluated(text.format(line), ROWS), ROWS["tau"], check_names=False)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text",
    [
        *("tau > " + "9" * 390, "1 / 0 < tau", "1 < 2", "3"),
        *("tau and same", "label and predicted", "not label", "not 1"),
    ],
)
def test_what_cannot_be_computed_is_a_sentence(text, refusal):
    parsed(text)
    with refusal():
        evaluated(text, ROWS)


def test_columns_that_are_not_there_or_hold_text_are_named(refusal):
    with refusal():
        evaluated("tua > 0", ROWS)
    with refusal():
        evaluated("word == 1", ROWS)


def test_rows_are_chosen_by_a_comparison(refusal):
    assert rows_where("tau >= 0.5 and label == predicted", ROWS)["id"].tolist() == [0, 3]
    with refusal():
        rows_where("label", ROWS)
