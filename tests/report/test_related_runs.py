"""The pages of controls, adversaries and guides: words for columns, numbers that are read at a glance."""

import html
import re

import pandas as pd
import pytest

from attest.report.related import HEADINGS, LONG, Page, plain, related_table


def page_of(tmp_path, rows: pd.DataFrame) -> str:
    Page("Adversaries", {"Adversaries": rows}).write(tmp_path / "page.html")
    return html.unescape((tmp_path / "page.html").read_text(encoding="utf-8"))


def test_columns_have_names_and_numbers_three_decimals(tmp_path):
    rows = pd.DataFrame(
        {"lambda": [1e-05, 1.0], "jsd": [6.76e-11, 0.6], "tvd": [0.0, 0.5], "accuracy": [0.98765, 0.5], "f1": [None, 0.5]}
    )
    page = page_of(tmp_path, rows)
    assert re.findall(r'<th scope="col">(.*?)</th>', page) == [
        *("λ", "JSD from the base run's attention, nats", "TVD from the base run's predictions", "Accuracy", "F1")
    ]
    assert re.findall('<th scope="row">(.*?)</th>', page) == ["0.00001", "1"]
    assert re.findall("<td>(.*?)</td>", page)[:4] == ["< 0.001", "0.000", "0.988", "–"]


@pytest.mark.parametrize(
    ("column", "heading"),
    [
        ("kl", "KL divergence from the base run's attention, nats"),
        ("nll", "NLL of the base run's tags, nats"),
        ("same", "Decisions as in the base run, share"),
        ("jsd_matched", "JSD from the base run's attention, best-matching heads, nats"),
    ],
)
def test_distances_are_called_as_their_experiment_calls_them(column, heading):
    assert HEADINGS[column] == heading


def test_lambda_has_all_its_digits_and_no_exponent():
    assert [plain(value) for value in (1e-05, 0.003, 2.5, 30.0)] == ["0.00001", "0.003", "2.5", "30"]


def test_rows_stand_under_their_question_and_lead_to_their_reports(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "report.html").touch()
    reports = [tmp_path / "runs" / "report.html", tmp_path / "gone" / "report.html", None]
    rows = pd.DataFrame({"experiment": ["", "E5", "E5"], "name": ["base", "seed 1", "seed 2"], "report": reports})
    table = related_table(rows, tmp_path / "controls" / "page.html")
    assert table.header == ["Run"]
    assert [(name, question, len(rows)) for name, question, rows in table.groups] == [
        ("", "", 1),
        ("E5", "How far apart is attention when only the seed differs?", 2),
    ]
    assert [link for _, _, rows in table.groups for _, link in rows] == ["../runs/report.html", None, None]


def test_columns_without_any_value_are_left_out(tmp_path):
    rows = pd.DataFrame({"lambda": [1.0, 2.0], "knee": [False, False], "f1": [float("nan")] * 2, "accuracy": [0.0, 1.0]})
    assert related_table(rows, tmp_path / "page.html").header == ["λ", "Accuracy"]
    bent = rows.assign(knee=[False, True])
    assert related_table(bent, tmp_path / "page.html").header == ["λ", "Knee of the curve", "Accuracy"]


@pytest.mark.parametrize(("count", "scrolls"), [(LONG, False), (LONG + 1, True)])
def test_long_tables_scroll_within_the_page(tmp_path, count, scrolls):
    page = page_of(tmp_path, pd.DataFrame({"lambda": [float(each) for each in range(count)], "jsd": 0.5}))
    assert ('class="wide tall"' in page) == scrolls
