"""The scores of a split are metrics of torchmetrics, and equal to what torchmetrics says of the rows of instances."""

import pytest
import torch
from pytorch_lightning import Callback, LightningDataModule
from torch.utils.data import DataLoader
from torchmetrics import AUROC, Accuracy, F1Score, Metric, MetricCollection
from torchmetrics.classification import MulticlassCohenKappa
from torchmetrics.functional.classification import multiclass_stat_scores

from attest.core.processes import together
from attest.lightning_modules import Classifier
from attest.models.networks import Average, PoolingClassifier
from tests.lightning_modules.test_training import TAGS, ToyTags, tagger, trainer


class ToyLabels(LightningDataModule):
    """Batches as the classifier reads them, of 30 texts; labels that no mean of words explains."""

    vocab_size = 12

    def __init__(self, classes: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(classes)
        tokens = torch.randint(2, self.vocab_size, (30, 6), generator=generator)
        labels = torch.randint(0, classes, (30,), generator=generator)
        full = torch.ones(6, dtype=torch.bool)
        self.rows = [{"id": torch.tensor(i), "token_ids": tokens[i], "mask": full, "label": labels[i]} for i in range(30)]

    def train_dataloader(self) -> DataLoader:
        return DataLoader(self.rows, batch_size=7)

    val_dataloader = test_dataloader = train_dataloader


class RowsOfInstances(Callback):
    """Keeps the rows that a module collects on each validation split."""

    def __init__(self) -> None:
        self.epochs: list[torch.Tensor] = []

    def on_validation_epoch_end(self, trainer, pl_module) -> None:
        self.epochs.append(pl_module.collected("validation").compute())


def classifier(classes: int, kind: type[Classifier] = Classifier) -> Classifier:
    torch.manual_seed(0)
    return kind(
        lambda words, outputs: PoolingClassifier(words, outputs, Average),
        optimizer=lambda groups: torch.optim.Adam(groups, lr=0.1),
        vocab_size=ToyLabels.vocab_size,
        num_classes=classes,
    )


def of_torchmetrics(rows: torch.Tensor, classes: int) -> dict[str, float]:
    """Accuracy, F1 and AUROC as somebody would compute them who knows torchmetrics alone."""
    probabilities, labels = rows[:, 3:].float(), rows[:, 2].long()
    if classes == 2:
        of = {"accuracy": Accuracy("binary"), "f1": F1Score("binary"), "roc_auc": AUROC("binary")}
        probabilities = probabilities[:, 1]
    else:
        kinds = {"accuracy": (Accuracy, "micro"), "f1": (F1Score, "macro"), "roc_auc": (AUROC, "macro")}
        of = {name: kind("multiclass", num_classes=classes, average=mean) for name, (kind, mean) in kinds.items()}
    return {f"validation/{name}": float(metric(probabilities, labels)) for name, metric in of.items()}


@pytest.mark.parametrize("classes", [2, 3])
def test_metrics_of_a_module_are_those_of_the_rows_of_instances_in_each_epoch(classes):
    module, rows = classifier(classes), RowsOfInstances()
    logged = []

    class Logged(Callback):
        def on_train_epoch_end(self, trainer, pl_module) -> None:
            logged.append({name: float(value) for name, value in trainer.callback_metrics.items()})

    trainer(max_epochs=3, num_sanity_val_steps=0, callbacks=[rows, Logged()]).fit(module, ToyLabels(classes))
    metrics = module.metrics["validation_split"]
    assert [*metrics] == ["accuracy", "f1", "roc_auc"]
    assert all(isinstance(metric, Metric) for metric in metrics.values())
    assert len(logged) == len(rows.epochs) == 3
    for said, of_epoch in zip(logged, rows.epochs, strict=True):
        expected = of_torchmetrics(of_epoch, classes)
        assert {name: said[name] for name in expected} == pytest.approx(expected, abs=1e-7)
        assert said["validation/loss"] == pytest.approx(float(of_epoch[:, 1].mean()))
    assert len({said["validation/roc_auc"] for said in logged}) > 1, "another number in another epoch"


def test_no_metric_is_a_part_of_a_checkpoint():
    assert all(name.startswith("network.") for name in classifier(2).state_dict())


class WithKappa(Classifier):
    """A classifier of a user who wants one more metric."""

    def make_metrics(self) -> MetricCollection:
        kappa = MulticlassCohenKappa(self.num_classes)
        return MetricCollection({**super().make_metrics(), "kappa": kappa}, compute_groups=False)


def test_a_subclass_adds_a_metric_of_torchmetrics_under_its_name():
    module, rows = classifier(3, WithKappa), RowsOfInstances()
    (said,) = trainer(callbacks=[rows]).validate(module, ToyLabels(3), verbose=False)
    (found,) = rows.epochs
    expected = MulticlassCohenKappa(3)(found[:, 3:].float(), found[:, 2].long())
    assert said["validation/kappa"] == pytest.approx(float(expected))
    assert said["validation/accuracy"] == pytest.approx(of_torchmetrics(found, 3)["validation/accuracy"])


def test_scores_of_a_tagger_are_those_of_torchmetrics_over_tokens():
    module, data = tagger(), ToyTags()
    (said,) = trainer().validate(module, data, verbose=False)
    (batch,) = ToyTags(32).val_dataloader()
    logits = module(batch["token_ids"], batch["mask"]).flatten(0, 1)
    tags, classes = batch["tags"].flatten(), len(TAGS)
    accuracy = Accuracy("multiclass", num_classes=classes, average="micro", ignore_index=-100)
    assert said["validation/accuracy"] == pytest.approx(float(accuracy(logits, tags)))
    counts = multiclass_stat_scores(logits, tags, classes, average=None, ignore_index=-100)
    right, wrong, _, missed, _ = counts[torch.tensor([name != "O" for name in TAGS])].sum(dim=0).tolist()
    assert said["validation/token_f1"] == pytest.approx(2 * right / (2 * right + wrong + missed))


def _metrics_of_rank(rank: int) -> dict[str, float]:
    from pytorch_lightning.strategies import DDPStrategy

    from attest.app.training import _Connected

    class Dealt(ToyLabels):
        """Every second batch, and the first one on both processes."""

        def val_dataloader(self) -> DataLoader:
            mine = [row for place, row in enumerate(self.rows) if place < 7 or place // 7 % 2 == rank]
            return DataLoader(mine, batch_size=7)

    strategy = DDPStrategy(cluster_environment=_Connected(rank), process_group_backend="gloo")
    ours = trainer(devices=2, strategy=strategy, use_distributed_sampler=False)
    (said,) = ours.validate(classifier(3), Dealt(3), verbose=False)
    return said


@pytest.mark.whole("real processes side by side")
def test_two_processes_give_the_metrics_of_one_and_count_no_instance_twice():
    (alone,) = trainer().validate(classifier(3), ToyLabels(3), verbose=False)
    assert together(2, _metrics_of_rank) == alone
