"""What tells two runs apart, and what does not."""

import os
from pathlib import Path

import pytest

from attest.runs import configured
from attest.runs.naming import differing_keys, readable_name, run_path, variant, without_machine_keys


def settings(**changes):
    made = {
        "seed_everything": 3,
        "trainer": {"devices": 1, "max_epochs": 8, "strategy": "auto"},
        "data": {"init_args": {"batch_size": 32, "num_workers": 0}},
        "run": {
            "root": "runs",
            "data": "sst",
            "recipe": "jw",
            "model": "bilstm",
            "scoring": "additive",
            "projection": "softmax",
        },
    }
    for key, value in changes.items():
        *path, last = key.split("__")
        section = made
        for name in path:
            section = section[name]
        section[last] = value
    return made


def test_the_readable_name_is_enough_where_nothing_else_differs():
    assert run_path(settings(), settings()) == Path("runs/sst/jw-bilstm-additive-softmax/seed3")


def test_machine_keys_do_not_tell_runs_apart():
    elsewhere = settings(trainer__devices=2, trainer__strategy="ddp", data__init_args__num_workers=4, seed_everything=3)
    assert run_path(elsewhere, settings()) == run_path(settings(), settings())
    assert "devices" not in without_machine_keys(elsewhere)["trainer"]
    assert elsewhere["trainer"]["devices"] == 2, "the settings themselves are left as they were"


def test_any_other_difference_adds_a_hash_of_its_own():
    three, four = (run_path(settings(trainer__max_epochs=n), settings()) for n in (3, 4))
    assert three.parent.name.startswith("jw-bilstm-additive-softmax-")
    assert len(three.parent.name.rsplit("-", 1)[1]) == 8
    assert three != four


def test_configs_that_are_not_ours_always_get_a_hash():
    assert run_path(settings(), None).parent.name != "jw-bilstm-additive-softmax"


def test_differing_keys_are_named():
    assert differing_keys(settings(), settings(trainer__max_epochs=3, run__model="cnn")) == ["run.model", "trainer.max_epochs"]


@pytest.mark.parametrize(
    ("projection", "name"), [("entmax:1.3", "entmax-1.3"), ("sparsegen:-1", "sparsegen--1"), ("softmax", "softmax")]
)
def test_names_hold_no_colon(tmp_path, projection, name):
    run = settings(run__projection=projection, run__root=str(tmp_path))
    assert run_path(run, run) == tmp_path / f"sst/jw-bilstm-additive-{name}/seed3"


@pytest.mark.parametrize(
    ("there", "found"),
    [
        ((), "entmax-1.3/seed3"),
        (("entmax:1.3/seed3",), "entmax:1.3/seed3"),
        (("entmax:1.3/seed0",), "entmax:1.3/seed3"),
        (("entmax:1.7/seed3",), "entmax-1.3/seed3"),
        (("entmax:1.3/seed3", "entmax-1.3/seed3"), "entmax-1.3/seed3"),
        (("entmax:1.3/seed0", "entmax-1.3/seed1"), "entmax-1.3/seed3"),
        (("entmax:1.3/seed3", "entmax-1.3/seed1"), "entmax:1.3/seed3"),
    ],
)
def test_a_run_of_an_earlier_version_is_found_where_it_lies_with_its_colon(tmp_path, there, found):
    for name in there:
        (tmp_path / "sst" / f"jw-bilstm-additive-{name}").mkdir(parents=True)
    run = settings(run__projection="entmax:1.3", run__root=str(tmp_path))
    assert run_path(run, run) == tmp_path / "sst" / f"jw-bilstm-additive-{found}"


def test_the_readable_name_that_a_report_looks_for_is_the_one_that_is_written(tmp_path):
    run = settings(run__projection="entmax:1.3", run__root=str(tmp_path))
    assert run_path(run, run).parent.name == readable_name(run["run"])


def test_experiments_that_were_added_later_are_no_part_of_what_a_run_is():
    first = settings() | {"experiments": {"E1": {"class_path": "attest.callbacks.FeatureImportance"}}}
    now = settings() | {"experiments": first["experiments"] | {"E14": {"class_path": "attest.callbacks.Erasure"}, "E15": None}}
    other = settings() | {"experiments": {"E2": {"class_path": "attest.callbacks.AttentionPermutation"}}}
    assert variant(first) == variant(now) != variant(other)
    assert run_path(now, first) == run_path(first, first)
    assert not differing_keys(without_machine_keys(now), without_machine_keys(first))
    assert "E14" in now["experiments"], "the settings themselves were changed"


def test_a_reference_is_resolved_once_while_its_files_stay_as_they_are(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(configured, "resolve", lambda arguments: asked.append(arguments) or {"made": len(asked)})
    file = tmp_path / "model.yaml"
    file.write_text("model: {}")
    arguments = [f"--config={file}", "--seed_everything=1"]
    assert [configured.resolve_once(arguments) for _ in range(2)] == [{"made": 1}] * 2
    assert configured.resolve_once([*arguments, "--run.threads=2"]) == {"made": 2}
    os.utime(file, ns=(0, 0))
    assert configured.resolve_once(arguments) == {"made": 3}
