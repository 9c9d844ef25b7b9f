"""The judges on trial, small: calibrations come out, and directions are those of the specs."""

import pytest
import torch
import yaml

from attest.experiments.registry import measures, runnable
from attest.judges.judging import Defended, hear, judge, with_added
from attest.judges.measuring import Measured
from attest.judges.metric import STATED

SMALL = {"rules": ["conjunction"], "seeds": [0, 1], "texts": 8, "layered": [], "pooled": ["honest", "sparse", "smuggled"]}


@pytest.mark.whole("a population of judges")
def test_oracle_sees_and_coin_does_not():
    stated = yaml.safe_load(STATED.read_text()) | SMALL
    judged = judge(hear(stated), stated)
    wrong = judged[judged.truth == "wrong"].set_index("test")
    assert wrong.auroc["oracle of tokens"] == 1
    assert wrong.low["coin"] < 0.5 < wrong.high["coin"]
    assert set(judged[judged.defendant == "smuggled"].groupby("of").truth.first().items()) == {
        ("tokens", "wrong"),
        ("states", "right"),
    }


def test_every_pooled_experiment_is_tried():
    stated = yaml.safe_load(STATED.read_text())
    tried = {test["experiment"] for test in with_added(stated)["tests"]["pooled"].values()}
    untried = sorted((tried - {"oracle"}) ^ set(runnable()))
    assert not untried, (
        f"say in its SPEC which end of a column is suspicious, or add a test of it to {STATED.name}, below `added` with "
        f"today's date, or delete it there: {untried}"
    )


def test_an_experiment_that_the_list_does_not_name_is_tried_by_its_suspicious_columns():
    """The list names E2 by one column; without it, the spec states the same test and another."""
    stated = yaml.safe_load(STATED.read_text())
    pooled = stated["tests"]["pooled"]
    without = {name: test for name, test in pooled.items() if test["experiment"] != "E2"}
    found = with_added({**stated, "tests": {**stated["tests"], "pooled": without}})["tests"]["pooled"]
    derived = {name: test for name, test in found.items() if test["experiment"] == "E2"}
    assert [*derived] == ["E2 tvd_median (added)", "E2 flipped (added)"]
    assert derived["E2 tvd_median (added)"] == pooled["E2 shuffling"]


def test_directions_are_those_of_the_specs():
    """The list was stated before the specs said which end is suspicious; the two must agree."""
    known, compared = measures(), 0
    for name, test in with_added(yaml.safe_load(STATED.read_text()))["tests"]["pooled"].items():
        measure = known.get(f"{test['experiment']}/{test['column']}")
        if measure is not None and measure.suspicious is not None and "minus" not in test:
            compared += 1
            assert (test["sign"] > 0) == (measure.suspicious == "high"), name
    assert compared >= 8


def test_the_same_measure_points_the_same_way_wherever_it_is_tried():
    """Tests whose columns no spec describes, those inside layers among them, are held by those that it does."""
    ways: dict[str, set[int]] = {}
    for tests in with_added(yaml.safe_load(STATED.read_text()))["tests"].values():
        for test in tests.values():
            kind = test["column"] if test["column"].startswith("naopc") else test["column"].partition("_")[0]
            ways.setdefault(kind, set()).add(test["sign"])
    assert {kind: len(signs) for kind, signs in ways.items()} == dict.fromkeys(ways, 1)
    assert ways["excess"] == ways["fraction"], "of E12, both a share of the weights"
    assert {"tau", "tvd", "jsd", "entropy", "win", "mass"} <= set(ways)


def defended(name, suspicion):
    """Right about tokens."""
    mass = torch.ones(len(suspicion))
    return Defended("pooled", "token", name, Measured({"a": torch.tensor(suspicion)}, {"a": 1.0}, mass, mass))


def test_a_right_defendant_is_held_against_the_others_alone():
    """Held against itself as well, one that looks worse than all others would be accused by 5/6 and not by 1."""
    stated = {"tests": {"pooled": {"a": {"of": "tokens"}}}, "bootstrap": {"draws": 9, "level": 0.95, "seed": 0}}
    heard = [defended("worst", [3.0, 3.0]), defended("middle", [2.0, 2.0]), defended("best", [1.0, 1.0])]
    judged = judge(heard, stated | {"tolerance": 1e-6}).set_index("defendant")
    assert judged.auroc.to_dict() == {"worst": 1.0, "middle": 0.5, "best": 0.0}
