"""What settings differ in, from the configurations of run folders made by hand."""

import yaml

from attest.report.collection import settings_of
from attest.report.comparison import choices_apart, settings_apart
from attest.runs.identity import find_runs
from tests.report.made import made_run


def made(root, name: str, seed: int = 0, model=None, experiments=None, **choices: str):
    run = made_run(root / "mine" / name / f"seed{seed}", {"test/accuracy": 0.5}, **choices)
    config = yaml.safe_load(run.config.read_text(encoding="utf-8"))
    config |= {"seed_everything": seed, "model": {"init_args": {"rate": 0.1} | (model or {})}}
    config |= {"trainer": {"devices": seed + 1}, "experiments": experiments or {}}
    run.config.write_text(yaml.safe_dump(config), encoding="utf-8")


def found(root):
    settings = settings_of(find_runs([root]))
    return choices_apart(settings), settings_apart(settings)


def test_choices_are_told_with_their_values(tmp_path):
    made(tmp_path, "a")
    made(tmp_path, "b", projection="sparsemax", model={"rate": 0.2})
    assert found(tmp_path) == ({"projection": ["softmax", "sparsemax"]}, {}), "what another choice brings along is its own"


def test_where_choices_are_the_same_single_settings_are_told(tmp_path):
    made(tmp_path, "a")
    made(tmp_path, "b", model={"rate": 0.2})
    made(tmp_path, "c", model={"rate": 0.3, "words": {"size": 5}})
    made(tmp_path, "d", model={"words": None}, data="yours")
    choices, single = found(tmp_path)
    assert choices == {"corpus": ["mine", "yours"]}
    assert single == {"model.init_args.rate": ["0.1", "0.2", "0.3"], "model.init_args.words.size": ["not set", "5"]}


def test_seeds_and_machines_make_no_other_setting(tmp_path):
    made(tmp_path, "a", 0)
    made(tmp_path, "b", 1)
    assert found(tmp_path) == ({}, {})


def test_experiments_are_told_where_both_have_run_them_otherwise(tmp_path):
    made(tmp_path, "a", experiments={"E2": {"draws": 100}, "E3": {"epsilon": 0.01}})
    made(tmp_path, "b", experiments={"E2": {"draws": 50}, "E3": None})
    assert found(tmp_path)[1] == {"experiments.E2.draws": ["100", "50"]}


def test_what_a_setting_has_as_a_whole_is_told_by_its_parts(tmp_path):
    made(tmp_path, "a", model={"words": None})
    made(tmp_path, "b", model={"words": {"size": 5}})
    assert found(tmp_path)[1] == {"model.init_args.words.size": ["not set", "5"]}


def test_runs_that_depend_on_another_are_told_by_name(tmp_path):
    made(tmp_path, "a")
    base = tmp_path / "mine" / "a" / "seed0"
    made_run(base / "adversarial" / "unfrozen-kl-1", {"test/accuracy": 0.5})
    assert found(tmp_path)[0] == {"dependence on a base run": ["unfrozen-kl-1", "none"]}
