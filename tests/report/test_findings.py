"""What a run says does not depend on where one stands."""

import re
from pathlib import Path

import pytest

from attest.report.answer import UNTESTED
from attest.report.findings import Findings, pools
from attest.report.page import write_report
from attest.runs.folder import RunFolder, write_json
from tests.report.made import decided, made_run


def test_a_run_named_from_within_its_parent_says_the_same(small_run, monkeypatch, tmp_path):
    expected = Findings(small_run)
    monkeypatch.chdir(small_run.path.parent)
    beside = RunFolder(Path(small_run.path.name))
    found = Findings(beside)
    assert found.answers == expected.answers
    assert found.measured == expected.measured
    write_report(Findings(beside), figures=[], alone=tmp_path / "page.html")
    assert f"planted / {small_run.path.parent.name} / seed0" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_without_the_table_of_the_texts_classes_are_named_by_the_record_of_the_data(tmp_path):
    names = ["bathroom", "bedroom", "garden", "hallway"]
    folder = RunFolder(tmp_path / "babi" / "setting" / "seed0")
    write_json(folder.data, {"label_names": names})
    assert Findings(folder).class_names == names
    assert Findings(RunFolder(tmp_path / "babi" / "setting" / "seed1")).class_names == ["0", "1"]


def test_of_pairs_the_page_says_how_much_attention_stays_in_a_text(tmp_path, snapshot):
    shares = {"pairs/attention_within/mean": 0.5, "pairs/attention_between/mean": 0.125}
    run = made_run(tmp_path / "pairs" / "seed0", shares)
    assert Findings(run).pairs.replace("\N{NO-BREAK SPACE}", " ") == snapshot
    write_report(Findings(run), figures=[], alone=tmp_path / "page.html")
    assert Findings(run).pairs in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert Findings(made_run(tmp_path / "single" / "seed0", {})).pairs is None


def test_shares_of_pairs_stand_with_their_intervals_and_how_many_pairs(tmp_path):
    within, between = [0.5, 0.6, 0.4, 0.5], [0.1, 0.2, 0.3, 0.2]
    rows = decided([0, 1, 0, 1], [0, 1, 1, 1]).assign(attention_within=within, attention_between=between)
    shares = {"pairs/attention_within/mean": 0.5, "pairs/attention_between/mean": 0.2}
    said = Findings(made_run(tmp_path / "pairs" / "seed0", shares, rows)).pairs.replace("\N{NO-BREAK SPACE}", " ")
    for value in ("50.0", "20.0", "30.0"):
        assert re.search(rf"{value} % \[\d+\.\d %, \d+\.\d %\]", said)
    assert said.endswith("over 4 pairs, with 95 % intervals).")


@pytest.mark.parametrize(("rows", "said"), [("classes", ""), ("labels", UNTESTED), ("answers", UNTESTED)])
def test_it_is_said_where_no_test_tells_whether_a_model_has_learned(tmp_path, rows, said):
    one = decided([0, 1] * 20, [0, 1] * 20)
    kinds = {"classes": one, "labels": one.assign(text=one["id"], asked="joy"), "answers": one.assign(answer="Ann")}
    assert Findings(made_run(tmp_path / "seed0", {}, kinds[rows])).unjudged == said


def test_attention_of_a_tagger_lies_inside_its_layers():
    """The verdict of attest fit said “attention” of it, that of a trial “attention rollout”."""
    assert not pools({"experiments": {"tagged": {}}})
    assert pools({"experiments": {"instances": {}, "tagged": None}})


def test_the_interval_of_a_distance_does_not_reach_below_0(tmp_path):
    means = {"E2/tvd_median/mean": 0.01, "E2/tvd_median/ci_low": -0.012, "E2/tvd_median/ci_high": 0.032}
    means |= {"E2/flipped/mean": 0.99, "E2/flipped/ci_low": 0.97, "E2/flipped/ci_high": 1.01}
    said = Findings(made_run(tmp_path / "run", means)).answers["E2"].replace("\N{NO-BREAK SPACE}", " ")
    assert "moves the prediction by 0.010 [0.000, 0.032]" in said
    assert "changes 99 % [97 %, 100 %] of decisions" in said
