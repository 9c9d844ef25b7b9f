"""The workspace for W&B as data, and as what W&B's own library would send; nobody has to be logged in."""

import json

import pytest
import wandb

from attest.experiments.registry import EXPERIMENTS
from attest.report.tracking.loggers import is_headline
from attest.runs.folder import RunFolder, read_json, write_json
from examples.wandb_workspace import LAMBDA, PROJECTION, Panel, Template, dashboard, logged, main, template, workspace
from tests.report.tracking.test_wandb import history, records, summary_of


@pytest.fixture
def sections(small_run):
    return dashboard(*logged(small_run))


def test_there_is_a_section_for_every_experiment_that_ran(sections, small_run):
    names = [section.name.split()[0] for section in sections]
    assert names[:5] == ["Verdict", "Report", "Training", "E1", "E2"]
    assert {*names[3:]} == {path.stem for path in small_run.evidence("E1").parent.glob("E*.parquet")} | {"Figures"}
    assert "E8  Does the model survive another projection?" in [section.name for section in sections]


@pytest.mark.parametrize("purpose", ["run", "runs"])
def test_every_panel_has_data_in_the_file_of_the_offline_run(small_run, purpose):
    wandb.finish()  # W&B writes to the end of its file when the run is over
    (path,) = small_run.path.glob("wandb/offline-run-*/*.wandb")
    found = list(records(path))
    followed = {key.removesuffix("/_type") for key in history(found)}
    values = {"lines": followed, "page": followed, "table": followed, "picture": followed}
    sections = template(purpose, *logged(small_run)).sections
    for panel in (panel for section in sections for panel in section.panels):
        assert {*panel.metrics} <= values.get(panel.kind, summary_of(found).keys())
        axis = "trainer/global_step" if "train/loss" in panel.metrics else "epoch"
        assert panel.kind != "lines" or (panel.x == axis and axis in followed)
        assert panel.kind != "parallel" or (len(panel.metrics) > 5 and panel.x == PROJECTION)
    (settings,) = [
        item for record in found for item in (*record.config.update, *record.run.config.update) if item.key == "run"
    ]
    assert json.loads(settings.value_json)["projection"] == "softmax"


def test_undefined_numbers_have_no_panel(tmp_path):
    folder = RunFolder(tmp_path)
    write_json(folder.summary, {"E12/fraction_minimum/mean": None, "test/accuracy": 0.5})
    write_json(folder.curves, [{"epoch": 0, "validation/f1": None, "validation/loss": 0.1}])
    assert logged(folder)[:2] == ({"test/accuracy"}, {"epoch", "validation/loss"})


def test_each_experiment_says_what_it_asks_and_how_its_numbers_are_misread(sections, small_run):
    (words,) = [
        panel.title
        for section in sections
        if section.name.startswith("E2 ")
        for panel in section.panels
        if panel.kind == "words"
    ]
    assert words.startswith(f"**{EXPERIMENTS['E2'].question}**")
    summary = read_json(small_run.summary)
    shown = [measure for measure in EXPERIMENTS["E2"].measures if f"E2/{measure.name}/mean" in summary]
    assert len(shown) == 2
    assert all(measure.misread in words for measure in shown)


def test_each_figure_has_a_panel_of_its_own_at_the_end():
    drawn = dashboard([], [], ["E77/drawing", "E2/other"])[-1].panels
    assert drawn == tuple(Panel("picture", key, (f"figures/{key}",)) for key in ("E2/other", "E77/drawing"))
    assert [section.name for section in dashboard([], [], [])] == ["Report", "Training and scores"]


def test_the_library_takes_it(sections):
    sent = json.loads(workspace(Template(sections), "somebody", "attest", "Attest")._to_model().model_dump_json())
    drawn = sent["spec"]["section"]["panel_bank_config"]["sections"]
    assert [section["name"] for section in drawn if section["panels"]] == [section.name for section in sections]
    assert [len(section["panels"]) for section in drawn if section["panels"]] == [len(each.panels) for each in sections]
    assert "E1/tau_gradient_inputs/mean" in json.dumps(drawn)
    assert "figures" in json.dumps(drawn[-1])


def test_it_can_be_shown_without_a_login(small_run, capsys):
    main([str(small_run.path), "--show"])
    assert "E12  How many weights must go until the decision flips?" in capsys.readouterr().out


def sent(made: Template) -> dict:
    return json.loads(workspace(made, "somebody", "attest", "Attest")._to_model().model_dump_json())["spec"]["section"]


def test_adversaries_are_points_over_their_lambda_and_other_runs_are_left_out():
    keys = [f"E7/{measure.name}/mean" for measure in EXPERIMENTS["E7"].measures if measure.name not in ("jsd_matched", "nll")]
    made = template("lambda", [*keys, "test/accuracy"], [], [])
    (section,) = made.sections
    points = [panel for panel in section.panels if panel.kind == "points"]
    assert [panel.metrics for panel in points] == [(key,) for key in keys]
    assert {panel.x for panel in points} == {LAMBDA}
    assert EXPERIMENTS["E7"].question in section.panels[0].title
    drawn = sent(made)
    (runs,) = drawn["run_sets"]
    assert "adversary" in json.dumps(runs["filters"])
    assert "jobType" in json.dumps(runs["filters"])
    assert "group" in json.dumps(runs["grouping"])
    (across,) = [panel for panel in section.panels if panel.kind == "parallel"]
    assert across.metrics == (*keys, "test/accuracy")
    columns = next(panel["config"]["columns"] for panel in panels_of(drawn) if "columns" in panel["config"])
    accessors = [column["accessor"] for column in columns]
    assert accessors == ["config:model.value.init_args.lam", *(f"summary:{key}" for key in across.metrics)]
    assert columns[0]["log"]


def panels_of(drawn: dict) -> list[dict]:
    return [panel for section in drawn["panel_bank_config"]["sections"] for panel in section["panels"]]


def test_a_run_that_is_no_adversary_is_refused_over_lambda(small_run):
    with pytest.raises(SystemExit, match="Type the folder of an adversary"):
        main([str(small_run.path), "--purpose", "lambda", "--show"])


def test_many_runs_are_grouped_and_shown_by_the_first_measure_of_each_experiment(small_run):
    made = template("runs", *logged(small_run))
    assert made.sections[0].name == "Training and scores"
    firsts = {f"{spec.id}/{spec.measures[0].name}/mean" for spec in EXPERIMENTS.values() if spec.measures}
    bars = [panel.metrics[0] for section in made.sections[2:] for panel in section.panels if panel.kind == "bars"]
    assert bars == [name for name in bars if name in firsts & read_json(small_run.summary).keys()]
    assert len(bars) >= 5
    assert "group" in json.dumps(sent(made)["run_sets"][0]["grouping"])
    assert sent(template("run", [], [], []))["run_sets"][0]["grouping"] == []


def test_lines_show_what_is_logged_by_epoch_alone(sections):
    lines = [name for section in sections for panel in section.panels if panel.kind == "lines" for name in panel.metrics]
    assert lines == [name for name in lines if is_headline(name)]


def test_without_a_login_or_a_run_it_says_what_to_type(small_run, tmp_path, monkeypatch):
    monkeypatch.setattr("examples.wandb_workspace.logged_in", lambda: False)
    with pytest.raises(SystemExit, match=r"Type wandb login first"):
        main([str(small_run.path)])
    with pytest.raises(SystemExit, match=r"is not the folder of a finished run"):
        main([str(tmp_path)])
