"""The pages of controls, adversaries and guides: words for columns, numbers that are read at a glance."""

import html
import re

import pandas as pd

from attest.report.related_runs import write_related_runs


def test_columns_have_names_and_numbers_three_decimals(tmp_path):
    rows = pd.DataFrame(
        {"run": ["a"], "lambda": [1e-05], "jsd": [6.76e-11], "tvd": [0.0], "accuracy": [0.98765], "f1": [None]}
    )
    write_related_runs(tmp_path / "page.html", "Adversaries", {"Adversaries": rows}, [])
    page = html.unescape((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert re.findall(r'<th scope="col">(.*?)</th>', page) == [
        *("run", "λ", "JSD of attention to the base, nats", "TVD of predictions to the base", "accuracy", "F1")
    ]
    assert re.findall("<td>(.*?)</td>", page) == ["a", "1e-05", "< 0.001", "0.000", "0.988", "–"]
