"""Every LightningModule of ours trains on two devices, whatever strategy Lightning chooses for them."""

import subprocess
from pathlib import Path

import pytest
from pytorch_lightning import Trainer

from attest.app.cli.main import main
from attest.app.configured import _strategy_for
from attest.core.attention import Last, Softmax, Uniform
from attest.lightning_modules import Classifier
from attest.models.networks import BiLSTM, PoolingClassifier
from tests.conftest import fresh_shell
from tests.finished_runs import CONTROLS, FEW, KEYS, LIGHT, PRETRAINED, PRETRAINED_TAGGER, QUESTIONS, reviews, tagged, without
from tests.forking import attest_command

TWO = ("--trainer.devices=2", "--trainer.accelerator=cpu")
ONE_EPOCH = "--trainer.max_epochs=1"
LITTLE = (*LIGHT, *without("E2"), ONE_EPOCH)
TAGGER = ("MODEL=tagger", "DATA=files", "LOGGER=csv", *without("E3"), "--trainer.enable_progress_bar=false", ONE_EPOCH)


def sentences(folder: Path) -> tuple[str, ...]:
    return tagged(folder)[1:]


TRAINED = {
    "Classifier": (("fit", *LITTLE), None),
    "Classifier under uniform attention": (("fit", *LITTLE, "PROJECTION=uniform"), None),
    "Classifier without attention": (("fit", *LITTLE, "MODEL=average"), None),
    "Classifier of questions": (("fit", *QUESTIONS, "EXPERIMENTS=none", ONE_EPOCH), None),
    "GuidedClassifier": (CONTROLS, None),
    "TrainedAdversary": (("adversarial", *LITTLE, "LAMBDA=0.1", "--", ONE_EPOCH), None),
    "KeyAdversary": (KEYS, None),
    "Retrained": (("roar", *LITTLE, "STEPS=2", "READING=attention"), None),
    "Tagger": (("fit", *TAGGER), sentences),
    "TaggingAdversary": (("adversarial", *TAGGER, "LAMBDA=0.1", "--", ONE_EPOCH), sentences),
    "ProbedTagger": (("controls", *TAGGER, "SEEDS=1", "--", ONE_EPOCH), sentences),
    "Classifier that is fine-tuned": (("fit", *PRETRAINED, *FEW, "EXPERIMENTS=none", ONE_EPOCH), reviews),
    "Tagger that is fine-tuned": (("fit", *PRETRAINED_TAGGER, "EXPERIMENTS=none", ONE_EPOCH), tagged),
}


@pytest.mark.whole("real processes side by side")
@pytest.mark.parametrize("module", TRAINED)
def test_it_trains_on_two_devices_without_a_strategy(module, tmp_path):
    command, files = TRAINED[module]
    (tmp_path / "files").mkdir()
    more = files(tmp_path / "files") if files else ()
    own = command.index("--") if "--" in command else len(command)
    typed = [*command[:own], f"--run.root={tmp_path / 'runs'}", *TWO, *more, *command[own:]]
    done = subprocess.run([*attest_command(), *typed], env=fresh_shell(), timeout=600, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert list((tmp_path / "runs").rglob("summary.json"))
    assert done.stdout.count("ROAR:") == (module == "Retrained"), "the first process alone writes the page of several runs"


@pytest.mark.parametrize("strategy", ["ddp_spawn", "ddp_fork", "ddp_spawn_find_unused_parameters_true"])
def test_processes_that_end_with_the_training_are_refused_before_it(strategy, tmp_path, capsys):
    assert main(["fit", *LITTLE, *TWO, f"--trainer.strategy={strategy}", f"--run.root={tmp_path}"]) == 2
    said = capsys.readouterr().err
    assert f"trainer.strategy is {strategy}" in said
    assert "Type --trainer.strategy=ddp" in said
    assert not list(tmp_path.rglob("*.ckpt"))


@pytest.mark.parametrize(
    ("projection", "devices", "typed", "strategy"),
    [
        (Uniform, 2, "auto", "ddp_find_unused_parameters_true"),
        (Uniform, 2, "ddp", "ddp_find_unused_parameters_true"),
        (Uniform, 1, "ddp", "ddp_find_unused_parameters_true"),
        (Uniform, 2, "ddp_find_unused_parameters_true", None),
        (Uniform, 1, "auto", None),
        (Last, 2, "auto", "ddp_find_unused_parameters_true"),
        (Softmax, 2, "auto", None),
    ],
)
def test_idle_parameters_are_expected_wherever_lightning_would_take_plain_ddp(projection, devices, typed, strategy):
    def network(words: int, outputs: int) -> PoolingClassifier:
        return PoolingClassifier(words, outputs, lambda size: BiLSTM(size, 8, 4), projection=projection())

    module = Classifier(network, vocab_size=9, num_classes=2)
    trainer = Trainer(devices=devices, accelerator="cpu", strategy=typed, logger=False, barebones=True)
    assert _strategy_for(module, trainer, typed) == strategy
