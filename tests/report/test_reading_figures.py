"""Figures of readings agree with the table beside them."""

import pandas as pd

from attest.report.evidence_figures import readings_side_by_side
from attest.report.readings import readings_of_run

WINS = {"attention": (0.4, 0.9), "gradient_input": (0.6, 0.6), "random": (0.5, 0.5)}
"""By the mean of both operators attention is better, by the worse of them gradient × input."""


def test_the_figure_has_the_order_of_the_table():
    columns = {f"win_comprehensiveness_{name}": [first] for name, (first, _) in WINS.items()}
    columns |= {f"win_deleted_comprehensiveness_{name}": [second] for name, (_, second) in WINS.items()}
    rows = pd.DataFrame(columns)
    (axes,) = readings_side_by_side(rows, ["a", "b"]).axes
    from_the_top = [label.get_text() for label in axes.get_yticklabels()][::-1]
    assert from_the_top == [row[0] for row in readings_of_run(rows).rows]
