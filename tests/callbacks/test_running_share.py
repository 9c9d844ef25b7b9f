"""The share of texts in which attention points at what decides, from epoch to epoch, where it is asked for."""

import pandas as pd
import pytest

from attest.app.cli.main import main
from attest.callbacks.experiment import RUNNING, running_share
from attest.experiments.verdict import share_of
from attest.report.tracking.loggers import is_headline
from attest.runs.folder import read_json
from tests.finished_runs import SMALL_TRAINING, only_folder

KEYS = [f"{RUNNING}/{part}" for part in ("share", "low", "high", "n")]


def test_it_is_that_of_the_texts_that_need_words():
    rows = pd.DataFrame({"id": range(6), "right": [1.0, 0.0, 1.0, float("nan"), 1.0, 0.0], "length": 5})
    share = share_of(rows["right"])
    assert running_share(rows) == dict(zip(KEYS, (0.6, share.low, share.high, 5.0), strict=True))
    assert running_share(rows.assign(right=float("nan"))) == running_share(rows[["id"]]) == {}
    assert all(is_headline(key) for key in KEYS)


@pytest.mark.whole("trainings")
@pytest.mark.parametrize(("asked", "epochs"), [((), 0), (("--experiments.E19.every_n_epochs=1",), 2)])
def test_it_is_logged_after_each_epoch_where_it_is_asked_for(tmp_path, asked, epochs):
    assert main(["fit", *SMALL_TRAINING, "EXPERIMENTS=verdict", "LOGGER=csv", *asked, f"--run.root={tmp_path}"]) == 0
    found = [epoch for epoch in read_json(only_folder(tmp_path).curves) if KEYS[0] in epoch]
    assert len(found) == epochs
    for epoch in found:
        share, low, high, n = (epoch[key] for key in KEYS)
        assert 0 <= low <= share <= high <= 1
        assert 1 <= n <= 32, "one batch"
