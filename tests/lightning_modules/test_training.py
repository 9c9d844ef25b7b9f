"""Training and testing through a Trainer."""

import pytest
import torch
from pytorch_lightning import LightningDataModule, Trainer
from torch.nn.functional import softplus
from torch.utils.data import DataLoader

from attest.core.errors import AttestError
from attest.lightning_modules import Classifier, Tagger
from attest.lightning_modules.text_module import InstanceRows
from attest.models.networks import Average, PoolingClassifier, TransformerClassifier, TransformerTagger

TAGS = ("O", "B-NP", "I-NP", "B-VP")


class ToyTags(LightningDataModule):
    """Batches as the tagger reads them: ``id``, ``token_ids`` (B, T), ``mask`` (B, T), ``tags`` (B, T), -100 at padding."""

    vocab_size = 12
    num_classes = len(TAGS)
    label_names = TAGS
    positive_weight = 1.0

    def __init__(self, batch_size: int = 8, seed: int = 0) -> None:
        super().__init__()
        self.batch_size = batch_size
        generator = torch.Generator().manual_seed(seed)
        tokens = torch.randint(2, self.vocab_size, (32, 9), generator=generator)
        mask = torch.arange(9) < torch.randint(1, 10, (32, 1), generator=generator)
        tags = (tokens + tokens.roll(1, dims=1) // 6) % self.num_classes
        self.rows = [
            {"id": torch.tensor(i), "token_ids": tokens[i] * mask[i], "mask": mask[i], "tags": tags[i].where(mask[i], -100)}
            for i in range(32)
        ]

    def train_dataloader(self) -> DataLoader:
        return DataLoader(self.rows, batch_size=self.batch_size)

    val_dataloader = test_dataloader = train_dataloader


def trainer(**options) -> Trainer:
    quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
    return Trainer(accelerator="cpu", inference_mode=False, **quiet, **options)


def tagger() -> Tagger:
    torch.manual_seed(0)
    data = ToyTags()
    return Tagger(
        lambda words, tags: TransformerTagger(words, tags, size=16, embedding_size=None, dropout=0.0),
        optimizer=lambda groups: torch.optim.Adam(groups, lr=0.01),
        vocab_size=data.vocab_size,
        num_classes=data.num_classes,
        label_names=data.label_names,
    )


@pytest.mark.whole("a training to its end")
def test_a_tagger_learns_a_rule_and_logs_its_scores():
    module = tagger()
    (before,) = trainer().test(module, ToyTags(), verbose=False)
    trainer(max_epochs=100).fit(module, ToyTags())
    (after,) = trainer().test(module, ToyTags(), verbose=False)
    assert set(after) == {f"test/{score}" for score in ("loss", "accuracy", "token_f1", "chunk_f1")}
    assert after["test/accuracy"] > 0.98
    assert after["test/chunk_f1"] > 0.95
    assert after["test/loss"] < before["test/loss"] / 5


@pytest.mark.parametrize("batch_size", [1, 5, 32])
def test_scores_do_not_depend_on_batches(batch_size):
    module = tagger()
    (expected,) = trainer().test(module, ToyTags(8), verbose=False)
    (actual,) = trainer().test(module, ToyTags(batch_size), verbose=False)
    assert actual == pytest.approx(expected, abs=1e-5)


def test_an_instance_that_two_ranks_have_counts_once():
    collected = InstanceRows()
    for ids in ([4, 1], [1, 0]):
        collected.update(torch.tensor(ids), torch.tensor(ids) * 10.0)
    assert collected.compute().tolist() == [[0, 0], [1, 10], [4, 40]]


def test_two_instances_with_one_id_are_refused(refusal):
    collected = InstanceRows()
    for losses in ([0.1, 0.2], [0.1, 0.9]):
        collected.update(torch.tensor([3, 4]), torch.tensor(losses))
    with refusal():
        collected.compute()


def test_padding_has_no_loss():
    module = tagger()
    batch = next(iter(ToyTags(32).train_dataloader()))
    loss = module.training_step(batch, 0)
    log_probabilities = module(batch["token_ids"], batch["mask"]).log_softmax(dim=-1)
    real = batch["mask"]
    expected = -log_probabilities[real].gather(1, batch["tags"][real].unsqueeze(-1)).mean()
    torch.testing.assert_close(loss, expected)


def test_tags_without_a_name_are_refused():
    with pytest.raises(AttestError, match="4 names for 5 tags"):
        Tagger(TransformerTagger, num_classes=5, label_names=TAGS)


def test_pooled_evidence_on_a_mean_is_refused_with_a_sentence(refusal):
    module = Classifier(lambda words, outputs: TransformerClassifier(words, outputs, size=8, layers=1), vocab_size=10)
    batch = {"id": torch.arange(2), "token_ids": torch.ones(2, 3).long(), "mask": torch.ones(2, 3).bool()}
    with refusal():
        module.observe(batch)


def test_positive_instances_are_those_that_weigh_more():
    module = Classifier(lambda words, outputs: PoolingClassifier(words, outputs, Average), vocab_size=9, positive_weight=3.0)
    logits = torch.tensor([0.3, -1.2])
    losses = module.instance_losses(logits.unsqueeze(-1), torch.tensor([1, 0]))
    torch.testing.assert_close(losses, torch.stack([3 * softplus(-logits[0]), softplus(logits[1])]))


def test_one_sigmoid_for_two_classes_and_a_softmax_for_more():
    for classes, outputs in ((2, 1), (3, 3)):
        module = Classifier(
            lambda words, outputs: PoolingClassifier(words, outputs, Average), vocab_size=9, num_classes=classes
        )
        assert module.network.decoder.out_features == outputs
