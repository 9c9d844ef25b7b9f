"""Training stops early where it is asked to, says so, and goes on stopping after it was killed and taken up."""

import html

import pytest
import torch
import yaml
from pytorch_lightning import LightningModule, Trainer
from pytorch_lightning.callbacks import EarlyStopping
from torch import nn
from torch.utils.data import DataLoader

from attest.app.cli.main import main
from attest.app.configured import ConfiguredRun
from attest.callbacks.progress import Curves, EpochLines
from attest.core.places import configs_folder
from attest.report.findings import Findings
from attest.report.page import write_report
from attest.runs.asked import AskedRun, digest
from attest.runs.folder import read_json, write_json
from tests.app.cli.test_kills import attest, files
from tests.conftest import without_places
from tests.finished_runs import BEST_FIRST, only_folder, typed
from tests.forking import KILLED
from tests.report.made import decided, made_run

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
        ((), 1_000_000, "validation/roc_auc"),
        (("--run.patience=4",), 4, "validation/roc_auc"),
        (("RECIPE=me",), 10, "validation/roc_auc"),
        (("RECIPE=me", "--run.patience=4", "--run.monitor=validation/loss", "--run.mode=min"), 4, "validation/loss"),
    ],
)
def test_a_patience_stands_in_place_of_that_of_the_recipe(words, patience, monitor, tmp_path):
    stopping = callbacks(*words, "--data.init_args.train_texts=32", f"--run.root={tmp_path}")
    assert [(each.patience, each.monitor) for each in stopping] == [(patience, monitor)]


def test_a_run_without_a_patience_is_named_as_before_there_was_one():
    typed = AskedRun.of(["DATA=planted"]).settings
    none, three = (typed | {"run": typed["run"] | {"patience": patience}} for patience in (None, 3))
    assert digest(none) == digest(typed) != digest(three)


@pytest.fixture
def planted():
    """The callback that ends training on planted texts."""
    (given,) = yaml.safe_load((configs_folder() / "data" / "planted.yaml").read_text())["trainer"]["callbacks"]
    return EarlyStopping(**given["init_args"])


class Scored(LightningModule):
    """Logs the given scores, one an epoch, in single precision."""

    def __init__(self, name, scores):
        super().__init__()
        self.name, self.scores, self.weight = name, scores, nn.Parameter(torch.zeros(1))

    def training_step(self, batch, batch_idx):
        loss = (self.weight * batch).sum()
        self.log("train/loss", loss)
        return loss

    def on_validation_epoch_end(self):
        self.log(self.name, torch.tensor(self.scores[self.current_epoch]))

    def validation_step(self, batch, batch_idx):
        return None

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


@pytest.mark.parametrize(
    ("name", "scores", "epochs"),
    [
        ("validation/roc_auc", [0.5, 1 - 2**-24, 1.0, 1.0, 1.0], 3),
        ("validation/roc_auc", [1 - 2**-24] * 5, 5),
        ("validation/accuracy", [1.0] * 5, 5),
    ],
    ids=["perfect", "nearly perfect", "another score"],
)
def test_training_on_planted_texts_ends_when_no_epoch_could_be_better(name, scores, epochs, planted, tmp_path, capsys):
    curves = Curves()
    trainer = Trainer(
        max_epochs=5, callbacks=[planted, curves, EpochLines(curves, name)], logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0, default_root_dir=tmp_path,
        accelerator="cpu",
    )  # fmt: skip
    trainer.fit(Scored(name, scores), DataLoader(torch.zeros(1, 1)), DataLoader(torch.zeros(1, 1)))
    assert len(curves.epochs) == epochs
    early = [line for line in capsys.readouterr().out.splitlines() if "early" in line]
    assert early == ["Training ends early, after 3 of at most 5 epochs."] * (epochs < 5)


def test_the_page_says_that_training_ended_at_a_perfect_score(planted, tmp_path):
    folder = made_run(tmp_path / "seed0", {"best/epoch": 2, "test/accuracy": 1.0}, decided([0, 1], [0, 1]))
    settings = yaml.safe_load(folder.config.read_text())
    given = yaml.safe_load((configs_folder() / "data" / "planted.yaml").read_text())["trainer"]
    folder.config.write_text(yaml.safe_dump(settings | {"trainer": given | {"max_epochs": 8}}))
    write_json(folder.curves, [{"epoch": epoch, "validation/roc_auc": score} for epoch, score in enumerate((0.5, 0.9, 1.0))])
    write_report(Findings(folder))
    page = html.unescape(folder.report.read_text())
    reached = "because the last one reached the score at which training ends."
    assert f"Training stopped early, after 3 of at most 8 epochs, {reached}" in page
