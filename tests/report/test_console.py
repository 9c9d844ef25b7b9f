"""The console after several runs: what came out, then tables with words and units for columns, as on the page."""

import pandas as pd
import pytest

from attest.report.related import Conclusion, Page, as_text, related_table

ROWS = pd.DataFrame(
    {
        "experiment": ["", "E5"],
        "name": ["the base itself", "seed 1"],
        "accuracy": [0.98765, 0.5],
        "jsd": [None, 6.76e-11],
        "same": [None, 0.25],
    }
)


def test_what_came_out_stands_first_and_columns_have_names_and_units(tmp_path, snapshot):
    tables = {"Scores": related_table(ROWS, tmp_path / "page.html")}
    assert as_text(tables, [Conclusion("Attention moved.", "By 0.6 nats of at most 0.693.")], 24).splitlines() == snapshot


def test_no_line_of_a_table_is_longer_than_its_columns(tmp_path):
    table = related_table(ROWS.drop(columns="experiment"), tmp_path / "page.html")
    *heads, rule, _, _ = as_text({"Scores": table}, [], 80).splitlines()[1:]
    assert all(len(line) == len(rule) for line in heads[-1:])
    assert all(len(line) <= len(rule) for line in heads)


@pytest.mark.parametrize("columns", [40, 200])
def test_the_console_says_what_the_page_says(tmp_path, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    said = Conclusion("Attention moved by more than another seed does, and predictions did not.", "JSD 0.6.")
    tables = {"Adversaries": ROWS, "None": ROWS.head(0)}
    lines = Page("Adversaries", tables, conclusions=[said]).write(tmp_path / "page.html").splitlines()
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert said.said in page
    assert " ".join(lines).startswith(said.said)
    assert all(len(line) <= columns for line in lines[:2])
    assert "Adversaries" in lines
    assert "None" not in lines
    assert "6.76e-11" not in "".join(lines)
