"""The summary of a run holds the numbers of every table in its folder, whichever command made the table."""

from types import SimpleNamespace

import pandas as pd

from attest.app.training import sum_up
from attest.runs.folder import read_json, write_json, write_table
from tests.report.made import decided, made_run


def test_tables_that_an_earlier_command_made_stay_in_the_summary(tmp_path):
    folder = made_run(tmp_path / "run", {}, decided([0, 1], [0, 1]))
    for name in ("E2", "E8"):
        write_table(folder.evidence(name), pd.DataFrame({"id": [0, 1], "tvd": [0.2, 0.4]}))
    write_json(folder.curves, [])
    write_json(folder.timing, {})
    asked = SimpleNamespace(folder=folder, expected_tables=["E2"], run=SimpleNamespace(monitor="validation/loss", mode="min"))
    sum_up(asked, [], {"test/accuracy": 1.0})
    summary = read_json(folder.summary)
    assert summary["E2/tvd/mean"] == summary["E8/tvd/mean"]
