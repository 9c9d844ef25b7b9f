"""``attest evidence`` on a small run: what is missing is computed, what is there stays, mistakes are named."""

import json
import re
import shutil
from types import SimpleNamespace

import pandas as pd
import pytest
import torch

from attest.app.cli.main import main
from attest.app.evaluating import name_tables
from attest.runs.folder import RunFolder, Stopped
from tests.conftest import without_places

pytestmark = pytest.mark.whole("commands on copies of a run")

SMALL = [
    "DATA=planted",
    "LOGGER=csv",
    "--data.init_args.train_texts=64",
    "--data.init_args.validation_texts=32",
    "--data.init_args.test_texts=32",
    "--trainer.max_epochs=1",
    "--trainer.enable_progress_bar=false",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run trained on 64 texts, with one experiment."""
    root = tmp_path_factory.mktemp("runs")
    experiments = dict.fromkeys(("E1", "E2", "E3", "E8", "E10"))
    nothing = [f"--experiments={json.dumps(experiments | {'instances': {}})}"]
    assert main(["fit", *SMALL, *nothing, f"--run.root={root}"]) == 0
    (config,) = root.rglob("config.yaml")
    return config.parent


def test_missing_evidence_of_a_run_is_computed_and_reported(run, capsys):
    assert main(["evidence", "--run", str(run), "E11", "--trainer.enable_progress_bar=false"]) == 0
    assert "computed" in capsys.readouterr().out
    table = run / "evidence" / "E11.parquet"
    rows, written = pd.read_parquet(table), table.stat().st_mtime_ns
    assert len(rows) == 32
    summary = json.loads((run / "summary.json").read_text())
    assert summary["E11/delta_js/mean"] == pytest.approx(rows["delta_js"].mean())
    assert main(["evidence", "--run", str(run), "e11"]) == 0
    assert "there already" in capsys.readouterr().out
    assert table.stat().st_mtime_ns == written


def test_a_checkpoint_is_put_on_trial_beside_itself(run):
    checkpoint = run / "checkpoints" / "last.ckpt"
    assert main(["evidence", "--ckpt", str(checkpoint), "E2", "--trainer.enable_progress_bar=false"]) == 0
    (folder,) = checkpoint.parent.glob("last-evidence-*")
    assert len(pd.read_parquet(folder / "evidence" / "E2.parquet")) == 32
    assert "E2/tvd_median/mean" in json.loads((folder / "summary.json").read_text())


@pytest.mark.parametrize("typed", ["PROJECTION=sparsemax", "EXPERIMENTS=erasure", "MODEL=cnn"])
def test_a_choice_that_would_change_nothing_is_refused(run, typed, capsys):
    """The configuration of the run decided, and numbers of its softmax were written as if they were of sparsemax."""
    for named in (["--run", str(run)], ["--ckpt", str(run / "checkpoints" / "last.ckpt")]):
        assert main(["evidence", *named, "E11", typed]) == 2
        assert f"{typed} was typed for {run}" in capsys.readouterr().err
    assert main(["evidence", "--run", str(run), "instances", "PROJECTION=softmax"]) == 0


def test_tables_of_other_texts_are_refused(run, tmp_path, capsys):
    """E19 was computed on all texts beside instances of two batches, and the report ended in a traceback."""
    shutil.copytree(run, tmp_path / "run")
    instances = tmp_path / "run" / "evidence" / "instances.parquet"
    rows = pd.read_parquet(instances)
    rows[:10].to_parquet(instances)
    assert main(["evidence", "--run", str(tmp_path / "run"), "E2", "--trainer.enable_progress_bar=false"]) == 2
    said = capsys.readouterr().err
    assert re.search(r"E\d+.parquet has 22 texts that instances.parquet lacks", said)
    assert "FORCE=1" in said


def test_force_computes_evidence_again(run, capsys):
    table = run / "evidence" / "E2.parquet"
    assert main(["evidence", "--run", str(run), "E2"]) == 0
    written = table.stat().st_mtime_ns
    assert main(["evidence", "--run", str(run), "E2", "FORCE=1"]) == 0
    assert table.stat().st_mtime_ns > written
    assert "computed" in capsys.readouterr().out.splitlines()[-1]


def test_another_checkpoint_of_the_same_name_gets_its_own_evidence(run, tmp_path, capsys):
    model = tmp_path / "model.ckpt"
    shutil.copy(run / "checkpoints" / "best.ckpt", model)
    trial = ["evidence", "--ckpt", str(model), *SMALL, "E2"]
    assert main(trial) == 0
    (first,) = tmp_path.glob("model-evidence-*")
    state = torch.load(model, weights_only=True)
    state["state_dict"] = {name: torch.zeros_like(value) for name, value in state["state_dict"].items()}
    torch.save(state, model)
    assert main(trial) == 0
    (second,) = set(tmp_path.glob("model-evidence-*")) - {first}
    moved = [pd.read_parquet(folder / "evidence" / "E2.parquet")["tvd_median"] for folder in (first, second)]
    assert moved[0].max() > moved[1].max() == 0
    assert main([*trial, f"--out={first}"]) == 2
    assert f"{first} contains evidence on another checkpoint" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["E1"], ["--run", "a", "--ckpt", "b.ckpt"], ["--run", "nowhere"], ["--ckpt", "nowhere.ckpt"]]
)
def test_mistakes_are_named(arguments, capsys, snapshot):
    assert main(["evidence", *arguments]) == 2
    assert without_places(capsys.readouterr().err) == snapshot


@pytest.mark.parametrize(
    ("content", "said"),
    [
        *((content, "config.yaml is not the configuration of a run (") for content in ("a: 1", "", "- a")),
        ("[", "config.yaml cannot be read as YAML"),
    ],
)
@pytest.mark.parametrize("command", [["evidence", "E1"], ["explain", "--text=fine"]])
def test_a_folder_whose_configuration_is_none_is_named(content, said, command, tmp_path, capsys):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "best.ckpt").touch()
    (tmp_path / "config.yaml").write_text(content)
    assert main([*command, "--run", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("E99", "The experiment=E99 is not known"),
        ("e99", "The experiment=E99 is not known"),
        ("E4", "Type: attest controls DATA=planted MODEL=bilstm SCORING=additive PROJECTION=softmax"),
        ("e7", "Type: attest adversarial DATA=planted MODEL=bilstm"),
        ("E9", "inside the layers of a Transformer. Type: attest keys DATA=planted MODEL=transformer-dr"),
        ("foo", "foo is not known; expected a choice in capitals"),
    ],
)
def test_an_experiment_that_the_run_cannot_answer_is_named(run, named, said, capsys):
    assert main(["evidence", "--run", str(run), named]) == 2
    assert said in capsys.readouterr().err


def test_evidence_may_go_to_a_folder_here(small_run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["evidence", "--run", str(small_run.path), "E2", "--out=folder", "--run.processes=1"]) == 0
    assert re.search(r"E2 +folder/evidence/E2\.parquet  computed$", capsys.readouterr().out, re.MULTILINE)
    assert pd.read_parquet("folder/evidence/E2.parquet")["id"].tolist() == list(range(77))


def test_evidence_that_stopped_early_says_how_many_texts_it_read(tmp_path, capsys):
    folder = RunFolder(tmp_path)
    found = Stopped(0.02, {"E2/texts_read/count": 500, "E2/texts/count": 1725})
    folder.write_evidence("E2", pd.DataFrame({"id": [0]}), found)
    name_tables(SimpleNamespace(folder=folder, expected_tables=["E2", "E1"]), ["E2", "E1"])
    of_e2, of_e1 = capsys.readouterr().out.splitlines()
    assert of_e2.endswith("E2.parquet  computed, from 500 of 1,725 texts")
    assert of_e1.endswith("E1.parquet  computed")


def test_help_lists_what_may_follow(capsys):
    with pytest.raises(SystemExit):
        main(["evidence", "--help"])
    said = capsys.readouterr().out
    assert "usage: attest evidence (--run=<folder> | --ckpt=<file> [CHOICE=value …]) [options] [E1 E2 …] [FORCE=1]" in said
