"""The base of every experiment: the right batches, one row an instance."""

import inspect
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from pytorch_lightning.trainer.states import TrainerFn

from attest.callbacks import AttentionPermutation, Erasure, Experiment, FeatureImportance, SingleErasure
from attest.callbacks.evidence import Evidence, class_names, each_once
from attest.callbacks.experiment import Explaining
from attest.callbacks.running import EvaluatedSplit
from attest.runs.folder import RunFolder


def split_of(rank: int, ranks: int, batches: int) -> EvaluatedSplit:
    """What a rank knows of a split of ours, in batches of 32."""
    batch_sampler = SimpleNamespace(batch_size=32)
    loader = SimpleNamespace(batches_of_all_ranks=batches, batch_sampler=batch_sampler)
    loop = SimpleNamespace(
        _combined_loader=SimpleNamespace(flattened=[loader]), max_batches=[len(range(rank, batches, ranks))]
    )
    state = SimpleNamespace(fn=TrainerFn.TESTING)
    return EvaluatedSplit(
        SimpleNamespace(state=state, test_loop=loop, validate_loop=None, fit_loop=FIT, global_rank=rank, world_size=ranks)
    )


FIT = SimpleNamespace(epoch_loop=SimpleNamespace(val_loop=None))


def part_of(ranks: int, batches: int, instances: int) -> list[int]:
    """Global batches that all ranks together choose, in order."""
    chosen = []
    for rank in range(ranks):
        split = split_of(rank, ranks, batches)
        places = map(split.number_among_ranks, range(len(range(rank, batches, ranks))))
        chosen += [place for place in places if place in split.sampled_batches(instances)]
    return sorted(chosen)


@pytest.mark.parametrize(
    ("callback", "base", "name"),
    [
        (Experiment, Evidence, "every_n_epochs"),
        (Experiment, Evidence, "validation_instances"),
        (FeatureImportance, Explaining, "explanation"),
    ],
)
def test_a_default_that_a_signature_repeats_is_that_of_its_base(callback, base, name):
    repeated, stated = (inspect.signature(each).parameters[name].default for each in (callback, base))
    assert repeated == stated


def test_a_part_does_not_depend_on_the_number_of_ranks():
    alone = part_of(1, 26, 256)
    assert part_of(2, 26, 256) == part_of(3, 26, 256) == alone


@pytest.mark.parametrize(("batches", "wanted"), [(26, 8), (12, 3), (400, 200), (7, 6)])
def test_a_part_has_one_batch_of_each_of_equal_stretches_and_meets_no_order_of_theirs(batches, wanted):
    alone = np.array(part_of(1, batches, wanted * 32))
    ends = np.arange(wanted + 1) * batches // wanted
    assert ((ends[:-1] <= alone) & (alone < ends[1:])).all()
    assert batches < 100 or 80 < (alone % 2).sum() < 120, "of batches of one text, labels may alternate"


def test_the_part_is_never_larger_than_the_split():
    assert part_of(2, 3, 10_000) == [0, 1, 2]


def test_a_sample_of_which_no_text_was_run_is_an_empty_table():
    rows, _ = AttentionPermutation()._gather()
    assert rows.empty


def test_the_next_epoch_has_a_new_engine_for_the_same_reading():
    evidence = AttentionPermutation()
    evidence.engine.reading, evidence.engine.seconds["E2"] = "norm", 3.0
    evidence.engine.neutral = evidence.engine.background = object()
    _, done = evidence._gather()
    assert evidence.seconds == done.seconds["E2"] == 3.0
    assert (evidence.engine.neutral, evidence.engine.seconds["E2"]) == (None, 0.0), "another model has other neutral words"
    assert (evidence.engine.reading, evidence.engine.background) == ("norm", done.background)


def test_texts_that_are_too_long_are_counted_with_the_command_that_reads_them(capsys, tmp_path):
    evidence, rows = FeatureImportance(), pd.DataFrame({"length": [4, 3000, 3001]})
    evidence.folder = RunFolder(tmp_path)
    evidence._name_left_out(rows)
    said = capsys.readouterr().out
    assert "E1: leave-one-out skipped for 1 of 3 texts, which have more than 3,000 tokens." in said
    assert said.endswith(f"attest evidence --run {tmp_path} E1 FORCE=1\n"), "else the finished table would stay"
    evidence._name_left_out(rows[:2])
    AttentionPermutation()._name_left_out(rows)
    assert capsys.readouterr().out == "", "E2 compares no pairs of tokens"


def test_a_sample_that_holds_none_of_the_validation_texts_is_said(capsys):
    rows = pd.DataFrame({"id": [0, 1], "label": [0, 1], "predicted": [1, 1], "length": [3, 4]})
    Erasure()._name_missed(rows)
    said = capsys.readouterr().out
    assert "E14: no mean at validation end" in said
    assert "holds none of the 2 validation texts" in said
    Erasure()._name_missed(rows.assign(kept=[np.nan, 0.5]))
    AttentionPermutation()._name_missed(rows)
    assert capsys.readouterr().out == "", "one text is enough, and an experiment without a sample reads all"


@pytest.mark.parametrize(("allowed", "left_out"), [(None, False), (9.0, False), (7.0, True)])
def test_an_experiment_that_takes_too_long_is_left_out_of_further_validations(allowed, left_out, capsys):
    slow, trainer = Erasure(every_n_epochs=1), SimpleNamespace(sanity_checking=False, current_epoch=3, is_global_zero=True)
    slow.validation_seconds, slow.seconds = allowed, 8.0
    assert slow._due(trainer)
    slow._leave_out_if_slow(trainer, texts=32)
    resumed = Erasure(every_n_epochs=1)
    resumed.load_state_dict(slow.state_dict())
    assert [slow._due(trainer), resumed._due(trainer)] == [not left_out] * 2
    said = capsys.readouterr().out
    assert ("E14 took 8.0 s on 32 validation texts, more than the 7 s" in said) == left_out
    assert resumed.state_key != AttentionPermutation().state_key


def test_an_instance_that_two_ranks_have_counts_once_and_two_instances_of_one_id_are_refused(refusal):
    first, second = pd.DataFrame({"id": [0, 2], "length": [3, 4]}), pd.DataFrame({"id": [1, 0], "length": [5, 3]})
    assert each_once([first, second])["id"].tolist() == [0, 1, 2]
    with refusal():
        each_once([first, second.assign(length=[5, 9])])
    with refusal():
        each_once([first.assign(id=[2, 2], length=[4, 4])])


def test_an_experiment_must_say_what_it_measures():
    with pytest.raises(NotImplementedError, match="Evidence must set experiment, or define the method measure"):
        Evidence().measure(None, None, None)


def test_a_named_experiment_refuses_an_option_that_it_does_not_have(refusal):
    with refusal():
        AttentionPermutation(permutation=3)
    with refusal():
        SingleErasure(draws=3)


def test_a_named_experiment_refuses_a_value_that_its_option_does_not_have(refusal):
    with refusal():
        Erasure(erase_by=["delete", "delet"])
    assert Erasure(erase_by=["delete"]).options == {"erase_by": ["delete"]}


def test_class_names_are_those_of_the_data_or_else_of_the_module():
    named, silent = SimpleNamespace(label_names=("bad", "good")), SimpleNamespace()
    for data, module, names in (
        (named, silent, ["bad", "good"]),
        (None, named, ["bad", "good"]),
        (silent, silent, ["0", "1"]),
    ):
        assert class_names(SimpleNamespace(datamodule=data, lightning_module=module), 2) == names
