"""Experiments are spelled in a run as in a trial; files of older runs are read as they were."""

import pytest
import yaml

from attest.core.errors import AttestError
from attest.core.kinds import TAGS
from attest.core.places import configs_folder
from attest.experiments.registry import askable
from attest.runs.asked import AskedRun
from attest.runs.belonging import digests_of, outdated_tables
from attest.runs.experiment_settings import sized, spelled_plainly

OLD = {
    "E2": {
        "class_path": "attest.callbacks.AttentionPermutation",
        "init_args": {"permutations": 7, "every_n_epochs": 1, "validation_instances": 256},
    },
    "E8": {
        "class_path": "attest.callbacks.ActivationSwap",
        "init_args": {
            "projections": {
                "softmax": {"class_path": "attest.core.attention.Softmax", "init_args": {}},
                "sparsemax": {"class_path": "attest.core.attention.Sparsemax"},
                "entmax15": {"class_path": "attest.core.attention.Entmax15"},
            }
        },
    },
    "E14": {
        "class_path": "attest.callbacks.Erasure",
        "init_args": {"texts": 32, "lead": None, "explanation": "attention"},
    },
    "E99": {"class_path": "attest.callbacks.Experiment", "init_args": {"id": "E99", "experiment": None}},
    "E3": None,
    "E9": {"class_path": "attest.callbacks.layers.KeyAttack"},
    "mine": {"class_path": "mine.Own", "init_args": {"explanation": "attention"}},
}


def test_files_of_older_runs_say_what_they_said():
    assert spelled_plainly(OLD) == {
        "E2": {"permutations": 7, "every_n_epochs": 1, "validation_instances": 256},
        "E8": {},
        "E14": {"texts": 32},
        "E99": {},
        "E3": None,
        "E9": {"class_path": "attest.callbacks.layers.KeyAttack"},
        "mine": {"class_path": "mine.Own", "init_args": {"explanation": "attention"}},
    }


def test_other_projections_than_those_that_ship_stay():
    other = {"entmax15": {"class_path": "attest.core.attention.Entmax15"}}
    old = {"class_path": "attest.callbacks.ActivationSwap", "init_args": {"projections": other}}
    assert spelled_plainly({"E8": old}) == {"E8": {"projections": other}}


@pytest.mark.parametrize(
    "typed",
    [
        ("--experiments.E2.permutations=20",),
        ("--experiments.E2.permutations", "20"),
        ("--experiments.E2.init_args.permutations=20",),
    ],
)
def test_a_typed_setting_leaves_the_others_of_its_experiment(typed):
    more = ("--experiments.E2.every_n_epochs=0", "--experiments.E3=null")
    asked = AskedRun.of(["DATA=planted", *typed, *more, "--trainer.max_epochs=1"])
    experiments = asked.settings["experiments"]
    assert experiments["E2"] == {"permutations": 20, "every_n_epochs": 0}
    assert experiments["E3"] is None
    assert experiments["E14"] == {"texts": 32, "sets": 20}
    assert asked.arguments[1:] == ["--trainer.max_epochs=1"]
    assert not any(argument.startswith("--experiments") for argument in asked.arguments)


def test_all_experiments_that_are_typed_at_once_stand_in_place_of_the_others():
    asked = AskedRun.of(["DATA=planted", '--experiments={"E2": {"permutations": 3}}', "--experiments.E3.steps=4"])
    assert asked.settings["experiments"] == {"E2": {"permutations": 3}, "E3": {"steps": 4}}


def test_the_size_of_an_experiment_stands_in_one_table():
    sizes = yaml.safe_load((configs_folder() / "sizes.yaml").read_text())
    for file in (configs_folder() / "experiments").glob("*.yaml"):
        for name, given in yaml.safe_load(file.read_text()).get("experiments", {}).items():
            assert not {*given} - {"every_n_epochs"}, f"{file.stem} says how large {name} is"
    content = sized({"sizes": "layers", "experiments": {"E14": {"texts": 3}, "E3": None, "mine": OLD["mine"]}})
    assert content == {"experiments": {"E14": sizes["E14"]["layers"] | {"texts": 3}, "E3": None, "mine": OLD["mine"]}}


@pytest.mark.parametrize("place", ["pooled", "layers", "layers-tagger", "pretrained", "pretrained-tagger"])
def test_a_choice_without_a_list_has_all_experiments_of_its_place(place):
    sizes = yaml.safe_load((configs_folder() / "sizes.yaml").read_text())
    asked = AskedRun.of([f"EXPERIMENTS={place}"]).settings["experiments"]
    assert asked == {name: rows[place] for name, rows in sizes.items() if place in rows}
    assert {"E2", "E3", "E19"} < asked.keys()
    assert ("E11" in asked) == (place == "pooled"), "it has no row elsewhere"


OF_PLACE = {
    "pooled": askable(),
    "layers": askable(inside=True),
    "layers-tagger": askable(inside=True, kind=TAGS),
    "pretrained": askable(inside=True),
    "pretrained-tagger": askable(inside=True, kind=TAGS),
}


@pytest.mark.parametrize(
    ("name", "places", "settings"),
    [
        ("E3", ["pooled"], ["restarts", "steps"]),
        ("E10", ["pooled"], ["texts", "positions"]),
        ("E12", ["pooled"], ["draws"]),
        ("E14", [*OF_PLACE], ["sets"]),
        ("E15", ["pooled", "layers", "pretrained"], ["sets"]),
    ],
)
def test_what_the_table_repeats_is_the_default_of_the_function(name, places, settings):
    """The configurations of runs hold these settings, so the table goes on saying them."""
    rows = yaml.safe_load((configs_folder() / "sizes.yaml").read_text())[name]
    for place in places:
        defaults = OF_PLACE[place][name].defaults
        assert {each: rows[place][each] for each in settings} == {each: defaults[each] for each in settings}


def test_a_small_and_a_pretrained_transformer_have_the_same_experiments_in_other_sizes():
    for small, large in (("layers", "pretrained"), ("layers-tagger", "pretrained-tagger")):
        asked = [AskedRun.of([f"EXPERIMENTS={name}"]).settings["experiments"] for name in (small, large)]
        assert [*asked[0]] == [*asked[1]]
        assert [each["E2"] for each in asked] == [{"permutations": 10}, {"permutations": 5}]


@pytest.mark.parametrize(
    "wrong",
    [
        {"sizes": "pooled", "experiments": "laiers"},
        {"sizes": "large", "experiments": {}},
        {"sizes": "pooled", "experiments": {"E2": "many"}},
    ],
)
def test_a_table_of_sizes_that_is_not_there_is_named(wrong, refusal):
    with refusal():
        sized(wrong)


def test_an_older_run_belongs_together_and_is_not_out_of_date(small_run, tmp_path):
    from tests.finished_runs import copy_of

    run = copy_of(small_run, tmp_path)
    settings = run.settings()
    ours = settings["experiments"]
    written = settings | {"experiments": {"E2": OLD["E2"] | {"init_args": OLD["E2"]["init_args"] | ours["E2"]}}}
    run.config.write_text(yaml.safe_dump(written))
    assert run.settings()["experiments"]["E2"]["permutations"] == ours["E2"]["permutations"]
    assert "class_path" in run.settings_as_written()["experiments"]["E2"]
    assert not outdated_tables(run, {"E2": ours["E2"]})
    assert outdated_tables(run, {"E2": ours["E2"] | {"permutations": 3}}) == ["E2"]
    before = digests_of(run)["settings"]
    run.config.write_text(yaml.safe_dump(written | {"experiments": spelled_plainly(written["experiments"])}))
    assert digests_of(run)["settings"] != before, "the digest is that of the file as it was written"


def test_something_else_than_settings_is_refused():
    for wrong in ([], {"E2": "attest.callbacks.AttentionPermutation"}):
        with pytest.raises(AttestError, match="expected"):
            spelled_plainly(wrong)
