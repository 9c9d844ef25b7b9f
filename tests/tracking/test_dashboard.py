"""The dashboard as data, and as what W&B's own library would send; nobody has to be logged in."""

import json

import pytest

from attest.cli.main import main
from attest.experiments.registry import EXPERIMENTS
from attest.report import illustrations
from attest.runs.folder import read_json
from attest.tracking.dashboard import Panel, dashboard, workspace


@pytest.fixture
def sections(small_run):
    curves = {name for epoch in read_json(small_run.curves) for name in epoch}
    return dashboard(read_json(small_run.summary), curves, [figure.key for figure in illustrations(small_run)])


def test_there_is_a_section_for_every_experiment_that_ran(sections, small_run):
    names = [section.name.split()[0] for section in sections]
    assert names[:4] == ["Report", "Training", "E1", "E2"]
    assert {*names[2:]} == {path.stem for path in small_run.evidence("E1").parent.glob("E*.parquet")}
    assert "E8  Does the model survive another projection?" in [section.name for section in sections]


def test_every_panel_shows_what_the_run_has_logged(sections, small_run):
    summary, epochs = read_json(small_run.summary), read_json(small_run.curves)
    figures = {figure.key for figure in illustrations(small_run)} | {"report"}
    logged = {"words": set(), "bars": summary.keys(), "lines": epochs[0].keys(), "pictures": figures}
    for section in sections:
        for panel in section.panels:
            assert {*panel.metrics} <= {*logged[panel.kind]}
            axis = "trainer/global_step" if "train/loss" in panel.metrics else "epoch"
            assert panel.x == (axis if panel.kind == "lines" else None)


def test_each_experiment_says_what_it_asks_and_how_its_numbers_are_misread(sections):
    (words,) = [
        panel.title
        for section in sections
        if section.name.startswith("E2 ")
        for panel in section.panels
        if panel.kind == "words"
    ]
    assert words.startswith(f"**{EXPERIMENTS['E2'].question}**")
    assert all(measure.misread in words for measure in EXPERIMENTS["E2"].measures)


def test_an_experiment_of_your_own_gets_its_figures():
    sections = dashboard(["E77/mine/mean"], [], ["E77/drawing"])
    assert sections[-1].panels == (Panel("pictures", "Figures", ("E77/drawing",)),)


def test_the_library_takes_it(sections):
    pytest.importorskip("wandb_workspaces")
    sent = json.loads(workspace(sections, "somebody", "attest", "Attest")._to_model().model_dump_json())
    drawn = sent["spec"]["section"]["panel_bank_config"]["sections"]
    assert [section["name"] for section in drawn if section["panels"]] == [section.name for section in sections]
    assert [len(section["panels"]) for section in drawn if section["panels"]] == [len(each.panels) for each in sections]
    assert "E1/tau_gradient_inputs/mean" in json.dumps(drawn)


def test_who_is_not_logged_in_is_told_so(small_run, capsys):
    assert main(["dashboard", "--run", str(small_run.path)]) == 2
    assert "wandb login" in capsys.readouterr().err
    assert main(["dashboard", "--run", str(small_run.path), "--show"]) == 0
    assert "E12  How many weights must go until the decision flips?" in capsys.readouterr().out


def test_a_run_that_is_not_finished_is_named(tmp_path, capsys):
    assert main(["dashboard", "--run", str(tmp_path)]) == 2
    assert "expected the folder of a finished run" in capsys.readouterr().err
