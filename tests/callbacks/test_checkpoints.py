"""Which epoch is kept as the best, and the random state that a resumed run takes up."""

import pytest
import torch
from pytorch_lightning import LightningModule, Trainer
from torch.utils.data import DataLoader

from attest.callbacks.checkpoints import BestCheckpoint, RandomState
from attest.report.summary import summarise_run
from attest.runs.folder import RunFolder, write_json
from attest.runs.versions import peak_memory

UNDEFINED = float("nan")


class Scored(LightningModule):
    """Logs the given scores, one an epoch."""

    def __init__(self, scores):
        super().__init__()
        self.scores, self.layer = scores, torch.nn.Linear(1, 1)

    def training_step(self, batch, batch_idx):
        return self.layer(batch).sum()

    def validation_step(self, batch, batch_idx):
        self.log(
            "validation/roc_auc", torch.tensor(UNDEFINED if self.trainer.sanity_checking else self.scores[self.current_epoch])
        )

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


def best_epoch(path, *scores, mode="max", sanity=0):
    folder, loader = RunFolder(path / "run"), DataLoader(torch.ones(2, 1))
    best = BestCheckpoint(folder, "validation/roc_auc", mode)
    options = {"accelerator": "cpu", "logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = Trainer(max_epochs=len(scores), callbacks=[best], num_sanity_val_steps=sanity, **options)
    trainer.fit(Scored(scores), loader, loader)
    return torch.load(folder.best, weights_only=True)["epoch"]


@pytest.mark.parametrize(
    ("scores", "mode", "epoch"),
    [((0.4, UNDEFINED, 0.6, UNDEFINED), "max", 2), ((0.4, UNDEFINED), "min", 0), ((0.0, UNDEFINED), "max", 0)],
)
def test_an_undefined_score_chooses_no_epoch(tmp_path, capsys, scores, mode, epoch):
    assert best_epoch(tmp_path, *scores, mode=mode) == epoch
    assert "validation/roc_auc is undefined in epoch 1, which is not chosen." in capsys.readouterr().out
    write_json(RunFolder(tmp_path).curves, [{"epoch": n, "validation/roc_auc": score} for n, score in enumerate(scores)])
    assert summarise_run(RunFolder(tmp_path), (), {}, "validation/roc_auc", mode)["best/epoch"] == epoch


def test_where_no_epoch_can_be_the_best_training_stops_at_the_first(tmp_path, refusal):
    with refusal():
        best_epoch(tmp_path, UNDEFINED, UNDEFINED)
    assert best_epoch(tmp_path, 0.5, sanity=1) == 0, "two batches before training say nothing"


def test_a_run_on_the_cpu_leaves_the_gpus_of_its_machine_alone(monkeypatch):
    """To ask a GPU for its state makes a context on it, and evidence would then stay in one process."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for asked in ("get_rng_state_all", "max_memory_allocated", "set_rng_state"):
        monkeypatch.setattr(torch.cuda, asked, lambda *_: pytest.fail("CUDA was initialised"))
    resumed = RandomState()
    assert resumed.state_dict()["ranks"][0]["cuda"] == []
    assert "gpu_mib" not in peak_memory()
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    resumed.load_state_dict({"ranks": [{"cpu": torch.get_rng_state(), "cuda": [torch.zeros(16, dtype=torch.uint8)]}]})
    resumed.on_train_batch_start(*[None] * 3, 0)


def test_random_numbers_go_on_where_they_stopped_once_the_first_batch_begins():
    kept = RandomState().state_dict()
    expected = torch.rand(3)
    resumed = RandomState()
    resumed.load_state_dict(kept)
    torch.rand(1)  # the loader draws before the first batch
    resumed.on_train_batch_start(*[None] * 3, 0)
    assert torch.equal(torch.rand(3), expected)
    before = torch.get_rng_state()
    resumed.on_train_batch_start(*[None] * 3, 1)
    assert torch.equal(torch.get_rng_state(), before), "only once"
