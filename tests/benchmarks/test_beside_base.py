"""Settings beside a base: what is kept of runs, and the page that is written from it."""

import numpy as np
import pandas as pd
import pytest

from attest.runs.folder import RunFolder, write_table
from benchmarks.beside_base import Settings

TEXTS = 120


def compared(folder):
    return Settings(
        folder, "plain", {"better": "points better", "absent": "was not run"}, {"right": "right", "right_random": "chance"}
    )


def run_in(folder, seed, share):
    """A run with the two tables that are read: attention is right in a share of the texts that need words."""
    draw, run = np.random.default_rng(seed), RunFolder(folder)
    ids, predicted = np.arange(TEXTS), np.arange(TEXTS) % 2
    label = np.where(ids < 12 + seed, 1 - predicted, predicted)
    rows = pd.DataFrame({"id": ids, "label": label, "predicted": predicted, "attention": [np.array([0.5, 0.5, 0.0])] * TEXTS})
    needs = ids < 100
    right = np.where(needs, draw.random(TEXTS) < share, np.nan)
    decided = pd.DataFrame({"id": ids, "words": np.where(needs, 1.0, np.nan), "right": right, "right_random": right * 0})
    write_table(run.evidence("instances"), rows)
    write_table(run.evidence("E19"), decided)
    return run


@pytest.fixture
def kept(tmp_path):
    settings = compared(tmp_path)
    shares = {"plain": 0.3, "better": 0.9}
    settings.keep(
        (name, seed, run_in(tmp_path / name / str(seed), seed, share)) for name, share in shares.items() for seed in range(3)
    )
    return settings


def test_accuracy_and_texts_that_need_words_are_kept(kept):
    runs, texts = (pd.read_parquet(kept.kept / f"{name}.parquet") for name in ("runs", "texts"))
    assert runs["accuracy"].tolist() == pytest.approx([1 - (12 + seed) / TEXTS for seed in (0, 1, 2)] * 2)
    assert len(texts) == 2 * 3 * 100
    assert (texts["support"] == 2).all()


def test_the_page_judges_what_has_run_and_names_what_has_not(kept):
    table, raised = kept.page()
    base, better, absent = table.replace("\u00a0", " ").splitlines()[2:]
    assert "| the base | 3, 100 | 89.2 % |" in base
    assert "| holds |" in better
    assert "| not run |" in absent
    assert raised == [], "the accuracies do not differ between seeds, and so they are not shown to be the same"
    assert kept.answer(raised).endswith("**none of them**.")
    assert kept.answer(["better"]).endswith("**1 of 2: better**.")
