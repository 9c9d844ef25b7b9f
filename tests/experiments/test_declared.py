"""What the function of an experiment is given is what its description declares, and each column is described once."""

import inspect
import re
from dataclasses import fields, replace
from functools import partial
from types import SimpleNamespace

import pytest

from attest.core import kinds
from attest.experiments.registry import EXPERIMENTS, Context, askable, by_id, own_experiment

ALL = {
    f"{name}, {place}": experiment
    for place, known in {
        "pooled": askable(),
        "layers": askable(inside=True),
        "tagger": askable(inside=True, kind=kinds.TAGS),
    }.items()
    for name, experiment in known.items()
}
KNOWN = {each.name for each in fields(Context)}


@pytest.mark.parametrize("experiment", ALL.values(), ids=ALL)
def test_each_parameter_is_declared_or_a_setting_with_a_default(experiment):
    _, *parameters = inspect.signature(experiment.run).parameters
    assert {*experiment.reads} == KNOWN & {*parameters}
    assert inspect.Parameter.empty not in experiment.defaults.values()


@pytest.mark.parametrize("experiment", ALL.values(), ids=ALL)
def test_an_experiment_that_samples_texts_reads_everyone_and_has_a_size(experiment):
    assert experiment.samples == ("everyone" in experiment.reads) == ("texts" in experiment.defaults)


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=EXPERIMENTS)
def test_each_mean_of_the_report_has_a_range_so_that_until_waits_for_it(experiment):
    assert [measure.name for measure in experiment.measures if measure.range is None] == []


def ours(observation, labels, seed=3, texts=2):
    return {"labels": labels, "seed": seed}


def test_a_function_of_ones_own_reads_what_is_declared_or_else_what_its_parameters_are_named_after(refusal):
    assert own_experiment("mine", ours).reads == ("labels", "seed")
    assert own_experiment("mine", ours).samples
    declared = own_experiment("mine", ours, ["labels"])
    assert (declared.reads, declared.defaults) == (("labels",), {"seed": 3, "texts": 2})
    with refusal():
        own_experiment("mine", ours, ["truth"])
    with refusal():
        own_experiment("mine", ours, ["texts"])


def test_a_function_of_ones_own_takes_no_id_of_an_experiment(refusal):
    """Its columns were read as those of E2: on a model of one number they got other names, or were lost."""

    def mine(observation):
        return {"tvd_max": observation.ids}

    with refusal():
        own_experiment("E2", mine)
    for theirs in (EXPERIMENTS["E2"].run, partial(EXPERIMENTS["E2"].run, permutations=3)):
        assert own_experiment("E2", theirs).id == "E2"


def test_two_experiments_of_one_id_are_no_matter_of_chance():
    spec = EXPERIMENTS["E2"]
    with pytest.raises(ValueError, match="the id E2: permuted attention and mine"):
        by_id([spec, replace(spec, name="mine")])


def test_a_function_of_ones_own_is_run_on_a_model_of_one_number():
    """It ended in a KeyError: no description says how its columns are called there."""
    observation = SimpleNamespace(network=SimpleNamespace(kind=kinds.NUMBER))
    own = own_experiment("mine", lambda observation, seed: {"tvd_max": seed})
    assert own(observation, Context(None, 2, seed=7)) == {"tvd_max": 7}
    ours = replace(askable()["E2"], run=lambda observation, seed: {"tvd_max": seed, "flipped": seed})
    assert ours(observation, Context(None, 2, seed=7)) == {"moved_max": 7}


@pytest.mark.parametrize("spec", EXPERIMENTS.values(), ids=EXPERIMENTS)
def test_a_column_is_described_once_and_what_the_report_shows_is_a_sentence(spec):
    names = [column.name for column in spec.columns]
    assert len({*names}) == len(names)
    assert [each.name for each in spec.measures if not re.fullmatch(r"[A-Z].+[.?]", each.means)] == []
    assert [each.name for each in spec.columns if not each.title and (each.short or each.beside or each.misread)] == []
