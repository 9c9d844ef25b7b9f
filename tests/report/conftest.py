"""Runs made up from a small one (other settings, other seeds, other decisions), and the browser in which pages are opened."""

import os
import shutil
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
import yaml

from attest.runs.folder import RunFolder, read_json, write_json, write_table
from attest.runs.identity import RunIdentity
from tests.report.browsers import CHROMIUM, FIREFOX


def variant(source: RunFolder, root, name: str, seed: int, accuracy: float, wrong=()) -> RunFolder:
    """A copy that has this accuracy in its summary and decides the texts of these ids wrongly, all others rightly."""
    run = RunFolder(root / "planted" / name / f"seed{seed}")
    shutil.copytree(source.path, run.path, ignore=shutil.ignore_patterns("wandb", "checkpoints"))
    RunIdentity("planted", name, seed).store(run)
    write_json(run.summary, read_json(source.summary) | {"test/accuracy": accuracy})
    settings = yaml.safe_load(source.config.read_text())
    run.config.write_text(yaml.safe_dump(settings | {"seed_everything": seed}))
    rows = pd.read_parquet(source.evidence("instances"))
    flipped = np.isin(rows["id"], list(wrong))
    write_table(run.evidence("instances"), rows.assign(predicted=np.where(flipped, 1 - rows["label"], rows["label"])))
    return run


@pytest.fixture(scope="module")
def several(small_run, tmp_path_factory):
    """Setting ``a_b`` with two seeds and ``c|d`` with one, below one root."""
    root = tmp_path_factory.mktemp("several")
    variant(small_run, root, "a_b", 0, 0.5, wrong=range(12))
    variant(small_run, root, "a_b", 1, 0.7)
    variant(small_run, root, "c|d", 0, 0.8, wrong=[0, 1, 70])
    return root


@pytest.fixture(scope="module", params=["chromium", "firefox"])
def browser(request) -> Iterator:
    from playwright.sync_api import sync_playwright  # a package that only these tests need

    with sync_playwright() as started:
        if request.param == "chromium":
            launched = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        elif os.path.isfile(started.firefox.executable_path):
            launched = started.firefox.launch()
        elif FIREFOX:
            as_on_phones = {"ui.useOverlayScrollbars": 1}
            launched = started.firefox.launch(channel="moz-firefox", executable_path=FIREFOX, firefox_user_prefs=as_on_phones)
        else:
            pytest.skip("no Firefox: apt install firefox-esr, or playwright install firefox")
        yield launched
        launched.close()
