"""What every DataModule does alike."""

import itertools
from types import SimpleNamespace

import pytest
import torch

from attest.core.errors import AttestError
from attest.datamodules import PlantedDataModule

SMALL = {"train_texts": 101, "validation_texts": 20, "test_texts": 33}


def on_rank(rank: int, ranks: int, device: str = "cpu", **options) -> PlantedDataModule:
    module = PlantedDataModule(**SMALL, batch_size=8, **options)
    computes = SimpleNamespace(root_device=torch.device(device))
    module.trainer = SimpleNamespace(global_rank=rank, world_size=ranks, current_epoch=0, strategy=computes)
    return module


@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
@pytest.mark.parametrize("sentences", [False, True])
def test_ranks_together_evaluate_every_text(ranks, sentences):
    """Of seven ranks, those for which no batch is left repeat one."""
    shares = [
        [tuple(batch["id"].tolist()) for batch in on_rank(rank, ranks, sentences=sentences).test_dataloader()]
        for rank in range(ranks)
    ]
    batches = {*itertools.chain.from_iterable(shares)}
    assert all(shares)
    assert sorted(itertools.chain.from_iterable(batches)) == list(range(33))
    assert batches == {tuple(batch["id"].tolist()) for batch in on_rank(0, 1, sentences=sentences).test_dataloader()}


@pytest.mark.parametrize(("device", "pinned"), [("cpu", False), ("cuda", True)])
def test_batches_for_a_gpu_lie_in_pinned_memory(device, pinned):
    module = on_rank(0, 1, device)
    loaders = [module.train_dataloader(), module.val_dataloader(), module.test_dataloader()]
    assert [loader.pin_memory for loader in loaders] == [pinned] * 3


def test_validation_batches_are_counted_over_all_ranks():
    modules = [on_rank(rank, 2) for rank in range(2)]
    loaded = [batch for module in modules for batch in module.val_dataloader()]
    assert len(loaded) == modules[0].val_dataloader().batches_of_all_ranks


def test_every_epoch_has_its_own_order_of_all_texts():
    module = on_rank(0, 1)
    epochs = []
    for epoch in range(2):
        module.trainer.current_epoch = epoch
        epochs.append([batch["id"].tolist() for batch in module.train_dataloader()])
    assert epochs[0] != epochs[1]
    for batches in epochs:
        assert sorted(itertools.chain.from_iterable(batches)) == list(range(101))


def test_documents_as_sentences_hold_the_same_tokens():
    plain, cut = on_rank(0, 1), on_rank(0, 1, sentences=True)
    by_id = {}
    for batch in plain.test_dataloader():
        for identity, tokens, mask in zip(batch["id"].tolist(), batch["token_ids"], batch["mask"], strict=True):
            by_id[identity] = tokens[mask].tolist()
    for batch in cut.test_dataloader():
        for identity, tokens, mask in zip(batch["id"].tolist(), batch["token_ids"], batch["mask"], strict=True):
            assert tokens[mask].tolist() == by_id[identity]
        assert batch["rationale"].shape == batch["mask"].shape


@pytest.mark.parametrize("name", ["batch_size", "min_df", "max_words", "max_tokens"])
def test_a_number_that_makes_no_sense_is_refused(name):
    with pytest.raises(AttestError, match=rf"`{name}` is 0; expected a whole number from 1"):
        _ = PlantedDataModule(**SMALL, **{name: 0}).corpus


def test_a_cap_that_leaves_no_text_is_refused(refusal):
    with refusal():
        _ = PlantedDataModule(**SMALL, max_tokens=1).corpus


def test_positive_weight_balances_two_classes():
    module = on_rank(0, 1)
    assert module.positive_weight == pytest.approx(51 / 50)


def test_a_cut_is_a_sample_of_every_split_and_keeps_the_vocabulary(refusal):
    whole, cut = PlantedDataModule(**SMALL), PlantedDataModule(**SMALL, texts=25)
    assert [len(getattr(cut.corpus, split)) for split in ("train", "validation", "test")] == [25, 20, 25]
    ids = cut.corpus.train.ids
    assert len({*(ids[1:] - ids[:-1])}) > 5, "at random"
    assert PlantedDataModule(**SMALL | {"seed": 1}, texts=25).corpus.train.ids.tolist() == ids.tolist()
    assert len(cut.corpus.vocabulary) == len(whole.corpus.vocabulary)
    with refusal():
        _ = PlantedDataModule(**SMALL, texts=0).corpus
