"""Trials while the Trainer of transformers trains: logged, shared by processes, and without a trace in the training."""

import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments

import attest
from attest.app.api import hf
from attest.hf import AttentionTrial
from tests.app.api.hf_training import EVALUATED, EXPERIMENTS, LABELS, trained
from tests.conftest import fresh_shell
from tests.models.pretrained.tiny import WORDS

pytestmark = pytest.mark.whole("trainings of transformers")

KEY = "eval_E2/tvd_median/mean"
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("every", "steps", "arguments"),
    [
        ("epoch", [2, 4], {}),
        pytest.param(3, [3], {}, marks=pytest.mark.whole("many trainings")),
        pytest.param("evaluation", [2, 4], {"eval_strategy": "epoch"}, marks=pytest.mark.whole("many trainings")),
    ],
)
def test_evidence_is_logged_and_the_training_is_the_same(every, steps, arguments, tokenizer, tmp_path):
    plain = trained(tokenizer, tmp_path / "plain", **arguments)
    trainer, callback, logs, drawn = trained(tokenizer, tmp_path, every, **arguments)
    assert [step for step, each in logs if KEY in each] == steps
    assert [each["step"] for each in trainer.state.log_history if KEY in each] == steps
    assert [step for step, each in logs if "loss" in each] == [2, 4], "the Trainer's own"
    assert drawn == plain[3]
    for own, other in zip(trainer.model.parameters(), plain[0].model.parameters(), strict=True):
        assert torch.equal(own, other)
    found = [value for step, value in ((step, each[KEY]) for step, each in logs if KEY in each)]
    assert found[-1] == callback.last.summary["E2/tvd_median/mean"]


def test_what_a_model_draws_in_a_trial_is_not_missing_in_the_training(tokenizer, tmp_path, monkeypatch):
    own = hf.trial

    def drawing(*given, **options):
        torch.rand(3), np.random.rand(3), random.random()
        return own(*given, **options)

    plain = trained(tokenizer, tmp_path / "plain")
    monkeypatch.setattr(hf, "trial", drawing)
    trainer, *_, drawn = trained(tokenizer, tmp_path, "epoch")
    assert drawn == plain[3]
    for own_one, other in zip(trainer.model.parameters(), plain[0].model.parameters(), strict=True):
        assert torch.equal(own_one, other)


def test_the_last_trial_is_that_of_the_trained_model(tokenizer, tmp_path):
    trainer, callback, _, _ = trained(tokenizer, tmp_path, "epoch")
    own = attest.trial(trainer.model, EVALUATED, EXPERIMENTS, tokenizer=tokenizer, labels=LABELS, batch_size=2, progress=False)
    for experiment in own.experiments:
        pd.testing.assert_frame_equal(own.table(experiment), callback.last.table(experiment), check_exact=True)


def test_the_model_is_as_it_was_in_the_middle_of_a_step(tokenizer, tmp_path):
    """Its mode, its attention, its gradients and its settings."""
    trainer, callback, _, _ = trained(tokenizer, tmp_path, "epoch")
    model = trainer.model
    model.train()
    model.bert.encoder.layer[0].eval()
    model.set_attn_implementation("sdpa")
    model(torch.tensor([[2, 5, 3]]), labels=torch.tensor([1])).loss.backward()
    model.bert.embeddings.word_embeddings.weight.requires_grad_(False)

    def state():
        modes = [part.training for part in model.modules()]
        gradients = [(each.requires_grad, None if each.grad is None else each.grad.clone()) for each in model.parameters()]
        hooks = [len(part._forward_hooks) + len(part._forward_pre_hooks) for part in model.modules()]
        return modes, gradients, hooks, model.config.to_dict(), model.config._attn_implementation

    before = state()
    trainer.control.should_log = True
    callback.on_epoch_end(trainer.args, trainer.state, trainer.control, model=model)
    after = state()
    assert before[0] == after[0]
    assert before[2:] == after[2:]
    for (asked, gradient), (asked_after, gradient_after) in zip(before[1], after[1], strict=True):
        assert asked == asked_after
        assert (gradient is None) == (gradient_after is None)
        assert gradient is None or torch.equal(gradient, gradient_after)
    assert trainer.control.should_log


@pytest.mark.usefixtures("one_thread")
def test_two_processes_share_the_texts(tokenizer, tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS))
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "0", "--standalone"]
    environment = fresh_shell() | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    script = [*launch, "-m", "tests.app.api.hf_training", str(tmp_path)]
    ended = subprocess.run(script, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    told = json.loads((tmp_path / "told.json").read_text())
    assert (told["world"], told["equal"], told["drawn"]) == (2, True, True)
    assert [step for step, each in told["logs"] if KEY in each] == [1, 2]
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "model")
    alone = attest.trial(model, EVALUATED, EXPERIMENTS, tokenizer=tokenizer, labels=LABELS, batch_size=2, progress=False)
    shared = attest.open_run(tmp_path / "trial")
    for experiment in alone.experiments:
        pd.testing.assert_frame_equal(alone.table(experiment), shared.table(experiment), check_exact=True)


def test_wandb_has_the_evidence(tokenizer, tmp_path, monkeypatch):
    """Offline, in the file of the run that the Trainer began."""
    import wandb

    wandb.teardown()  # else the library keeps the folder of an earlier test of this process
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    trained(tokenizer, tmp_path / "run", "epoch", report_to="wandb")
    assert wandb.run.summary["eval/E2/tvd_median/mean"] >= 0
    wandb.finish()
    assert len([*tmp_path.rglob("*.wandb")]) == 1


def test_tensorboard_has_the_evidence(tokenizer, tmp_path):
    pytest.importorskip("tensorboard", reason="needs the extra tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    trained(tokenizer, tmp_path, "epoch", report_to="tensorboard")
    (folder,) = (tmp_path / "runs").iterdir()
    events = EventAccumulator(str(folder)).Reload()
    assert [event.step for event in events.Scalars("eval/E2/tvd_median/mean")] == [2, 4]


class Spread(Trainer):
    is_fsdp_enabled = True

    def __init__(self):
        pass


@pytest.mark.parametrize(
    "mistake",
    [
        lambda place: Trainer(torch.nn.Linear(2, 2), TrainingArguments(str(place)), callbacks=[AttentionTrial([])]),
        lambda _: AttentionTrial([], every="batch"),
        lambda _: AttentionTrial([]).attach(Spread()),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(mistake, tmp_path, refusal):
    with refusal():
        mistake(tmp_path)
