"""Training stops early where it is asked to, says so, and goes on stopping after it was killed and taken up."""

import html

import pytest
import torch

from attest.app.cli.main import main
from attest.app.configured import ConfiguredRun
from attest.runs.asked import AskedRun, digest
from attest.runs.folder import read_json
from tests.app.cli.test_kills import attest, files
from tests.conftest import without_places
from tests.finished_runs import BEST_FIRST, only_folder, typed
from tests.forking import KILLED

WAITING = typed(
    ("fit", *BEST_FIRST), "--run.patience=2", "--trainer.max_epochs=9", "--run.checkpoint_every_n_batches=5", "LOGGER=csv"
)
"""The first epoch is the best, so that the third is the last."""


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    root = tmp_path_factory.mktemp("stopped")
    assert main([*WAITING, f"--run.root={root}"]) == 0
    return only_folder(root)


@pytest.mark.whole("a run from beginning to end")
def test_training_stops_when_the_best_epoch_is_as_old_as_the_patience(stopped):
    assert len(read_json(stopped.curves)) == 3
    assert torch.load(stopped.best, weights_only=True)["epoch"] == 0
    page = html.unescape(stopped.report.read_text())
    assert "Training stopped early, after 3 of at most 9 epochs, because the last 2 were no better." in page


@pytest.mark.whole("a run from beginning to end")
def test_a_run_that_stopped_early_is_complete(stopped, capsys):
    before = stopped.last.stat().st_mtime_ns
    assert main([*WAITING, f"--run.root={stopped.path.parents[2]}"]) == 0
    assert "complete: " in capsys.readouterr().out
    assert stopped.last.stat().st_mtime_ns == before


@pytest.mark.whole("a killed command")
def test_a_run_that_was_killed_while_it_waited_stops_where_it_would_have_stopped(stopped, tmp_path):
    command = [*WAITING, f"--run.root={tmp_path}"]
    assert attest(command, kill=16)[0] == KILLED
    killed = only_folder(tmp_path)
    assert killed.last.is_file()
    assert not killed.summary.is_file()
    kept = torch.load(killed.last, weights_only=True)["callbacks"]
    (waited,) = (state["wait_count"] for name, state in kept.items() if name.startswith("EarlyStopping"))
    assert waited == 1, "one epoch was no better, and the next had begun"
    assert attest(command)[0] == 0
    ours, theirs = (without_places(str(files(run.path.parents[2]))) for run in (killed, stopped))
    assert ours == theirs


def callbacks(*words: str) -> list:
    """The callbacks that stop training early, as a run of these words makes them."""
    run = ConfiguredRun("fit", AskedRun.of([*words, "DATA=planted", "LOGGER=csv"]))
    with run.prepared():
        return run.trainer.early_stopping_callbacks


@pytest.mark.parametrize(
    ("words", "patience", "monitor"),
    [
        ((), None, None),
        (("--run.patience=4",), 4, "validation/roc_auc"),
        (("RECIPE=me",), 10, "validation/roc_auc"),
        (("RECIPE=me", "--run.patience=4", "--run.monitor=validation/loss", "--run.mode=min"), 4, "validation/loss"),
    ],
)
def test_a_patience_stands_in_place_of_that_of_the_recipe(words, patience, monitor, tmp_path):
    stopping = callbacks(*words, "--data.init_args.train_texts=32", f"--run.root={tmp_path}")
    assert [(each.patience, each.monitor) for each in stopping] == ([] if patience is None else [(patience, monitor)])


def test_a_run_without_a_patience_is_named_as_before_there_was_one():
    typed = AskedRun.of(["DATA=planted"]).settings
    none, three = (typed | {"run": typed["run"] | {"patience": patience}} for patience in (None, 3))
    assert digest(none) == digest(typed) != digest(three)
