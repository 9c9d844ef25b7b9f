"""Callbacks on a model of transformers in somebody's LightningModule, which offers no method for them."""

from copy import deepcopy

import pandas as pd
import pytest
import torch
from pytorch_lightning import LightningModule
from torch.utils.data import DataLoader
from transformers import DataCollatorForTokenClassification, DataCollatorWithPadding

import attest
from attest.callbacks import AttentionPermutation, FeatureImportance
from attest.callbacks.layers import KeyShuffle, LayerPermutation
from tests.callbacks.stranger import trainer
from tests.models.pretrained.tiny import TEXTS, WORDS, tiny

PAIRS = [(text, TEXTS[place - 1]) for place, text in enumerate(TEXTS)]
LABELS = [0, 1, 1, 0, 1]


class Module(LightningModule):
    """A module as people write it around a model of transformers."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def training_step(self, batch, batch_idx):
        return self.model(**batch).loss

    def validation_step(self, batch, batch_idx):
        self.log("validation/loss", self.model(**batch).loss)

    def test_step(self, batch, batch_idx):
        self.log("test/loss", self.model(**batch).loss)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


@pytest.mark.parametrize("tagging", [False, True])
def test_padding_on_the_left_is_read_as_padding_on_the_right(tagging, tokenizer):
    model = tiny("bert", tokens=tagging, vocab_size=len(WORDS), num_labels=2)
    found = []
    for side in ("left", "right"):
        padded = deepcopy(tokenizer)
        padded.padding_side = side
        rows = [tokenizer(text, return_special_tokens_mask=True) for text in TEXTS]
        tags = [[place % 2 for place, _ in enumerate(row["input_ids"])] for row in rows]
        given = [{**row, "labels": tags[at] if tagging else LABELS[at]} for at, row in enumerate(rows)]
        collate = (DataCollatorForTokenClassification if tagging else DataCollatorWithPadding)(padded)
        callback = LayerPermutation(2)
        trainer(callback).test(Observed(model), DataLoader(given, batch_size=5, collate_fn=collate), verbose=False)
        found.append(callback.table)
    pd.testing.assert_frame_equal(*found)


class Observed(LightningModule):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def test_step(self, batch, batch_idx):
        return None


def loader(tokenizer, size=2):
    rows = [{**tokenizer(*pair), "labels": label} for pair, label in zip(PAIRS, LABELS, strict=True)]
    return DataLoader(rows, batch_size=size, collate_fn=DataCollatorWithPadding(tokenizer))


def test_callbacks_measure_what_a_trial_measures(tokenizer, monkeypatch):
    monkeypatch.delenv("PL_GLOBAL_SEED", raising=False)  # which a training before may have left
    model = tiny("bert", vocab_size=len(WORDS), num_labels=2)
    permutation, importance, keys = LayerPermutation(3), FeatureImportance("rollout"), KeyShuffle()
    own = trainer(permutation, importance, keys)
    own.test(Module(model), loader(tokenizer), verbose=False)
    batches = [{name: each for name, each in batch.items() if name != "labels"} for batch in loader(tokenizer)]
    given = [
        {"token_ids": batch["input_ids"], "mask": batch["attention_mask"].bool(), "token_type_ids": batch["token_type_ids"],
         "label": torch.tensor(LABELS[2 * place : 2 * place + 2])}
        for place, batch in enumerate(batches)
    ]  # fmt: skip
    trial = attest.trial(model, given, {"E1": {}, "E2": {"permutations": 3}, "E9": {}}, tokenizer=tokenizer, progress=False)
    for callback in (permutation, keys):
        mine, theirs = callback.table, trial.table(callback.id)
        assert mine["id"].tolist() == [0, 1, 2, 3, 4]
        assert mine["label"].tolist() == LABELS
        shared = [name for name in theirs if name in mine and name not in ("id", "label", "predicted", "length")]
        assert len(shared) > 3
        pd.testing.assert_frame_equal(mine[shared], theirs[shared], check_exact=True)
    assert importance.table["tau_gradient_inputs"].notna().any()


def test_training_goes_on_as_without_callbacks(tokenizer):
    found = []
    measuring = LayerPermutation(2, every_n_epochs=1)
    for callbacks in ([], [measuring]):
        torch.manual_seed(0)
        module = Module(tiny("bert", vocab_size=len(WORDS), num_labels=2).train())
        trainer(*callbacks, max_epochs=2).fit(module, loader(tokenizer), loader(tokenizer))
        found.append([*module.parameters()])
    assert len(measuring.table) == len(TEXTS)
    for one, other in zip(*found, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(
    ("settings", "callback"),
    [({"num_labels": 2}, AttentionPermutation), ({"num_labels": 1}, LayerPermutation)],
)
def test_what_is_not_observed_is_refused_before_the_first_batch(settings, callback, tokenizer, refusal):
    module = Module(tiny("bert", vocab_size=len(WORDS), **settings))
    with refusal():
        trainer(callback()).test(module, loader(tokenizer), verbose=False)
