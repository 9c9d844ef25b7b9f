"""The door: a run from nothing to report, taken up, refused and explained, all in this process."""

import json
import re
import shutil
import subprocess
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import pandas as pd
import pytest
import torch
from torch import nn

from attest.app.cli.main import main
from attest.app.configured import require_same_task
from attest.core.errors import AttestError
from attest.datamodules import BabiDataModule, CnnQaDataModule, PlantedDataModule, TextDataModule
from attest.datamodules.corpus import Documents
from attest.report.summary import VERSION
from attest.runs.belonging import TRAINED_WITH, keep_digests
from attest.runs.folder import TEMPORARY, RunFolder, read_json
from tests.conftest import without_places
from tests.finished_runs import EXPENSIVE, SMALL_RUN, SMALL_TRAINING, only_folder, without


def fit(*arguments: str) -> int:
    return main(["fit", *SMALL_RUN, *arguments])


def copy_of(run: RunFolder, root) -> tuple[RunFolder, str]:
    """The run under another root, and the option that names it."""
    shutil.copytree(run.path.parents[2], root, dirs_exist_ok=True)
    return only_folder(root), f"--run.root={root}"


def written(run: RunFolder) -> dict:
    """When each file was last written, but for W&B's, whose service closes its logs in its own time."""
    return {path: path.stat().st_mtime_ns for path in run.path.rglob("*") if path.is_file() and "wandb" not in path.parts}


def test_a_run_leaves_a_complete_folder(small_run):
    assert small_run.complete(["instances", "E1", "E2", "E8"])
    assert small_run.path.parent.name.startswith("jw-bilstm-additive-softmax-"), "small sizes are not the recipe's: a hash"
    summary = read_json(small_run.summary)
    assert summary["version"] == VERSION
    assert {"test/accuracy", "test/f1", "test/roc_auc", "E1/tau_gradient_inputs/mean", "E2/tvd_median/mean"} <= summary.keys()
    assert [epoch["epoch"] for epoch in read_json(small_run.curves)] == [0, 1]
    assert not list(small_run.path.rglob(f"*{TEMPORARY}")), "no temporary file stays"
    timing = read_json(small_run.timing)
    assert timing["seconds"].keys() >= {"train", "evidence/E1"}
    assert timing["peak_memory"]["resident_mib"] > 100


def test_every_table_has_each_test_instance_once_in_order(small_run):
    for identity in ("instances", "E1", "E2", "E8"):
        rows = pd.read_parquet(small_run.evidence(identity))
        assert rows["id"].tolist() == list(range(77))
    instances = pd.read_parquet(small_run.evidence("instances"))
    for row in instances.itertuples():
        assert len(row.tokens) == len(row.attention) == len(row.rationale) == row.length
        assert sum(row.attention) == pytest.approx(1, abs=1e-5)


def test_the_summary_is_that_of_the_tables(small_run):
    summary = read_json(small_run.summary)
    instances = pd.read_parquet(small_run.evidence("instances"))
    assert summary["test/accuracy"] == pytest.approx((instances["label"] == instances["predicted"]).mean(), abs=1e-6)
    e2 = pd.read_parquet(small_run.evidence("E2"))
    assert summary["E2/tvd_median/mean"] == pytest.approx(e2["tvd_median"].mean(), abs=1e-6)


def test_the_same_command_says_complete_and_changes_nothing(small_run, capsys):
    before = written(small_run)
    assert fit(f"--run.root={small_run.path.parents[2]}") == 0
    assert "complete: " in capsys.readouterr().out
    assert written(small_run) == before


@pytest.mark.whole("commands on copies of a run")
def test_missing_evidence_is_computed_without_training_again(small_run, tmp_path):
    copy, root = copy_of(small_run, tmp_path)
    checkpoint = copy.best.stat().st_mtime_ns
    copy.evidence("E2").unlink()
    copy.summary.unlink()
    assert fit(root) == 0
    assert copy.best.stat().st_mtime_ns == checkpoint
    assert copy.evidence("E2").read_bytes() == small_run.evidence("E2").read_bytes()
    assert copy.summary.read_bytes() == small_run.summary.read_bytes()


@pytest.mark.whole("a training of its own")
def test_force_starts_afresh_and_evidence_while_training_can_be_left_out(small_run, tmp_path):
    """Neither changes anything else."""
    bare, root = copy_of(small_run, tmp_path)
    assert fit(root, "FORCE=1", "--run.evidence_while_training=false") == 0
    assert only_folder(tmp_path).path == bare.path, "it is the same run"
    assert read_json(bare.timing)["wandb_id"] != read_json(small_run.timing)["wandb_id"]
    assert bare.summary.read_bytes() == small_run.summary.read_bytes()
    ours, theirs = (torch.load(run.last, weights_only=True)["state_dict"] for run in (bare, small_run))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    bare_last, last = (read_json(run.curves)[-1].keys() for run in (bare, small_run))
    assert last - bare_last
    assert all("/validation/" in name for name in last - bare_last)


def test_test_and_validate_print_scores_and_write_nothing(small_run, capsys):
    before = written(small_run)
    root = f"--run.root={small_run.path.parents[2]}"
    assert main(["test", *SMALL_RUN, root]) == 0
    assert f"Test:       accuracy {read_json(small_run.summary)['test/accuracy']:.4f}" in capsys.readouterr().out
    assert main(["validate", *SMALL_RUN, root, f"--ckpt_path={small_run.last}"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"Validation: accuracy [\d.]+, F1 [\d.]+, ROC-AUC", said)
    assert "/" not in said.split("Validation:")[1], "no number keeps its key"
    assert written(small_run) == before


def test_a_truncated_checkpoint_is_named(small_run, tmp_path, capsys):
    copy, root = copy_of(small_run, tmp_path)
    copy.curves.unlink()
    copy.last.write_bytes(small_run.last.read_bytes()[:1000])
    assert fit(root) == 2
    said = capsys.readouterr().err
    assert "last.ckpt is damaged and cannot be read" in said
    assert "FORCE=1" in said


def test_the_version_is_told_without_importing_lightning():
    command = (
        "import sys; from attest.app.cli.main import main; main(['--version']); assert not {*sys.modules} & {'torch', 'wandb'}"
    )
    said = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True).stdout
    assert re.fullmatch(r"attest [\d.]+, torch \S+, lightning \S+, python [\d.]+\n", said)


def test_a_folder_of_another_configuration_is_refused(small_run, tmp_path, capsys):
    copy, root = copy_of(small_run, tmp_path)
    copy.config.write_text(copy.config.read_text().replace("embedding_std: 0.1", "embedding_std: 0.2"))
    keep_digests(copy)  # as if it had been trained so
    assert fit(root) == 2
    assert "embedding_std" in capsys.readouterr().err


def test_a_checkpoint_of_another_network_is_no_silent_success(small_run, tmp_path, capsys, snapshot):
    bare = tmp_path / "of an earlier version.ckpt"
    state = torch.load(small_run.best, weights_only=True)
    torch.save({name: value for name, value in state.items() if name != TRAINED_WITH}, bare)
    arguments = ["test", "DATA=planted", "--data.init_args.rule=token", f"--ckpt_path={bare}", "--run.root=nowhere"]
    assert main(arguments) == 2
    assert without_places(capsys.readouterr().err) == snapshot


def test_sparse_attention_is_sparse_all_the_way(tmp_path, capsys):
    typed = ["PROJECTION=sparsemax", "--trainer.max_epochs=1", f"--run.root={tmp_path}", *without(*EXPENSIVE, "E2")]
    assert main(["fit", *SMALL_TRAINING, *typed]) == 0
    folder = only_folder(tmp_path)
    assert "-sparsemax" in folder.path.parent.name
    assert pd.read_parquet(folder.evidence("E8"))["tvd_sparsemax"].max() < 1e-6, "its own projection moves nothing"
    assert "Epoch 1/1: train/loss 0." in capsys.readouterr().out, "a line where there is no bar"


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        ("--config=nowhere.yaml", "nowhere.yaml does not exist; expected a configuration file."),
        ("PROJECTION=softmx", "PROJECTION=softmx is not known; .*PROJECTION=softmax"),
    ],
)
def test_a_mistake_gets_one_sentence_and_leaves_nothing(mistake, sentence, tmp_path, capsys):
    assert fit(mistake, f"--run.root={tmp_path / 'runs'}") == 2
    errors = capsys.readouterr().err
    assert re.search(sentence.replace("?", r"\?"), errors)
    assert errors.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_a_folder_without_the_corpus_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ATTEST_DATA", str(tmp_path))
    assert main(["fit", "DATA=sst", f"--run.root={tmp_path / 'runs'}"]) == 2
    assert "sst/train.parquet" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_checkpoints_hold_nothing_but_plain_data(small_run):
    checkpoint = torch.load(small_run.last, weights_only=True)
    assert checkpoint["epoch"] == 2
    json.dumps(checkpoint["loops"])


def test_vectors_of_another_dimension_are_named_by_the_whole_command(tmp_path, capsys):
    vectors = tmp_path / "tiny.vec"
    vectors.write_text("the 0.1 0.2 0.3\nis 0.3 0.2 0.1\n")
    assert fit(f"--data.init_args.embeddings={vectors}", f"--run.root={tmp_path / 'runs'}") == 2
    errors = capsys.readouterr().err
    assert "vectors have 3 dimensions, and the network's embedding has 16" in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    ("learns", "there", "model"), [("label", "tags", "tagger"), ("tags", "label", "bilstm"), ("label", "label", None)]
)
def test_a_model_of_another_task_than_the_data_is_named(learns, there, model):
    data = TextDataModule()
    data.corpus = SimpleNamespace(train=Documents.of([0], [["a"]], **{there: [[0]]}))
    with pytest.raises(AttestError, match=f"Add MODEL={model} to the command") if model else nullcontext():
        require_same_task(SimpleNamespace(predicts=learns), data)


def test_questions_and_networks_that_read_them_belong_together(refusal):
    reading, other, choosing = (SimpleNamespace(network=nn.Identity()) for _ in range(3))
    reading.network.reads_questions = choosing.network.reads_questions = choosing.network.among_candidates = True
    asked = BabiDataModule(stories="generated", train_questions=60, test_questions=20)
    alone = PlantedDataModule(train_texts=4, validation_texts=2, test_texts=2)
    with refusal():
        require_same_task(other, asked)
    with pytest.raises(AttestError, match=r"have no questions.* Add DATA=babi-generated"):
        require_same_task(reading, alone)
    with refusal():
        require_same_task(choosing, asked)
    naming = CnnQaDataModule()
    with refusal():
        require_same_task(reading, naming)
    require_same_task(choosing, naming)
    require_same_task(reading, asked)
    require_same_task(other, alone)


def test_models_and_data_of_other_people_are_taken():
    require_same_task(SimpleNamespace(), SimpleNamespace())
    require_same_task(SimpleNamespace(predicts="label"), SimpleNamespace(corpus="mine"))


@pytest.mark.parametrize("command", ["fit", "adversarial"])
def test_a_logger_that_is_not_installed_is_missed_with_the_choices(monkeypatch, capsys, command):
    monkeypatch.setattr("attest.runs.choices.find_spec", lambda name: None)
    assert main([command, "DATA=planted", "LOGGER=tensorboard"]) == 2
    assert "pip install '.[tensorboard]' in the folder of the clone" in capsys.readouterr().err
