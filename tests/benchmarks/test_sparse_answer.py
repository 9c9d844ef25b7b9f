"""The page that answers whether sparse attention explains better: it is what its kept tables say."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import sparse, sparse_answer
from benchmarks.sparse import have_run, points
from benchmarks.sparse_answer import PAGE, PRETRAINED, cell, page, points_of_runs, setting_of


def test_the_page_is_what_is_kept():
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.whole("draws texts anew ten thousand times for each of a hundred shares")
def test_the_page_of_corpora_is_what_is_kept(tmp_path, monkeypatch):
    before = sparse.PAGE.read_text(encoding="utf-8")
    monkeypatch.setattr(sparse, "PAGE", tmp_path / "page.md")
    sparse.write()
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == before


def test_a_point_is_a_run_with_its_own_accuracy_and_share():
    for data in (*have_run(), PRETRAINED):
        runs = points_of_runs(data)
        assert not runs.duplicated(["row", "seed"]).any()
        assert {*runs["projection"]} <= {*sparse_answer.PROJECTIONS}
        assert runs["accuracy"].between(0.5, 1).all()
    texts = pd.read_parquet(sparse.RESULTS / "sparse-sst" / "texts.parquet")
    mine = texts[(texts["row"] == "CNN, sparsemax") & (texts["seed"] == 2)]
    shown = points_of_runs("sst").set_index(["row", "seed"]).loc[("CNN, sparsemax", 2)]
    assert shown["right"] == pytest.approx(mine["right"].mean())


def test_a_swapped_setting_is_another_network():
    assert setting_of("sparsemax") == ("MiniLM", "sparsemax")
    assert setting_of("sparsemax, swapped") == ("MiniLM, swapped", "sparsemax")


def test_a_cell_has_the_difference_its_interval_over_seeds_and_its_verdict():
    softmax = pd.DataFrame(np.array([[0.0, 1.0], [0.0, 0.0], [1.0, np.nan]]))
    ours = pd.DataFrame(np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]))
    assert cell(ours, softmax, "perhaps") == "+33 [-38, +100] perhaps"


def test_differences_of_shares_end_at_a_hundred_points():
    assert points(-1.4, 0.25) == "[-100, +25]"
    assert points(np.nan, np.nan) == "–"
