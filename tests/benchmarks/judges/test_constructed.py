"""The constructed networks before the tests, and what is found: sets are smallest, and a defendant of one's own is heard."""

from pathlib import Path

import pandas as pd
import pytest

from attest.core.errors import AttestError
from attest.experiments.experiment_errors import sentence
from benchmarks.judges.__main__ import main
from benchmarks.judges.found import findings, smallest_sets


@pytest.mark.whole("a population of judges")
def test_a_defendant_of_ones_own_is_heard(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "from attest.judges.defendants import Defendant\n\n\nclass Mine(Defendant):\n    rules = ('token',)\n"
    )
    small = {"rules": ["token"], "seeds": [0], "texts": 6, "layered": [], "pooled": ["honest", "smuggled"]}
    monkeypatch.setattr("benchmarks.judges.constructed.SMALLER", small)
    main(["constructed", "--smoke", "--defendant", "mine.py:Mine"])
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
        "from attest.judges.defendants import Defendant\nclass Mine(Defendant):\n    rules = ('tokn',)",
        "from attest.judges.defendants import Defendant\nclass Mine(Defendant):\n    rules = 'token'",
        "from attest.judges.defendants import Defendant\nclass Mine(Defendant):\n    rules = ('token',)\n"
        "    def carrying(self, read):\n        return read.mask * (1 - read.deciding)",
    ],
)
def test_a_defendant_that_cannot_stand_gets_a_sentence(body, tmp_path, monkeypatch, refusal):
    small = {"rules": ["token"], "seeds": [0], "texts": 6, "layered": [], "pooled": []}
    monkeypatch.setattr("benchmarks.judges.constructed.SMALLER", small)
    (tmp_path / "mine.py").write_text(body)
    with refusal():
        main(["constructed", "--smoke", "--defendant", f"{tmp_path / 'mine.py'}:Mine", "--results", str(tmp_path / "results")])


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
    assert sentence(found["E2"]) == "It misses attention that lies x. It accuses no right attention."


def test_what_sees_all_sees_those_that_were_tried():
    found = findings(rows(a={"x": 1.0, "y": 0.95}), {"a": "E1"}, 0.9)["E1"]
    assert sentence(found) == "It misses no wrong attention that was tried. It accuses no right attention."


@pytest.mark.parametrize("typed", ["nowhere.py:Mine", "mine"])
def test_mistakes_get_a_sentence(typed, tmp_path):
    with pytest.raises(AttestError, match="expected"):
        main(["constructed", "--smoke", "--defendant", typed, "--results", str(tmp_path)])
