"""Many readings against attention: paired tests over texts, corrected twice; by hand."""

import numpy as np
import pandas as pd
import pytest

from attest.report.readings import leads_over_attention, readings_of_run


def table(texts=12):
    """One reading is always better than attention, one now and then, and random sets play no part."""
    names = {"attention": 0.5, "norm": 0.6, "rollout": 0.5, "random": 0.9}
    found = {}
    for prefix in ("win_comprehensiveness_", "win_deleted_comprehensiveness_"):
        for name, level in names.items():
            noise = np.arange(texts) / 1000 if name == "norm" else np.zeros(texts)
            noise = np.where(np.arange(texts) % 2, 0.1, -0.1) + np.arange(texts) / 1000 if name == "rollout" else noise
            found[prefix + name] = level + noise
    return pd.DataFrame(found)


def test_readings_are_tested_text_by_text():
    found = leads_over_attention(table())
    assert [*found.index] == ["norm", "rollout"]
    assert found.loc["norm", "p"] == pytest.approx(2 / 2**12)  # all twelve differences have one sign
    assert found.loc["norm", "bonferroni"] == pytest.approx(4 / 2**12)
    assert found.loc["norm", "benjamini_hochberg"] == pytest.approx(4 / 2**12)
    assert found.loc["rollout", "p"] > 0.1
    assert found.loc["rollout", "benjamini_hochberg"] == found.loc["rollout", "p"]
    assert found.loc["norm", "lead"] == pytest.approx(0.1 + 5.5 / 1000)


def test_the_table_of_readings_has_both_corrections():
    shown = readings_of_run(table())
    assert shown.header[-2:] == ["p, Bonferroni", "p, BH"]
    assert "Benjamini and Hochberg" in shown.legend
