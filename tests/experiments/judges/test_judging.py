"""The judges on trial, small: calibrations come out, sets are smallest, words follow the numbers."""

from pathlib import Path

import pandas as pd
import pytest
import torch
import yaml

from attest.app.cli.judges import STATED, main
from attest.core.errors import AttestError
from attest.experiments.judges.judging import Defended, findings, hear, judge, sentence, smallest_sets, with_added
from attest.experiments.judges.measuring import Measured
from attest.experiments.registry import EXPERIMENTS, measures, runnable

SMALL = {"rules": ["conjunction"], "seeds": [0, 1], "texts": 8, "layered": [], "pooled": ["honest", "sparse", "smuggled"]}


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
    later = {test["experiment"] for added in stated["added"].values() for test in added["pooled"].values()}
    tried = {test["experiment"] for test in with_added(stated)["tests"]["pooled"].values()}
    assert later == {"E14", "E15"}
    assert tried - {"oracle"} == set(runnable())


def test_directions_are_those_of_the_specs():
    """The list was stated before the specs said which end is suspicious; the two must agree."""
    known, compared = measures(), 0
    for name, test in with_added(yaml.safe_load(STATED.read_text()))["tests"]["pooled"].items():
        measure = known.get(f"{test['experiment']}/{test['column']}")
        if measure is not None and measure.suspicious is not None and "minus" not in test:
            compared += 1
            assert (test["sign"] > 0) == (measure.suspicious == "high"), name
            assert test["of"] == EXPERIMENTS[test["experiment"]].about_of(measure), name
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


def test_a_defendant_of_ones_own_is_heard(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "from attest.experiments.judges.defendants import Defendant\n\n\nclass Mine(Defendant):\n    rules = ('token',)\n"
    )
    small = {"rules": ["token"], "seeds": [0], "texts": 6, "layered": [], "pooled": ["honest", "smuggled"]}
    monkeypatch.setattr("attest.app.cli.judges.SMALLER", small)
    assert main(["SMOKE=1", "--defendant", "mine.py:Mine"]) == 0
    judged = pd.read_parquet("runs/judges/judges.parquet")
    assert {*judged.defendant} == {"honest", "smuggled", "Mine"}
    assert "Added by hand: Mine." in Path("runs/judges/judges.md").read_text()
    assert "About tokens" in capsys.readouterr().out


@pytest.mark.parametrize(
    "body",
    [
        "import nothing_of_this_name",
        "class Other: ...",
        "class Mine: ...",
        "class Mine:\n    rules = ('token',)\n    def encode(self): ...",
        "from attest.experiments.judges.defendants import Defendant\nclass Mine(Defendant):\n    rules = ('tokn',)",
        "from attest.experiments.judges.defendants import Defendant\nclass Mine(Defendant):\n    rules = 'token'",
        "from attest.experiments.judges.defendants import Defendant\nclass Mine(Defendant):\n    rules = ('token',)\n"
        "    def carrying(self, read):\n        return read.mask * (1 - read.deciding)",
    ],
)
def test_a_defendant_that_cannot_stand_gets_a_sentence(body, tmp_path, monkeypatch, refusal):
    small = {"rules": ["token"], "seeds": [0], "texts": 6, "layered": [], "pooled": []}
    monkeypatch.setattr("attest.app.cli.judges.SMALLER", small)
    (tmp_path / "mine.py").write_text(body)
    with refusal():
        main(["SMOKE=1", "--defendant", f"{tmp_path / 'mine.py'}:Mine", "--results", str(tmp_path / "results")])


def rows(**auroc):
    cells = [(test, defendant, value) for test, seen in auroc.items() for defendant, value in seen.items()]
    made = pd.DataFrame(cells, columns=["test", "defendant", "auroc"])
    return made.assign(family="pooled", of="tokens", truth="wrong", rule="token", low=0.0, high=1.0)


def test_smallest_sets_and_what_none_sees():
    judged = rows(a={"x": 1.0, "y": 0.5, "z": 0.1}, b={"x": 0.5, "y": 0.95, "z": 0.2}, c={"x": 0.89, "y": 0.3, "z": 0.3})
    assert smallest_sets(judged, 0.9, "pooled", "tokens") == ([("a", "b")], ["z/token"])


def test_findings_name_what_no_column_of_an_experiment_sees():
    judged = rows(a={"x": 1.0, "y": 0.5}, b={"x": 0.5, "y": 0.5}, c={"x": 0.5, "y": 0.95})
    found = findings(judged, {"a": "E1", "b": "E1", "c": "E2"}, 0.9)
    assert found["E1"] == {"sees": ["x"], "misses": ["y"], "accuses": []}
    assert found["E2"] == {"sees": ["y"], "misses": ["x"], "accuses": []}
    assert sentence(found["E2"]) == "It misses attention that lies x. It accuses no right one."


def test_what_sees_all_sees_those_that_were_tried():
    found = findings(rows(a={"x": 1.0, "y": 0.95}), {"a": "E1"}, 0.9)["E1"]
    assert sentence(found) == "It misses none that was tried. It accuses no right one."


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


@pytest.mark.parametrize(
    "typed", [["SMOKE=2"], ["LOGGER=wandbb"], ["TEXTS=3"], ["--defendant", "nowhere.py:Mine"], ["--defendant", "mine"]]
)
def test_mistakes_get_a_sentence(typed):
    with pytest.raises(AttestError, match="expected"):
        main(typed)
