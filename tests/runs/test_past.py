"""What runs like one took: the nearest that are there, and our own where none is."""

import pytest
import yaml

from attest.runs.folder import RunFolder, write_json, write_text
from attest.runs.past import Past, in_all, like, like_dependent, medians, past, reads_all, seconds_of, shipped_timings

SAME, OTHER = "sst/jw-bilstm-dot-softmax", "sst/jw-bilstm-additive-softmax"


def run(folder, epochs=2, texts=None, most=None, **timing):
    """A finished run, on all texts or on some, of at most so many epochs, that says so much of its time."""
    made = RunFolder(folder)
    shortened = {"data": {"init_args": {"texts": texts}}, "trainer": {"max_epochs": most}, "run": {"recipe": "jw"}}
    write_text(made.config, yaml.safe_dump(shortened))
    write_json(made.summary, {})
    write_json(made.timing, timing)
    write_json(made.curves, [{"epoch": epoch} for epoch in range(epochs)])
    return made


def test_evidence_that_processes_shared_counts_for_all_of_them(tmp_path):
    shared = run(tmp_path, seconds={"train": 10.0, "evidence/E1": 4.0, "evidence/E2": 1.0}, processes={"evidence/E1": 3})
    assert seconds_of(shared) == {"train": 10.0, "epoch": 5.0, "evidence/E1": 12.0, "evidence/E2": 1.0}
    assert in_all(seconds_of(shared)) == 23.0
    assert in_all(seconds_of(shared), ["E2", "E3"]) == 1.0


def test_a_run_that_was_taken_up_or_is_not_done_says_nothing(tmp_path):
    assert seconds_of(run(tmp_path / "a", seconds={"train": 9.0, "train since the last stop": 1.0})) == {}
    unfinished = run(tmp_path / "b", seconds={"train": 9.0})
    unfinished.summary.unlink()
    assert seconds_of(unfinished) == {}


def test_the_same_settings_come_before_the_same_model_and_both_before_our_own(tmp_path):
    alike = like("sst", "jw-bilstm-dot-softmax", "bilstm")
    assert past(tmp_path, alike) == Past(shipped_timings()["sst/bilstm"], "our own runs on two cores")
    run(tmp_path / OTHER / "seed0", epochs=0, seconds={"train": 50.0})
    assert past(tmp_path, alike) == Past({"train": 50.0}, "runs like it")
    for seed, seconds in enumerate([8.0, 2.0, 4.0]):
        run(tmp_path / SAME / f"seed{seed}", epochs=0, seconds={"train": seconds})
    assert past(tmp_path, alike).seconds == {"train": 4.0}


def test_a_run_on_a_part_of_a_corpus_is_like_none_on_all_of_it(tmp_path):
    run(tmp_path / OTHER / "seed0", seconds={"train": 50.0})
    assert past(tmp_path, like("sst", "jw-bilstm-dot-softmax-1a2b3c4d", "bilstm", whole=False)) is None


def test_a_run_on_all_of_a_corpus_is_like_none_on_a_part_of_it(tmp_path):
    run(tmp_path / OTHER / "seed0", texts=1000, seconds={"train": 5.0})
    run(tmp_path / OTHER / "seed0/adversarial/frozen-kl-1", texts=1000, seconds={"train": 5.0})
    dependent = like_dependent("sst", "jw-bilstm-dot-softmax", "bilstm", "adversarial", "frozen-kl-0.1")
    for alike in (like("sst", "jw-bilstm-dot-softmax", "bilstm"), dependent):
        assert past(tmp_path, alike).seconds == shipped_timings()[alike.shipped]
    run(tmp_path / OTHER / "seed1", epochs=0, seconds={"train": 50.0})
    assert past(tmp_path, like("sst", "jw-bilstm-dot-softmax", "bilstm")).seconds == {"train": 50.0}


@pytest.mark.parametrize(("most", "counts"), [(1, False), (8, True), (20, True), (-1, True), (None, True)])
def test_a_run_of_fewer_epochs_than_its_recipe_has_is_not_judged_by(tmp_path, most, counts):
    run(tmp_path / OTHER / "seed0", epochs=0, most=most, seconds={"train": 5.0})
    assert (past(tmp_path, like("sst", "jw-bilstm-dot-softmax", "bilstm")).seconds == {"train": 5.0}) == counts
    dependent = run(tmp_path / OTHER / "seed0/guides/base", epochs=0, most=most, seconds={"train": 5.0})
    write_json(dependent.base, {})
    assert past(tmp_path, like_dependent("sst", "jw-bilstm-dot-softmax", "bilstm", "guides", "base")).seconds == {"train": 5.0}


def test_dependent_runs_are_like_those_of_their_kind(tmp_path):
    alike = like_dependent("sst", "jw-bilstm-dot-softmax", "bilstm", "adversarial", "frozen-kl-0.1")
    assert past(tmp_path, alike).seconds == shipped_timings()["sst/bilstm/adversarial"]
    run(tmp_path / OTHER / "seed0/adversarial/frozen-kl-1", epochs=0, seconds={"train": 50.0})
    assert past(tmp_path, alike).seconds == {"train": 50.0}
    run(tmp_path / SAME / "seed1/adversarial/frozen-kl-0.1", epochs=0, seconds={"train": 6.0})
    assert past(tmp_path, alike).seconds == {"train": 6.0}


def test_a_dependent_run_on_a_part_of_a_corpus_is_like_those_of_its_base_alone(tmp_path):
    run(tmp_path / OTHER / "seed0/adversarial/frozen-kl-1", seconds={"train": 50.0})
    part = like_dependent("sst", "jw-bilstm-dot-softmax", "bilstm", "adversarial", "frozen-kl-0.1", whole=False)
    assert past(tmp_path, part) is None
    run(tmp_path / SAME / "seed1/adversarial/frozen-kl-1", epochs=0, seconds={"train": 6.0})
    assert past(tmp_path, part).seconds == {"train": 6.0}


def test_medians_are_of_the_runs_that_have_a_part():
    assert medians([{"train": 1, "evidence/E1": 7}, {"train": 3}, {"train": 11}]) == {"train": 3, "evidence/E1": 7}


@pytest.mark.parametrize(
    ("data", "trainer", "whole"),
    [
        ({"texts": None}, {"limit_test_batches": None, "max_steps": -1}, True),
        ({"texts": 16}, {}, False),
        ({}, {"limit_test_batches": 2}, False),
        ({}, {"max_steps": 2}, False),
    ],
)
def test_what_reads_a_corpus_whole(data, trainer, whole):
    assert reads_all({"data": {"init_args": data}, "trainer": trainer}) == whole


def test_our_own_times_know_every_corpus():
    assert {name.split("/")[0] for name in shipped_timings()} == {"sst", "imdb", "20news", "conll2000"}
    assert all("train" in parts for parts in shipped_timings().values())


def test_a_folder_near_the_root_of_the_file_system_has_no_past(tmp_path):
    """``--out=/tmp/here`` has nothing above it that could name a corpus."""
    assert past(tmp_path, like("/", "tmp", "no such model")) is None
