"""``attest reproduce``: the workflow from start to table, stopped and taken up, on one job or two."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from attest.app.cli import reproduce
from attest.app.cli.main import main
from attest.app.cli.reproduce import _failure, _plan, command_of, parse_request
from attest.replication.plan import Job
from attest.runs.folder import RunFolder, read_json
from tests.conftest import fresh_shell
from tests.finished_runs import EXPENSIVE, SMALL_TRAINING, without
from tests.forking import attest_command
from tests.waiting import wait_until

TABLE = """
title: Planted
paper: Nobody 2019
data: [planted]
sources:
  paper: {cite: Nobody 2019}
columns:
  accuracy: {key: test/accuracy, margin: 0.5, neutral: 0.2}
rows:
  - name: dense
    run: {MODEL: bilstm, SCORING: additive, PROJECTION: softmax, RECIPE: jw}
    paper: {planted: {accuracy: 0.7}}
  - name: sparse
    run: {MODEL: bilstm, SCORING: additive, PROJECTION: sparsemax, RECIPE: jw}
claims:
  - {that: both are equally accurate, column: accuracy, rows: [dense, sparse], expect: equal}
"""
OPTIONS = [argument for argument in SMALL_TRAINING if not argument.startswith("DATA=")]


def words(folder: Path, *more: str) -> list[str]:
    (folder / "planted.yaml").write_text(TABLE)
    places = [f"--run.root={folder / 'runs'}", f"--results={folder / 'results'}"]
    return [
        "reproduce",
        f"TABLE={folder / 'planted.yaml'}",
        "SEEDS=1",
        "EXPERIMENTS=none",
        "LOGGER=csv",
        *OPTIONS,
        *places,
        *more,
    ]


def written(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "results/planted/table.csv")


@pytest.mark.whole("a workflow of Snakemake that is stopped")
def test_stopped_and_taken_up_with_one_job_is_undisturbed_with_two(tmp_path, capsys, monkeypatch):
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
    monkeypatch.chdir(one)
    monkeypatch.setattr(reproduce, "ATTEST", attest_command())
    assert main(words(one, "DRY=1")) == 0
    assert "runs are missing." in capsys.readouterr().out
    (first, checkpoint) = _stop_after_the_first_run(one)
    assert main(words(one)) == 0
    assert first.best.stat().st_mtime_ns == checkpoint, "what was finished is not done again"
    capsys.readouterr()
    assert main(words(one, "DRY=1")) == 0
    assert capsys.readouterr().out.startswith("0 of ")
    monkeypatch.chdir(two)
    assert main(words(two, "JOBS=2")) == 0
    _require_a_line_a_run(capsys.readouterr().out.splitlines(), two / "results")
    pd.testing.assert_frame_equal(written(one), written(two))
    assert written(two)["seeds"].tolist() == [1, 1]
    assert "Claims: 1" in (two / "results/planted/table.md").read_text()


def _require_a_line_a_run(said: list[str], results: Path) -> None:
    """The plan, a line when each of two runs begins, and a summary; Snakemake speaks in its log."""
    assert said[0] == f"2 of 2 runs are missing. Snakemake's log: {results / 'workflow.log'}"
    for place, line in enumerate(said[1:3], 1):
        assert line.startswith(f"{place} of 2 · planted jw-bilstm-additive-")
    assert said[3].startswith("2 runs done in ")
    assert said[4:] == [f"planted    {results / 'planted/table.md'}"]
    assert "Job stats" in (results / "workflow.log").read_text()


@pytest.mark.whole("a workflow of Snakemake")
def test_a_workflow_that_fails_names_its_runs_and_its_log(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduce, "ATTEST", ("false",))
    assert main(words(tmp_path)) == 1
    printed = capsys.readouterr()
    assert "0 runs done in " in printed.out
    assert printed.err.count("not there: ") == 2
    assert str(tmp_path / "results/workflow.log") in printed.err
    assert written(tmp_path)["seeds"].tolist() == [0, 0]


def _stop_after_the_first_run(folder: Path) -> tuple[RunFolder, int]:
    """The run that was finished by then, and when its checkpoint was written."""
    started = subprocess.Popen([*attest_command(), *words(folder)], cwd=folder, env=_with_path())
    finished = wait_until(lambda: list(folder.glob("runs/*/*/*/summary.json")), started)
    started.send_signal(signal.SIGTERM)
    assert started.wait(120) == 143
    assert not (folder / "results/planted/table.csv").exists()
    run = RunFolder(finished[0].parent)
    return run, run.best.stat().st_mtime_ns


def _with_path() -> dict[str, str]:
    here = str(Path(__file__).parents[3])
    return fresh_shell() | {"PYTHONPATH": os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])}


def test_what_is_typed_becomes_a_request(monkeypatch):
    monkeypatch.setattr("attest.core.memory.cores", lambda: 8)
    request = parse_request(["TABLE=jw-2,me-6", "DATA=sst,imdb", "SMOKE=1", "JOBS=4", "LOGGER=csv", "--trainer.devices=1"])
    assert [file.stem for file in request.tables] == ["jw-2", "me-6"]
    assert (request.corpora, request.suffix) == (("sst", "imdb"), "-sst-imdb")
    assert (request.seeds, request.jobs, request.run, request.dry) == (1, 4, True, False)
    ours = "--run.processes=2", "LOGGER=csv", "--trainer.devices=1", "CUT=smoke", "--run.root=runs/smoke"
    assert request.options == ours, "four runs at once share eight cores"
    assert request.settings == ["--trainer.devices=1", "CUT=smoke"]
    assert request.results == Path("results/smoke")
    assert parse_request(["TABLE=jw-2", "SMOKE=1", "SEEDS=2"]).seeds == 2
    chosen = parse_request(["TABLE=me-2", "MODEL=bilstm", "PROJECTION=softmax,sparsemax", "LOGGER=csv"])
    assert chosen.selected == {"MODEL": ("bilstm",), "PROJECTION": ("softmax", "sparsemax")}
    assert chosen.options == ("--run.processes=8", "LOGGER=csv", "--run.root=runs"), "what selects rows is no option"
    assert parse_request(["TABLE=jw-2"]).seeds == 3
    command = command_of(request)
    assert "--cores=4" in command
    assert "--resources=gpu=0" in command


def test_smoke_shortens_sweeps_but_those_of_a_choice_that_is_typed():
    adversaries = "TABLE=wp-fig5", "DATA=20news", "SMOKE=1"
    planned = [_plan(parse_request([*adversaries, *typed])).jobs for typed in ((), ("LAMBDA=0.01",))]
    assert [len(jobs) for jobs in planned] == [1 + 3, 1 + 1]
    assert any("LAMBDA=0.01" in job.command for job in planned[1].values())


def test_a_profile_leaves_the_number_of_jobs_to_the_cluster():
    request = parse_request(["TABLE=jw-2", "PROFILE=slurm"])
    assert request.options == ("--run.root=runs",), "each job has a machine of its own"
    command = command_of(request)
    assert any(word.startswith("--workflow-profile=") and word.endswith("profiles/slurm") for word in command)
    assert not any(word.startswith("--cores") for word in command)


@pytest.mark.parametrize(
    "typed",
    [
        [],
        ["TABLE=jw2"],
        ["TABLE=all,jw-2"],
        ["TABLE=jw-2", "SEEDS=0"],
        ["TABLE=jw-2", "SEED=1"],
        ["TABLE=jw-2", "SMOKE=yes"],
    ],
)
def test_a_mistyped_word_says_what_was_expected(typed, refusal):
    with refusal():
        parse_request(typed)


def test_without_a_word_it_says_what_to_type(capsys):
    assert main(["reproduce"]) == 2
    assert "attest reproduce lacks TABLE=" in capsys.readouterr().err


def test_an_unknown_profile_names_those_there_are(refusal):
    with refusal():
        command_of(parse_request(["TABLE=jw-2", "PROFILE=slrum"]))


def test_a_failure_is_named_with_its_last_words(tmp_path):
    (tmp_path / "reproduce.log").write_text("Training\nattest: the disk is full\n")
    said = _failure(Job(tmp_path, ("fit", "DATA=sst", "PROJECTION=sparsegen:0.5")))
    assert f"not there: {tmp_path}  (attest fit DATA=sst PROJECTION=sparsegen:0.5)" in said
    assert said.endswith("attest: the disk is full")


@pytest.mark.corpora
def test_a_table_of_dependent_runs_on_a_tiny_cut_of_a_real_corpus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduce, "ATTEST", attest_command())
    table = tmp_path / "results/smoke/wp-3-sst/table.csv"
    command = ["reproduce", "TABLE=wp-3", "DATA=sst", "SMOKE=1", "SEEDS=1", "LOGGER=csv", *without("E2", "E8", *EXPENSIVE)]
    assert main([*command, "JOBS=2"]) == 0
    rows = pd.read_csv(table)
    assert set(rows["row"]) == {"uniform", "learned with it", "base model's", "adversary's"}
    assert (rows["seeds"] == 1).all()
    assert {path.name for path in tmp_path.glob("runs/smoke/sst/*/seed0/guides/*")} == {"base", "unfrozen-kl-0.001"}
    epochs = {file.parent: len(read_json(file)) for file in tmp_path.rglob("curves.json")}
    assert set(epochs.values()) == {1}, f"the cut ends dependent runs too: {epochs}"

    (guide,) = tmp_path.glob("runs/smoke/sst/*/seed0/guides/unfrozen-kl-0.001")
    shutil.rmtree(guide)
    assert main([*command, "RUN=0"]) == 0
    assert pd.read_csv(table).query('row == "adversary\'s"')["seeds"].isin([0]).all(), "written without it"
    assert main(command) == 0, "and run all the same"
    assert pd.read_csv(table).equals(rows)
