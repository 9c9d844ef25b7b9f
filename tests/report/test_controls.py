"""What each number is held against, from run folders made by hand."""

import pytest

from attest.report.controls import Controls, baseline
from attest.runs.contents import RunContents
from attest.runs.folder import write_json
from tests.report.made import decided, made_run

MINE = {
    "test/accuracy": 0.75,
    "E1/tau_gradient_inputs/mean": 0.2,
    "E1/tau_gradient_and_leave_one_out/mean": -0.5,
    "E1/concordant_gradient_inputs/mean": 0.6,
    "E1/concordant_gradient_and_leave_one_out/mean": 0.25,
    "E12/fraction_common_attention/mean": 0.3,
    "E12/fraction_common_random/mean": 0.7,
    "E11/only_top/mean": 0.2,
    "E11/only_random/mean": None,
}
THEIRS = {"test/accuracy": 0.5, "E1/tau_gradient_inputs/mean": None, "E11/only_top/mean": 0.0}


@pytest.fixture
def run(tmp_path):
    return made_run(tmp_path / "mine" / "jw-bilstm-additive-softmax" / "seed0", MINE, decided([0, 1, 1, 1], [0, 1, 1, 0]))


def with_twin(run, **settings):
    path = run.path.parents[1] / "jw-bilstm-additive-uniform" / "seed0"
    return made_run(path, THEIRS, decided([0, 1, 1, 1], [0, 1, 0, 0]), projection="uniform", **settings)


def with_seed(run, accuracy):
    made_run(run.path.with_name("seed1"), MINE | {"test/accuracy": accuracy})


def controls_of(run):
    return Controls(RunContents(run), baseline(RunContents(run)))


def shown(run, key):
    return [f"{control.name}: {control.text}" for control in controls_of(run).of(key)]


def test_accuracy_is_held_against_the_constant_answer_first(run):
    assert shown(run, "test/accuracy") == ["always “good”: 0.750"], "what was not run has no line"
    assert [*controls_of(run).not_run] == ["uniform", "seeds"]
    with_twin(run)
    with_seed(run, 0.25)
    expected = ["always “good”: 0.750", "uniform attention: 0.500", "2 seeds: 0.500 ± 0.354"]
    assert shown(run, "test/accuracy") == expected
    assert [control.value for control in controls_of(run).of("test/accuracy")] == [0.75, 0.5, 0.5]


@pytest.mark.parametrize(
    ("key", "first"),
    [
        ("E1/tau_gradient_inputs", "gradient × input with leave-one-out: −0.500"),
        ("E1/concordant_gradient_inputs", "gradient × input with leave-one-out: 0.250"),
        ("E12/fraction_common_attention", "in random order, on the same texts: 0.700"),
        ("E11/only_top", "a random other token: undefined"),
    ],
)
def test_evidence_is_held_against_chance_within_the_run(run, key, first):
    assert shown(run, key)[0] == first


def test_what_is_undefined_in_a_control_is_said_to_be(run):
    with_twin(run)
    assert shown(run, "E1/tau_gradient_inputs")[1] == "uniform attention: undefined"
    with_seed(run, 0.25)
    assert shown(run, "E11/only_random")[-1] == "other seeds: undefined"


def test_the_twin_differs_in_its_projection_alone(run):
    with_twin(run, model="cnn")
    assert controls_of(run).uniform is None
    twin = with_twin(run)
    assert controls_of(run).uniform_run.folder.path == twin.path
    assert controls_of(run).uniform["test/accuracy"] == 0.5


def test_the_control_itself_has_no_uniform_twin(run):
    controls = controls_of(with_twin(run))
    assert controls.is_uniform
    assert controls.uniform is None
    assert controls.of("E1/tau_gradient_inputs") == []
    assert [*controls.not_run] == ["seeds"]


def test_commands_are_those_of_the_controls_that_are_missing(run):
    assert [*controls_of(run).commands] == ["uniform", "seeds"]
    with_twin(run)
    assert [*controls_of(run).commands] == ["seeds"]
    with_seed(run, 0.25)
    assert controls_of(run).commands == {}
    assert controls_of(run).not_run == {}


def test_a_dependent_run_has_the_controls_of_its_base(run):
    dependent = made_run(run.path / "guides" / "base", MINE, decided([0, 1, 1, 1], [0, 1, 1, 1]))
    write_json(dependent.path / "base.json", {})
    write_json(run.path / "controls" / "summary.json", {"rows": [], "E5/jsd/mean": 0.1})
    twin = with_twin(run)
    controls = controls_of(dependent)
    assert controls.uniform_run.folder.path == twin.path
    assert controls.between_seeds == {"E5/jsd/mean": 0.1}
