"""Training on an accelerator (the fake one of ``tests/fake_device.py``): no step waits for it, and nothing is lost by that."""

import io
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from pytorch_lightning import Callback, LightningDataModule, Trainer
from pytorch_lightning.accelerators import CPUAccelerator
from pytorch_lightning.strategies import SingleDeviceStrategy
from torch.utils.data import DataLoader

from attest.callbacks import progress
from attest.callbacks.finite import FiniteLoss
from attest.callbacks.progress import Curves, EvidenceProgress
from attest.core.errors import AttestError
from attest.lightning_modules import Classifier, Tagger
from attest.models.networks import BiLSTM, PoolingClassifier, TransformerClassifier, TransformerTagger
from tests.fake_device import DEVICE, FakeDevice, fake_device

WORDS, TEXTS, BATCH = 9, 24, 4
SMALL = {"size": 8, "layers": 2, "heads": 2, "feedforward_size": 8}


class Texts(LightningDataModule):
    """Six batches of four texts, of which every second has three tokens and the others five."""

    seed = 3

    def train_dataloader(self) -> DataLoader:
        tokens = torch.randint(2, WORDS, (TEXTS, 5), generator=torch.Generator().manual_seed(0))
        rows = []
        for row, text in enumerate(tokens):
            mask = torch.arange(5) < (5 if row % 2 else 3)
            known = {"label": torch.tensor(row % 2), "tags": (text % 2).masked_fill(~mask, -100)}
            rows.append({"id": torch.tensor(row), "token_ids": text * mask, "mask": mask} | known)
        return DataLoader(rows, batch_size=BATCH)


class Stepwise(Callback):
    """Keeps what each step has read and uploaded."""

    def __init__(self, device: FakeDevice) -> None:
        self.device, self.syncs, self.uploads = device, [], []

    def on_train_batch_start(self, *_: Any) -> None:
        self.device.forget()  # the batch has just been uploaded

    def on_train_batch_end(self, *_: Any) -> None:
        self.syncs.append(dict(self.device.syncs))
        self.uploads.append(dict(self.device.uploads))


class OnTheDevice(CPUAccelerator):
    def setup_device(self, device: torch.device) -> None:
        pass


def pooled() -> Classifier:
    def network(words: int, outputs: int) -> PoolingClassifier:
        return PoolingClassifier(words, outputs, lambda size: BiLSTM(size, 8, 4))

    return Classifier(network, vocab_size=WORDS)


def masked_transformer() -> Classifier:
    def network(words: int, outputs: int) -> TransformerClassifier:
        return TransformerClassifier(words, outputs, dropout=0.0, **SMALL)

    return Classifier(network, vocab_size=WORDS, masking="uniform")


def tagger() -> Tagger:
    def network(words: int, tags: int) -> TransformerTagger:
        return TransformerTagger(words, tags, dropout=0.0, embedding_size=None, **SMALL)

    return Tagger(network, vocab_size=WORDS)


MODULES = {"pooled": pooled, "masked_transformer": masked_transformer, "tagger": tagger}


def fit(module: Any, device: FakeDevice | None, *callbacks: Callback, texts: LightningDataModule | None = None) -> None:
    there = {} if device is None else {"strategy": SingleDeviceStrategy(DEVICE, accelerator=OnTheDevice())}
    quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_model_summary"), False)
    bar = EvidenceProgress(console_kwargs={"file": io.StringIO(), "force_terminal": True})
    trainer = Trainer(max_epochs=1, callbacks=[FiniteLoss(), Curves(), bar, *callbacks], **quiet, **there)
    trainer.fit(module, texts or Texts())


def made(name: str) -> Any:
    torch.manual_seed(0)
    return MODULES[name]()


@pytest.mark.parametrize("name", MODULES)
def test_no_step_reads_or_uploads_anything_and_weights_are_those_of_the_cpu(name, monkeypatch):
    monkeypatch.setattr(progress, "HALF_A_SECOND", 1e9)
    expected = made(name)
    fit(expected, None)
    with fake_device() as device:
        module, steps = made(name), Stepwise(device)
        fit(module, device, steps)
    assert len(steps.syncs) == TEXTS // BATCH
    assert steps.syncs[1:-1] == [{}] * (TEXTS // BATCH - 2), "the first and the last step show their loss beside the bar"
    assert steps.uploads[1:] == [{}] * (TEXTS // BATCH - 1)
    for ours, there in zip(expected.parameters(), module.parameters(), strict=True):
        torch.testing.assert_close(getattr(there, "held", there).detach(), ours.detach(), atol=1e-6, rtol=1e-6)


def test_the_bar_reads_the_loss_at_the_first_and_last_step_and_when_half_a_second_is_over(monkeypatch):
    with fake_device() as device:
        steps = Stepwise(device)
        monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: float(len(steps.syncs) >= 3)))
        fit(made("pooled"), device, steps)
    assert [bool(syncs) for syncs in steps.syncs] == [True, False, False, True, False, True]


@pytest.mark.parametrize("at_once", [100, 4])
def test_a_loss_that_is_none_is_named_before_the_epoch_ends(at_once, monkeypatch):
    monkeypatch.setattr("attest.callbacks.finite.NUMBERS_AT_ONCE", at_once)
    module, seen = made("pooled"), []
    step = module.training_step

    def second_batch_goes_wrong(batch, batch_idx):
        seen.append(batch_idx)
        return step(batch, batch_idx) * (torch.nan if batch_idx == 1 else 1.0)

    monkeypatch.setattr(module, "training_step", second_batch_goes_wrong)
    with fake_device() as device, pytest.raises(AttestError, match="NaN on the texts with the ids 4, 5, 6, 7;"):
        fit(module, device)
    assert seen == list(range(2 if at_once == 4 else TEXTS // BATCH))


def test_no_checkpoint_is_written_after_a_loss_that_is_none(tmp_path, monkeypatch):
    module = made("pooled")
    step = module.training_step
    monkeypatch.setattr(module, "training_step", lambda batch, batch_idx: step(batch, batch_idx) * torch.nan)

    class SavesAtOnce(Callback):
        def on_train_batch_end(self, trainer: Trainer, *_: Any) -> None:
            trainer.save_checkpoint(tmp_path / "last.ckpt")

    with fake_device() as device, pytest.raises(AttestError, match="NaN on the texts with the ids 0, 1, 2, 3;"):
        fit(module, device, SavesAtOnce())
    assert not [*tmp_path.iterdir()]


def test_a_text_without_tokens_is_named():
    """Projections do not look at a mask on the device, so its attention and the loss are NaN."""

    class WithAnEmptyText(Texts):
        def train_dataloader(self) -> DataLoader:
            loader = super().train_dataloader()
            loader.dataset[5]["mask"] = torch.zeros(5, dtype=torch.bool)
            return loader

    with fake_device() as device, pytest.raises(AttestError, match="NaN on the texts with the ids 4, 5, 6, 7;"):
        fit(made("pooled"), device, texts=WithAnEmptyText())


def test_what_is_kept_for_the_device_is_in_no_checkpoint():
    module = made("masked_transformer")
    before = {*module.state_dict()}
    with fake_device() as device:
        fit(module, device)
        assert {*module.state_dict()} == before
