"""One CSV file a run: a run that is stopped and taken up leaves the rows of one that was not."""

import csv
from pathlib import Path

import pytest
import torch
from pytorch_lightning import LightningModule, Trainer
from torch.utils.data import DataLoader

from attest.report.tracking.loggers import ContinuedLog, CSVLog


class Counting(LightningModule):
    """Logs how many steps it has taken, and ends at once at a given one."""

    def __init__(self, stop_at: int | None = None) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.stop_at = stop_at

    def training_step(self, batch, batch_idx):
        if self.global_step == self.stop_at:
            raise RuntimeError("stopped")
        self.log("train/loss", float(self.global_step))
        return self.weight.sum()

    def on_train_batch_end(self, outputs, batch, batch_idx):
        if self.global_step == 6:
            self.trainer.save_checkpoint(Path(self.trainer.default_root_dir) / "last.ckpt")

    def on_train_epoch_end(self):
        self.log("validation/score", float(self.current_epoch))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def train(folder: Path, module: Counting, checkpoint: Path | None = None) -> None:
    trainer = Trainer(
        logger=CSVLog(str(folder)), callbacks=[ContinuedLog()], max_epochs=3, log_every_n_steps=1, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder, accelerator="cpu",
    )  # fmt: skip
    trainer.fit(module, DataLoader(torch.zeros(4, 1)), ckpt_path=checkpoint)


def rows(folder: Path) -> list[dict[str, str]]:
    (file,) = folder.rglob("metrics.csv")
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


def test_a_run_that_is_taken_up_leaves_one_log_with_each_step_once(tmp_path):
    train(tmp_path / "undisturbed", Counting())
    stopped = tmp_path / "stopped"
    with pytest.raises(RuntimeError, match="stopped"):
        train(stopped, Counting(stop_at=10))
    assert [row["step"] for row in rows(stopped) if row["train/loss"]][-1] == "9", "three steps beyond its checkpoint"
    train(stopped, Counting(), stopped / "last.ckpt")
    assert rows(stopped) == rows(tmp_path / "undisturbed")
    assert [row["step"] for row in rows(stopped) if row["train/loss"]] == [str(step) for step in range(12)]


def test_a_later_sitting_that_does_not_train_adds_its_rows(tmp_path):
    for metrics in ({"a": 1.0}, {"b": 2.0}):
        log = CSVLog(str(tmp_path))
        log.log_metrics(metrics, step=0)
        log.save()
    assert rows(tmp_path) == [{"a": "1.0", "b": "", "step": "0"}, {"a": "", "b": "2.0", "step": "0"}]


def test_a_row_that_was_cut_off_is_forgotten(tmp_path):
    log = CSVLog(str(tmp_path))
    log.log_metrics({"a": 1.0}, step=0)
    log.save()
    (file,) = tmp_path.rglob("metrics.csv")
    file.write_text(file.read_text() + "2.0")
    CSVLog(str(tmp_path)).forget_from(5)
    assert rows(tmp_path) == [{"a": "1.0", "step": "0"}]
