"""Compiled training (``run.compile``): the same weights as without, in training steps alone."""

import json
from functools import partial
from typing import Any

import pytest
import torch
from pytorch_lightning import LightningModule, Trainer

from attest.app.cli.main import main
from attest.app.training import compile_training
from attest.core.errors import AttestError
from attest.lightning_modules import KeyAdversary
from attest.models.networks import TransformerClassifier
from tests.lightning_modules.test_training_on_a_device import MODULES, SMALL, WORDS, Texts, made

COMPILE = torch.compile


@pytest.fixture
def without_a_compiler_of_c(monkeypatch):
    """Trace as ``torch.compile`` does, and run what was traced as it is."""
    monkeypatch.setattr(torch, "compile", partial(COMPILE, backend="eager"))


def trained(name: str, *, compiled: bool, **options: Any) -> Any:
    module = made(name)
    if compiled:
        module.compile_training()
    quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_model_summary", "enable_progress_bar"), False)
    Trainer(max_epochs=1, accelerator="cpu", **quiet, **options).fit(module, Texts())
    return module


@pytest.mark.parametrize("name", MODULES)
def test_compiled_steps_make_the_same_weights_and_checkpoints(name, without_a_compiler_of_c):
    plain, compiled = trained(name, compiled=False), trained(name, compiled=True)
    assert {*compiled.state_dict()} == {*plain.state_dict()}
    for ours, other in zip(compiled.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours, other, atol=1e-6, rtol=1e-5)


def test_only_training_steps_are_compiled(monkeypatch):
    """What is compiled gives zeros here, so that it can be told from the network."""
    monkeypatch.setattr(torch, "compile", lambda forward: lambda tokens, mask: 0 * forward(tokens, mask))
    module, tokens = made("pooled"), torch.tensor([[3, 4, 5]])
    module.compile_training()
    assert not module.train()(tokens, tokens > 0).any()
    assert module.eval()(tokens, tokens > 0).all()


def test_a_whole_network_is_one_graph():
    """The masks that projections check on a CPU are not looked at in it, so that it need not stop there."""
    network = TransformerClassifier(WORDS, 1, dropout=0.0, **SMALL)
    whole = COMPILE(network, backend="eager", fullgraph=True)
    tokens = torch.tensor([[3, 4, 5], [6, 7, 0]])
    torch.testing.assert_close(whole(tokens, tokens > 0), network(tokens, tokens > 0))


def test_a_module_whose_steps_tamper_with_attention_is_trained_without(capsys):
    def network(words: int, outputs: int) -> TransformerClassifier:
        return TransformerClassifier(words, outputs, dropout=0.0, **SMALL)

    module = KeyAdversary(network=network, vocab_size=WORDS)
    module.compile_training()
    assert module.compiled is None
    assert capsys.readouterr().out.startswith("KeyAdversary is trained without torch.compile")


def test_a_machine_without_a_compiler_is_refused(monkeypatch):
    def none_found(graph: Any, inputs: Any) -> Any:
        raise RuntimeError("No working C++ compiler found")

    monkeypatch.setattr(torch, "compile", partial(COMPILE, backend=none_found))
    with pytest.raises(AttestError, match=r"compile for the cpu here \(.+No working C\+\+.+ expected a compiler: g\+\+ or"):
        compile_training(made("pooled"), torch.device("cpu"))


def test_a_module_of_ones_own_is_refused(refusal):
    class Own(LightningModule):
        pass

    with refusal():
        compile_training(Own(), torch.device("cpu"))


@pytest.mark.whole("compiles with g++")
def test_a_compiled_run_has_the_name_of_a_plain_one_and_its_scores(tmp_path):
    said = ["CUT=smoke", "MODEL=transformer-me", "EXPERIMENTS=none", "LOGGER=csv"]
    said += ["--model.init_args.network.init_args.encoder.init_args.dropout=0"]
    folders, scores = [], []
    for compiled in ("false", "true"):
        root = tmp_path / compiled
        assert main(["fit", *said, f"--run.compile={compiled}", f"--run.root={root}"]) == 0
        (metrics,) = root.rglob("curves.json")
        folders.append(metrics.relative_to(root))
        scores.append(json.loads(metrics.read_text())[0]["train/loss"])
    assert folders[0] == folders[1]
    assert scores[1] == pytest.approx(scores[0], rel=1e-3)


def test_gradients_of_two_batches_are_added_where_that_is_asked_for():
    """Two batches of four texts and one step make the weights of one batch of eight: the loss is a mean over each batch."""
    two = trained("pooled", compiled=False, accumulate_grad_batches=2)

    class Wide(Texts):
        def train_dataloader(self) -> Any:
            return torch.utils.data.DataLoader(super().train_dataloader().dataset, batch_size=8)

    one = made("pooled")
    quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_model_summary", "enable_progress_bar"), False)
    Trainer(max_epochs=1, accelerator="cpu", **quiet).fit(one, Wide())
    for ours, other in zip(two.parameters(), one.parameters(), strict=True):
        torch.testing.assert_close(ours, other, atol=1e-6, rtol=1e-4)
