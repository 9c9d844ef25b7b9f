"""A bar that counts from 1 and names the experiment that runs; a line an epoch where there is no terminal."""

import io
from types import SimpleNamespace

import pytest
from pytorch_lightning import LightningModule, Trainer
from torch import nn, optim, zeros
from torch.utils.data import DataLoader

from attest.callbacks.progress import Curves, EpochLines, EvidenceProgress, show_running
from attest.report.tracking.loggers import CSVLog


class Nothing(LightningModule):
    def test_step(self, batch, batch_idx):
        show_running(self.trainer, "E3", ["E1", "E3", "E8"])


@pytest.fixture
def seen(monkeypatch):
    """What the bar was told, in order."""
    told = []
    name = EvidenceProgress.name_experiment

    def remember(self, *said):
        name(self, *said)
        told.append((self.test_progress_bar.description, int(self.test_progress_bar.completed)))

    monkeypatch.setattr(EvidenceProgress, "name_experiment", remember)
    return told


def test_the_bar_names_the_experiment_and_counts_every_batch(seen, tmp_path):
    console = {"file": io.StringIO(), "force_terminal": True}
    bar = EvidenceProgress(console_kwargs=console)
    trainer = Trainer(callbacks=[bar], logger=False, default_root_dir=tmp_path, accelerator="cpu")
    trainer.test(Nothing(), DataLoader(zeros(4, 1)), verbose=False)
    assert seen == [("Evidence E3 (2 of 3)", done) for done in range(4)]


def test_without_a_bar_nothing_is_said():
    show_running(SimpleNamespace(progress_bar_callback=None), "E1", ["E1"])


class Learning(LightningModule):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(zeros(1))

    def training_step(self, batch, batch_idx):
        self.log("train/loss", 0.25 * (1 + self.current_epoch), prog_bar=True)
        return self.weight.sum()

    def on_train_epoch_end(self):
        self.log("validation/accuracy", 0.5)

    def configure_optimizers(self):
        return optim.SGD(self.parameters(), lr=0.1)


def train(tmp_path, bar: bool, **options) -> None:
    trainer = Trainer(
        max_epochs=2, default_root_dir=tmp_path, accelerator="cpu", enable_checkpointing=False, enable_model_summary=False,
        enable_progress_bar=bar, log_every_n_steps=1, **options,
    )  # fmt: skip
    trainer.fit(Learning(), DataLoader(zeros(2, 1)))


def test_the_bar_counts_epochs_from_one_and_shows_no_number_of_the_logger(tmp_path):
    drawn = io.StringIO()
    bar = EvidenceProgress(console_kwargs={"file": drawn, "force_terminal": True, "width": 120})
    train(tmp_path, True, callbacks=[bar], logger=CSVLog(str(tmp_path)))
    assert bar.train_progress_bar.description.strip() == "Epoch 2/2"
    assert "train/loss: 0.500" in drawn.getvalue()
    assert "v_num" not in drawn.getvalue()


def test_without_a_terminal_an_epoch_is_a_line_with_its_score(tmp_path, capsys):
    curves = Curves()
    train(tmp_path, False, callbacks=[curves, EpochLines(curves, "train/loss")], logger=False)
    assert capsys.readouterr().out.splitlines()[-2:] == ["Epoch 1/2: train/loss 0.2500", "Epoch 2/2: train/loss 0.5000"]


class Seldom(Learning):
    """Logs one value after each epoch, and another one after every second epoch."""

    def validation_step(self, batch, batch_idx):
        self.log("validation/loss", 0.25)
        if self.current_epoch % 2 == 0:
            self.log("validation/seldom", 0.25)


def test_an_epoch_has_the_values_that_were_logged_in_it(tmp_path):
    curves = Curves()
    trainer = Trainer(
        max_epochs=3, default_root_dir=tmp_path, accelerator="cpu", enable_checkpointing=False, enable_model_summary=False,
        enable_progress_bar=False, log_every_n_steps=1, logger=False, callbacks=[curves],
    )  # fmt: skip
    trainer.fit(Seldom(), DataLoader(zeros(2, 1)), DataLoader(zeros(2, 1)))
    assert ["validation/seldom" in epoch for epoch in curves.epochs] == [True, False, True]
    assert [epoch["validation/loss"] for epoch in curves.epochs] == [0.25] * 3
