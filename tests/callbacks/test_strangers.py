"""The experiments run in anyone's Trainer: no run folder, no DataModule of ours, batches of any shape, one process or two."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from pytorch_lightning import LightningModule
from torch.utils.data import IterableDataset

from attest.callbacks import AttentionPermutation, Experiment, FeatureImportance, ImportanceEntropy, Instances
from attest.callbacks.experiment import WhatDecides
from attest.callbacks.layers import AttentionMaps, KeyShuffle, LayerAdversarialAttention
from attest.datamodules.corpus import Documents
from attest.datamodules.encoded import EncodedDocuments
from attest.datamodules.vocabulary import Vocabulary
from attest.experiments import attention_permutation, observe
from attest.experiments.deciding.experiment import neutral_in, texts_for_pools
from attest.experiments.layers import observe_layers
from attest.experiments.readings import read_as
from attest.models.networks import TransformerClassifier
from tests.callbacks.stranger import TEXTS, Stranger, Texts, experiments, loader, main, trainer
from tests.conftest import fresh_shell


def table_of(*callbacks: Any, module: LightningModule | None = None, of: Any = None, **options: Any) -> Any:
    """The table of the first, after a test."""
    trainer(*callbacks, **options).test(module or Stranger(), loader() if of is None else of, verbose=False)
    return callbacks[0].table


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The tables of one process, by id."""
    table = tmp_path_factory.mktemp("alone") / "table"
    main("1", str(table))
    return {name: pd.read_parquet(f"{table}.{name}.parquet") for name in ("E1", "E2", "E8")}


def test_three_experiments_run_under_plain_lightning(alone):
    texts = Texts()
    for table in alone.values():
        assert table["id"].tolist() == list(range(TEXTS)), "the rows of the data set"
        assert table["label"].tolist() == (texts.tokens[:, 0] % 3).tolist()
        assert table["length"].tolist() == texts.lengths.tolist()
    assert alone["E2"]["tvd_median"].between(0, 1).all()
    assert not alone["E1"]["tau_leave_one_out_inputs"].isna().all()
    assert alone["E8"]["tvd_softmax"].max() < 1e-6, "its own projection moves nothing"
    assert alone["E8"]["tvd_sparsemax"].max() > 1e-6


@pytest.mark.whole("real processes side by side")
def test_two_processes_give_the_tables_of_one(alone, tmp_path):
    """21 texts on two processes: Lightning's sampler repeats one of them, which must not count twice."""
    script = Path(sys.modules[Stranger.__module__].__file__)
    shell = fresh_shell() | {"PYTHONPATH": str(script.parents[2])}
    subprocess.run([sys.executable, script, "2", tmp_path / "table"], check=True, env=shell, cwd=tmp_path, timeout=300)
    for name, table in alone.items():
        shared = pd.read_parquet(tmp_path / f"table.{name}.parquet")
        assert shared["id"].tolist() == list(range(TEXTS))
        pd.testing.assert_frame_equal(shared.select_dtypes("number"), table.select_dtypes("number"), rtol=1e-4, atol=1e-5)


def test_a_batch_is_observed_once_for_all_experiments():
    module = Stranger()
    table_of(*experiments(), module=module)
    assert module.observed == 6, "21 texts are six batches of four"


def test_products_that_training_may_round_are_exact_in_evidence():
    class Noting(Stranger):
        def test_step(self, batch, batch_idx):
            own.add(torch.get_float32_matmul_precision())

    module, noted, own = Noting(), set(), set()
    plain = table_of(FeatureImportance(), module=module)
    for part in module.network.children():
        part.register_forward_pre_hook(lambda *_: noted.add(torch.get_float32_matmul_precision()))
    torch.set_float32_matmul_precision("medium")
    try:
        found = table_of(FeatureImportance(), module=module)
    finally:
        torch.set_float32_matmul_precision("highest")
    assert noted == {"highest"}
    assert "medium" in own
    pd.testing.assert_frame_equal(found, plain, check_exact=True)


def test_what_a_step_returns_is_not_observed_again():
    class Returning(Stranger):
        def test_step(self, batch, batch_idx):
            return {"observe": self.observe(batch)}

    module = Returning()
    table_of(*experiments(), module=module)
    assert module.observed == 6


def test_means_are_logged_and_validation_measures_a_whole_batch_of_each_stretch():
    callback = AttentionPermutation(permutations=5, validation_instances=8)
    (logged,) = trainer(callback).validate(Stranger(), loader(), verbose=False)
    assert sorted({*(callback.table["id"] // 4 // 3)}) == [0, 1], "a batch of each half"
    assert logged["E2/validation/tvd_median/mean"] == pytest.approx(callback.table["tvd_median"].mean())
    (logged,) = trainer(callback).test(Stranger(), loader(), verbose=False)
    assert logged["E2/test/tvd_median/mean"] == pytest.approx(callback.table["tvd_median"].mean())


def test_fit_validates_on_its_own_loader_and_validate_on_the_one_it_is_given():
    callback = AttentionPermutation(permutations=2)
    run = trainer(callback, max_epochs=1, num_sanity_val_steps=1)
    module = Stranger()
    run.fit(module, loader(), loader(9))
    assert len(callback.table) == 9
    run.validate(module, loader(6), verbose=False)
    assert len(callback.table) == 6


def test_randomness_follows_the_seed_of_everything_and_the_instance(monkeypatch):
    module = Stranger()
    monkeypatch.setenv("PL_GLOBAL_SEED", "3")
    first, other_batches = (table_of(AttentionPermutation(5), module=module, of=loader(batch_size=size)) for size in (4, 7))
    np.testing.assert_allclose(other_batches["tvd_median"], first["tvd_median"], atol=1e-6)
    monkeypatch.setenv("PL_GLOBAL_SEED", "4")
    assert not np.allclose(table_of(AttentionPermutation(5), module=module)["tvd_median"], first["tvd_median"], atol=1e-6)


def test_any_function_is_an_experiment(refusal):
    def words(observation, labels, least=0):
        return {"words": observation.lengths.clamp(min=least), "right": observation.predicted == labels}

    table = table_of(Experiment("mine", words, least=3))
    assert table["words"].tolist() == Texts().lengths.clamp(min=3).tolist()
    assert table["right"].tolist() == (table["label"] == table["predicted"]).tolist()
    with refusal():
        Experiment("E2", attention_permutation, draws=3)
    with refusal():
        Experiment("E2", reads=("labels",))


def test_a_function_of_ones_own_is_given_what_it_declares_alone(monkeypatch):
    def seeded(observation, labels, seed=5):
        return {"seed": torch.full_like(labels, seed)}

    monkeypatch.setenv("PL_GLOBAL_SEED", "3")
    declared, named = Experiment("mine", seeded, reads=("labels",)), Experiment("mine", seeded)
    assert [table_of(each)["seed"].unique().tolist() for each in (declared, named)] == [[5], [3]]


def test_a_named_class_and_its_function_say_the_same():
    module = Stranger()
    named, generic = table_of(AttentionPermutation(5), module=module), table_of(
        Experiment("E2", attention_permutation, permutations=5), module=module
    )  # fmt: skip
    pd.testing.assert_frame_equal(named, generic)


class Told(Stranger):
    """Tells ids, or what else is asked; ``labels`` and ``ids`` are functions of tokens ``(B, T)``."""

    def __init__(self, ids=lambda tokens: None, labels=lambda tokens: None) -> None:
        super().__init__()
        self.ids, self.labels = ids, labels

    def observe(self, batch):
        tokens, _ = batch
        return observe(self.network, self.ids(tokens), tokens, tokens > 0, self.labels(tokens))


def row_of(tokens):
    """The text that these tokens are, by looking it up."""
    return (tokens.unsqueeze(1) == Texts().tokens).all(dim=-1).int().argmax(dim=-1)


def test_ids_that_the_module_gives_are_kept_whatever_the_order():
    table = table_of(AttentionPermutation(3), module=Told(lambda tokens: 100 + row_of(tokens)), of=loader(shuffle=True))
    assert table["id"].tolist() == list(range(100, 100 + TEXTS))
    assert "label" not in table


def test_a_sample_is_drawn_of_the_rows_and_of_ids_that_only_batches_know():
    def looked_into(module):
        return table_of(ImportanceEntropy(texts=5, positions=2), module=module)["entropy_hidden"].notna()

    assert looked_into(Stranger()).sum() == 5
    by_hash = looked_into(Told(row_of))
    assert 0 < by_hash.sum() < TEXTS, "about five"


class Layered(Stranger):
    """Attention inside the layers of a Transformer, whose last states are pooled by a mean."""

    def __init__(self) -> None:
        super().__init__()
        self.network = TransformerClassifier(20, 3, size=8, layers=2, heads=2, feedforward_size=8)

    def observe_layers(self, batch):
        tokens, labels = batch
        return observe_layers(self.network, ids=None, tokens=tokens, mask=tokens > 0, labels=labels)

    def observe_steps(self, batch):
        return super().observe(batch)

    def test_step(self, batch, batch_idx):
        pass


def test_attention_inside_layers_is_put_on_trial_too():
    search = LayerAdversarialAttention(texts=8, restarts=1, steps=2)
    callbacks = [KeyShuffle(draws=2), search, AttentionMaps(texts=2), FeatureImportance("rollout"), Instances("rollout")]
    table_of(*callbacks, module=Layered())
    shuffled, searched, maps, importance, instances = (callback.table for callback in callbacks)
    for table in (shuffled, searched, importance, instances):
        assert table["id"].tolist() == list(range(TEXTS))
    assert shuffled.filter(regex="_layer2$").shape[1]
    assert searched["jsd_search"].notna().sum() == 8, "of the sampled texts alone"
    assert len(maps) == 2
    assert maps["label"].tolist() == shuffled["label"][maps["id"]].tolist()
    assert maps["original_layer1"].str.len().tolist() == (maps["length"] ** 2).tolist()


class Blank(LightningModule):
    def test_step(self, batch, batch_idx):
        pass


def test_what_is_missing_is_said_in_a_sentence(refusal):
    swap = experiments()[1]
    with refusal():
        table_of(swap, module=Told(row_of))
    with refusal():
        table_of(AttentionPermutation(3), module=Blank())
    with refusal():
        table_of(KeyShuffle())
    with refusal():
        table_of(FeatureImportance(explanation="rollout"))


def test_instances_that_cannot_be_told_apart_are_refused(refusal):
    with refusal():
        table_of(AttentionPermutation(3), of=loader(shuffle=True))
    with refusal():
        table_of(AttentionPermutation(3), module=Told(lambda tokens: torch.arange(len(tokens))))

    class Fewer(Stranger):
        def observe(self, batch):
            return super().observe([column[1:] for column in batch])

    with refusal():
        table_of(AttentionPermutation(3), module=Fewer())


class Stream(IterableDataset):
    def __iter__(self):
        return iter([Texts()[row] for row in range(TEXTS)])


def test_a_stream_is_counted_along(refusal):
    stream = torch.utils.data.DataLoader(Stream(), batch_size=4)
    assert table_of(AttentionPermutation(3), of=stream)["id"].tolist() == list(range(TEXTS))
    callback = AttentionPermutation(3, validation_instances=8)
    trainer(callback).validate(Stranger(), stream, verbose=False)
    assert callback.table["id"].tolist() == list(range(8)), "nobody knows where it ends: its first batches"
    with refusal():
        table_of(ImportanceEntropy(), of=stream)


def test_several_loaders_share_a_table():
    class Several(Stranger):
        def test_step(self, batch, batch_idx, dataloader_idx):
            pass

    table = table_of(AttentionPermutation(3), module=Several(), of=[loader(5), loader(3)])
    assert list(zip(table["loader"], table["id"], strict=True)) == [(0, row) for row in range(5)] + [
        (1, row) for row in range(3)
    ]


def test_the_base_table_numbers_classes_that_have_no_names_and_takes_those_there_are():
    assert {"probability_0", "probability_2", "attention"} <= set(table_of(Instances()).columns)
    module = Stranger()
    module.label_names = ("no", "maybe", "yes")
    assert "probability_maybe" in table_of(Instances(), module=module)


def test_a_dictionary_of_a_batch_may_hold_the_labels():
    class Keyed(Told):
        def observe(self, batch):
            return super().observe((batch["words"], None))

        def test_step(self, batch, batch_idx):
            pass

    texts = [{"words": tokens, "label": label} for tokens, label in (Texts()[row] for row in range(TEXTS))]
    table = table_of(experiments()[1], module=Keyed(), of=torch.utils.data.DataLoader(texts, batch_size=4))
    assert table["label"].tolist() == (Texts().tokens[:, 0] % 3).tolist()


def swapped(labels):
    """The table of E8 where the labels are made of the classes that the texts have."""
    torch.manual_seed(0)
    return table_of(experiments()[1], module=Told(row_of, lambda tokens: labels(tokens[:, 0] % 3)))


@pytest.mark.parametrize(
    "labels",
    [
        lambda label: label.unsqueeze(-1),
        lambda label: label.float().unsqueeze(-1),
        lambda label: label.to(torch.uint8),
        lambda label: label.tolist(),
        lambda label: label.numpy(),
    ],
)
def test_labels_of_other_shapes_and_kinds_are_the_same(labels):
    """Batches of ``BCEWithLogitsLoss`` have floats ``(B, 1)``: compared with decisions they would be spread to ``(B, B)``."""
    columns = ["id", "label", "predicted", "correct", "correct_softmax"]
    table = swapped(labels)
    pd.testing.assert_frame_equal(table[columns], swapped(lambda label: label)[columns])
    assert table["correct"].tolist() == (table["predicted"] == (Texts().tokens[:, 0] % 3).numpy()).tolist()


def test_texts_without_a_label_are_neither_right_nor_wrong(capsys):
    def half(label):
        return label.where(torch.arange(len(label)) % 2 == 0, -100)

    whole, table = swapped(lambda label: label), swapped(half)
    known = table["label"] >= 0
    assert 0 < known.sum() < TEXTS
    for name in ("correct", "correct_sparsemax"):
        assert table[name].isna().tolist() == (~known).tolist()
        assert table[name].mean() == whole[name][known].mean()
    assert f"E8: {(~known).sum()} of {TEXTS} texts have no label" in capsys.readouterr().out
    some = swapped(lambda label: half(label) if len(label) == 4 else label)
    assert some["correct"].dtype == float, "True and False of a batch stand beside NaN of another"


@pytest.mark.parametrize(
    "labels",
    [
        lambda label: torch.nn.functional.one_hot(label, 3),
        lambda label: label + 1,
        lambda label: label[:-1],
        lambda label: label * 0.3,
        lambda label: label - 1,
        lambda label: [str(each) + " stars" for each in label.tolist()],
    ],
)
def test_labels_that_are_no_classes_are_refused(labels, refusal):
    with refusal():
        swapped(labels)


def test_a_model_of_numbers_that_are_none_ends_in_a_sentence(refusal):
    module = Stranger()
    torch.nn.init.constant_(module.network.decoder[0].weight, torch.nan)
    with refusal():
        table_of(*experiments(), module=module)


@pytest.mark.parametrize("callback", [Experiment("E1"), FeatureImportance(), Experiment("E10"), ImportanceEntropy()])
def test_what_takes_long_waits_for_the_test_split(callback):
    trainer(callback).validate(Stranger(), loader(), verbose=False)
    assert len(callback.table.columns) > 3
    assert not callback.table.filter(like="leave_one_out").shape[1]
    assert "entropy_hidden" not in callback.table


class Encoded(Layered):
    """Reads batches as our data have them."""

    def observe_steps(self, batch):
        return observe(self.network, batch["id"], batch["token_ids"], batch["mask"])

    def observe_layers(self, batch):
        return observe_layers(self.network, batch["id"], batch["token_ids"], batch["mask"])


def test_the_explanation_that_is_tested_is_asked_for_its_first_words_in_training_texts():
    words = tuple(map(str, range(18)))
    texts = [[words[(row * place + row) % 18] for place in range(6)] for row in range(40)]
    train = EncodedDocuments(Documents.of(range(40), texts), Vocabulary(words))
    torch.manual_seed(0)  # some random networks put the same words first in all ways
    module = Encoded().eval()
    trainer = SimpleNamespace(datamodule=SimpleNamespace(train=train, seed=0), lightning_module=module)
    rows = [sorted(each.tolist()) for each in texts_for_pools(torch.tensor(train.ids), 0)]
    steps = [module.observe_steps(train.__getitems__(each)) for each in rows]
    seen = [
        WhatDecides.together(each, module.observe_layers(train.__getitems__(row)))
        for each, row in zip(steps, rows, strict=True)
    ]
    found = {}
    for reading in (None, "leave-one-out"):
        evidence = WhatDecides(explanation="rollout")
        evidence.engine.reading = reading
        expected = [neutral_in(each if reading is None else read_as(each, reading), 0).firsts for each in seen]
        evidence._find_neutral_words(trainer, None)
        pools = evidence.engine.neutral
        assert [each.firsts.tolist() for each in pools] == [each.tolist() for each in expected]
        found[reading] = [each.firsts.tolist() for each in pools]
    assert found[None] != found["leave-one-out"]
    assert found[None] != [neutral_in(each, 0).firsts.tolist() for each in steps]
