"""Training that meets a number that is none stops with the ids of the texts, before the weights take it in."""

from types import SimpleNamespace

import pytest
import torch
from pytorch_lightning import LightningDataModule, Trainer
from torch.utils.data import DataLoader

from attest.callbacks.finite import FiniteLoss
from attest.core.errors import AttestError
from attest.lightning_modules import Classifier, Tagger
from attest.lightning_modules.text_module import require_finite
from attest.models.networks import Average, PoolingClassifier, TransformerTagger


class Toy(LightningDataModule):
    """Twelve texts in batches of four, for a classifier and a tagger alike."""

    def __init__(self) -> None:
        super().__init__()
        tokens = torch.randint(2, 9, (12, 5), generator=torch.Generator().manual_seed(0))
        mask = torch.ones(5, dtype=torch.bool)
        self.rows = [
            {
                "id": torch.tensor(100 + i),
                "token_ids": tokens[i],
                "mask": mask,
                "label": torch.tensor(i % 2),
                "tags": tokens[i] % 2,
            }
            for i in range(12)
        ]

    def train_dataloader(self) -> DataLoader:
        return DataLoader(self.rows, batch_size=4)

    val_dataloader = test_dataloader = train_dataloader


def classifier() -> Classifier:
    return Classifier(lambda words, outputs: PoolingClassifier(words, outputs, Average), vocab_size=9)


def tagger() -> Tagger:
    return Tagger(lambda words, tags: TransformerTagger(words, tags, size=8, heads=2, embedding_size=None), vocab_size=9)


def trainer() -> Trainer:
    quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
    return Trainer(
        accelerator="cpu", inference_mode=False, max_epochs=1, num_sanity_val_steps=0, callbacks=[FiniteLoss()], **quiet
    )


def weights(module) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in module.parameters()]


@pytest.mark.parametrize("make", [classifier, tagger])
@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_a_loss_that_is_none_stops_training_with_the_ids_of_its_batch(make, value, monkeypatch):
    module, before = make(), []
    step = module.training_step

    def second_batch_goes_wrong(batch, batch_idx):
        loss = step(batch, batch_idx)
        if batch_idx == 1:
            before.extend(weights(module))
            return loss * value
        return loss

    monkeypatch.setattr(module, "training_step", second_batch_goes_wrong)
    name = "NaN" if value != value else "infinite"
    with pytest.raises(
        AttestError, match=f"training loss is {name} on the texts with the ids 104, 105, 106, 107; expected finite"
    ):
        trainer().fit(module, Toy())
    assert all(map(torch.equal, before, weights(module))), "the step was not taken"


def test_a_gradient_that_is_none_stops_training_where_the_loss_is_fine(monkeypatch, refusal):
    module = classifier()
    step = module.training_step

    def with_a_root(batch, batch_idx):
        return step(batch, batch_idx) + _sqrt_of_zero(module)

    monkeypatch.setattr(module, "training_step", with_a_root)
    before = weights(module)
    with refusal():
        trainer().fit(module, Toy())
    assert all(map(torch.equal, before, weights(module)))


def test_a_scaled_gradient_may_be_infinite():
    weight, callback = torch.nn.Parameter(torch.zeros(2)), FiniteLoss()
    weight.grad, callback._ids = torch.full((2,), torch.inf), torch.tensor([3])
    optimizer = torch.optim.SGD([weight])
    callback.on_before_optimizer_step(SimpleNamespace(precision="16-mixed"), None, optimizer)
    with pytest.raises(AttestError, match="gradient of the training loss is infinite on the texts with the ids 3;"):
        callback.on_before_optimizer_step(SimpleNamespace(precision="bf16-mixed"), None, optimizer)


def _sqrt_of_zero(module) -> torch.Tensor:
    """0, but with the derivative 0 · ∞."""
    return (next(module.parameters()) * 0).sum().sqrt()


@pytest.mark.parametrize("make", [classifier, tagger])
@pytest.mark.parametrize("stage", ["validation", "test"])
def test_scores_of_a_broken_network_are_refused_by_id(make, stage):
    module = make()
    torch.nn.init.constant_(module.network.decoder.weight, torch.nan)
    run = trainer()
    with pytest.raises(AttestError, match=rf"the {stage} loss is NaN on the texts with the ids 100, 101, .*109 and 2 more;"):
        getattr(run, {"validation": "validate"}.get(stage, stage))(module, Toy(), verbose=False)


def test_only_the_bad_instances_are_named(refusal):
    losses = torch.tensor([0.5, torch.inf, 0.1])
    with refusal():
        require_finite(losses, torch.tensor([3, 7, 9]), "test")
    require_finite(losses[:1], torch.tensor([3]), "test")
