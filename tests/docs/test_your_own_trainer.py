"""The page says what works: its code runs, in order, and its promises hold."""

import re
from pathlib import Path

import pandas as pd
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "your-own-trainer.md"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The names that the page's code leaves behind, and the folder it ran in."""
    folder = tmp_path_factory.mktemp("page")
    names: dict = {"folder": folder}
    with pytest.MonkeyPatch.context() as here:
        here.chdir(folder)
        for name in ("PL_GLOBAL_SEED", "PL_SEED_WORKERS"):
            here.setenv(name, "0")
        for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL):
            exec(compile(block, str(PAGE), "exec"), names)
    return names


def test_every_callback_has_a_row_per_instance(page):
    for callback in (page["permutation"], page["swap"], page["importance"], page["mine"]):
        assert callback.table["id"].tolist() == list(range(70))
        assert callback.table["label"].tolist() == page["texts"].tensors[1].tolist()


def test_means_are_logged_and_tables_can_be_written(page):
    assert page["logged"]["E2/test/tvd_median/mean"] == pytest.approx(page["permutation"].table["tvd_median"].mean())
    assert len(pd.read_parquet(page["folder"] / "importance.parquet")) == 70


def test_ones_own_experiment_gets_labels_and_options(page):
    table = page["mine"].table
    assert table["margin"].between(-1, 1).all()
    assert (table["right"] == (table["label"] == table["predicted"])).all()
