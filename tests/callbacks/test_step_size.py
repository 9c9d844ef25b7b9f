"""Learning rate and gradient norm, by hand for one parameter."""

import pytest
import torch
from pytorch_lightning import LightningModule, Trainer
from torch.utils.data import DataLoader

from attest.callbacks.finite import StepSize
from attest.report.tracking.loggers import CSVLog
from tests.report.tracking.test_csv_log import rows


class Slope(LightningModule):
    """Its gradient is (3, 4) at every step."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(2))

    def training_step(self, batch, batch_idx):
        return (self.weight * torch.tensor([3.0, 4.0])).sum()

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.5)
        return [optimizer], [{"scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.1), "interval": "step"}]


def test_every_logged_step_has_its_learning_rate_and_the_norm_before_clipping(tmp_path):
    trainer = Trainer(
        logger=CSVLog(str(tmp_path)), callbacks=[StepSize()], max_epochs=1, log_every_n_steps=2, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, accelerator="cpu", gradient_clip_val=1.0,
    )  # fmt: skip
    trainer.fit(Slope(), DataLoader(torch.zeros(4, 1)))
    logged = rows(tmp_path)
    assert [row["step"] for row in logged] == ["1", "3"]
    assert [float(row["train/gradient_norm"]) for row in logged] == [5.0, 5.0]
    assert [float(row["train/learning_rate"]) for row in logged] == pytest.approx([0.05, 0.0005])
