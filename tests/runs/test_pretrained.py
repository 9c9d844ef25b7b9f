"""Fine-tuning a tiny pretrained model by the command that trains everything: evidence, resuming, processes."""

import shutil
import subprocess

import pandas as pd
import pytest
import torch

pytest.importorskip("transformers", reason="needs the extra transformers")

import attest
from attest.cli.main import main
from attest.lightning_modules import Classifier
from attest.runs.folder import RunFolder, read_json
from tests.conftest import fresh_shell, only_folder, without
from tests.forking import attest_command
from tests.pretrained.tiny import pretrained_folder
from tests.runs.test_parallel import copy_without_evidence, side_by_side

PLANTED = (
    *("DATA=planted", "MODEL=pretrained", "LOGGER=csv", "--data.init_args.rule=token"),
    *("--data.init_args.train_texts=96", "--data.init_args.validation_texts=32", "--data.init_args.test_texts=21"),
    *("--trainer.enable_progress_bar=false", "--run.processes=1", "--run.checkpoint_every_n_batches=1"),
    *("--trainer.max_epochs=2", "--model.init_args.learning_rate_scale=20"),
)
WORDS = ("the", "a", "film", "was", "brilliant", "awful", "audience", "director", ".")


@pytest.fixture(scope="module")
def command(tmp_path_factory) -> list[str]:
    """Six batches of training on texts that are cut into the model's own subwords."""
    base = pretrained_folder(tmp_path_factory.mktemp("pretrained"), WORDS)
    return ["fit", *PLANTED, f"--model.init_args.pretrained={base}"]


@pytest.fixture(scope="module")
def run(command, tmp_path_factory) -> RunFolder:
    """Finished, with evidence of a few experiments; read it, do not change it."""
    root = tmp_path_factory.mktemp("runs")
    few = without("E1", "E3", "E13", "E14", "E15", "maps")
    assert main([*command, *few, f"--run.root={root}"]) == 0
    return only_folder(root)


def test_evidence_is_gathered_in_every_layer_and_over_subwords(run):
    assert run.path.parent.name.startswith("fine-tune-pretrained-none-softmax-")
    for experiment in ("E2", "E8", "E9"):
        table = pd.read_parquet(run.evidence(experiment))
        assert len(table) == 21
        assert {name.rpartition("_layer")[2] for name in table if "_layer" in name} == {"1", "2"}
    tokens = pd.read_parquet(run.evidence("instances"))["tokens"]
    assert all((text[0], text[-1]) == ("[CLS]", "[SEP]") for text in tokens)
    assert any(token.startswith("##") for text in tokens for token in text)
    assert "[CLS]" in run.report.read_text()


def test_the_rate_has_fallen_to_zero_when_training_ends(run):
    (schedule,) = torch.load(run.last, weights_only=True)["lr_schedulers"]
    assert schedule["last_epoch"] == schedule["steps"] > 0
    assert schedule["_last_lr"] == [0.0, 0.0]


def test_a_trained_run_is_opened_and_reads_new_texts(run):
    explained = attest.open_run(run.path).explain("a brilliant film")
    assert list(explained.tokens) == ["[CLS]", "a", "brilliant", "film", "[SEP]"]


def test_a_stopped_run_ends_as_if_undisturbed(run, command, tmp_path, monkeypatch):
    """Dropout and the falling rate of learning included; stopped in the middle of the second epoch."""
    step = Classifier.training_step

    def until_the_fifth(module, batch, batch_idx):
        if module.global_step == 4:
            raise KeyboardInterrupt
        return step(module, batch, batch_idx)

    options = [*command, *without("E1", "E3", "E13", "E14", "E15", "maps"), f"--run.root={tmp_path}"]
    with monkeypatch.context() as patch:
        patch.setattr(Classifier, "training_step", until_the_fifth)
        assert main(options) != 0
    stopped = only_folder(tmp_path)
    assert not stopped.trained
    assert main(options) == 0
    for checkpoint in ("best", "last"):
        ours, theirs = (torch.load(getattr(f, checkpoint), weights_only=True)["state_dict"] for f in (stopped, run))
        assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert stopped.summary.read_bytes() == run.summary.read_bytes()


@pytest.mark.slow
def test_two_processes_train_and_gather_the_same_evidence(run, command, tmp_path):
    """Training on two is another training; evidence of one model is the same on any number."""
    few = without("E1", "E3", "E13", "E14", "E15", "maps")

    def fitted(root):
        options = [*command, *few, *side_by_side(2), f"--run.root={root}"]
        subprocess.run([*attest_command(), *options], check=True, env=fresh_shell(), timeout=300)
        return only_folder(root)

    trained = fitted(tmp_path / "trained")
    ours, alone = (torch.load(each.best, weights_only=True)["state_dict"] for each in (trained, run))
    assert any(not torch.equal(ours[name], alone[name]) for name in alone)
    assert read_json(trained.timing)["environment"]
    copy = copy_without_evidence(run, tmp_path / "shared")
    fitted(tmp_path / "shared")
    for experiment in ("instances", "E2", "E8", "E9"):
        assert copy.evidence(experiment).read_bytes() == run.evidence(experiment).read_bytes()
    assert copy.summary.read_bytes() == run.summary.read_bytes()
    shutil.rmtree(tmp_path / "trained")


def test_without_a_model_to_start_from_it_says_what_to_type(tmp_path, capsys):
    assert main(["fit", *PLANTED, f"--run.root={tmp_path}"]) == 2
    assert 'Type make train DATA=sst MODEL=pretrained ARGS="--model.init_args.pretrained=' in capsys.readouterr().err


def test_a_projection_that_it_was_not_trained_with_is_refused(command, tmp_path, capsys):
    assert main([*command, "PROJECTION=sparsemax", f"--run.root={tmp_path}"]) == 2
    assert "has learned to attend by a softmax; expected PROJECTION=softmax" in capsys.readouterr().err
