"""The bar of the test split names the experiment that runs, and steps with every batch."""

import io
from types import SimpleNamespace

import pytest
from pytorch_lightning import LightningModule, Trainer
from torch import zeros
from torch.utils.data import DataLoader

from attest.callbacks.progress import EvidenceProgress, show_running


class Nothing(LightningModule):
    def test_step(self, batch, batch_idx):
        show_running(self.trainer, "E3")


@pytest.fixture
def seen(monkeypatch):
    """What the bar was told, in order."""
    told = []
    name = EvidenceProgress.name_experiment

    def remember(self, identity):
        name(self, identity)
        told.append((self.test_progress_bar.description, int(self.test_progress_bar.completed)))

    monkeypatch.setattr(EvidenceProgress, "name_experiment", remember)
    return told


def test_the_bar_names_the_experiment_and_counts_every_batch(seen, tmp_path):
    console = {"file": io.StringIO(), "force_terminal": True}
    bar = EvidenceProgress(console_kwargs=console)
    trainer = Trainer(callbacks=[bar], logger=False, default_root_dir=tmp_path, accelerator="cpu")
    trainer.test(Nothing(), DataLoader(zeros(4, 1)), verbose=False)
    assert seen == [("Evidence E3", done) for done in range(4)]


def test_without_a_bar_nothing_is_said():
    show_running(SimpleNamespace(progress_bar_callback=None), "E1")
