"""Every experiment on every kind of model runs on an accelerator as on the CPU, and within a budget.

The accelerator is the fake one of ``tests/fake_device.py``: nothing may mix devices, numbers are those of the CPU, and what an
experiment launches, reads and uploads for a batch of four texts is counted. ``on_a_device.yaml`` has the budget of each; an
experiment that is new in the registry is tried by itself, and needs a line there. ``python -m benchmarks.launches`` counts
larger batches, and prints the lines that launch most.

*Launches* are what the CPU's operations would be, one kernel each. That is too much where an accelerator has one kernel for
several: a recurrent layer is some operations for each token here, and one call of cuDNN there. So *fused* counts each pass
through such a layer, forwards or backwards, as one. It is too little in turn where cuDNN is turned off because it refuses
gradients in evaluation mode (``observe``, gradients): there an accelerator launches some kernels for each token.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest
import torch
import yaml
from torch import nn

import attest
from attest.core import kinds
from attest.experiments.erasure import Background
from attest.experiments.layers import LayerObservation, head_means, observe_layers, read_from_layers
from attest.experiments.registry import OF_TAGS, ConfiguredExperiment, Context, askable
from attest.models.inputs import Inputs
from attest.models.networks import TransformerClassifier, TransformerTagger
from attest.models.observation import Observation, observe
from tests.experiments.networks import VOCABULARY, DeepDecoder, pooling_classifier, ragged_batch
from tests.fake_device import DEVICE, FakeDevice, fake_device

CLOSE = 5e-6
"""The largest difference from the CPU, absolute for numbers of order 1."""
BUDGET = Path(__file__).with_name("on_a_device.yaml")
ROOM = 1.1
"""How many times its budget of launches an experiment may need, since versions of PyTorch cut operations into other kernels.
Reads and uploads are exact, except for E19: how often it reads depends on last digits."""
LEAST = 0.7
"""What needs a smaller share of its budget gets a smaller budget, so that it stays as cheap as it became."""
LENGTHS = [9, 1, 12, 6]
SETTINGS: dict[str, dict[str, Any]] = {
    "E2": {"permutations": 3},
    "E3": {"restarts": 2, "steps": 3},
    "E9": {"draws": 2},
    "E14": {"texts": 3, "sets": 2},
    "E15": {"texts": 3, "sets": 2},
}
"""Settings that cost little; all others are those of the experiments."""


def transformer(outputs: int = 1) -> nn.Module:
    return spread(TransformerClassifier(VOCABULARY, outputs, size=16, layers=2, heads=2, feedforward_size=16))


def tagger() -> nn.Module:
    return spread(TransformerTagger(VOCABULARY, 3, size=16, layers=2, heads=2, feedforward_size=16, embedding_size=None))


def spread(network: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=0.4)
    return network.eval()


def pretrained(name: str, **options: Any) -> nn.Module:
    """Somebody's model, in double precision: PyTorch computes its attention by other kernels on each device."""
    from attest.models.pretrained.network import PretrainedNetwork
    from tests.models.pretrained.tiny import tiny

    return PretrainedNetwork(tiny(name, vocab_size=VOCABULARY, **options).double(), 0)


def prompted() -> nn.Module:
    from attest.models.pretrained.prompted import PromptedNetwork
    from tests.models.pretrained.tiny import tiny

    return PromptedNetwork(tiny("llama", speaks=True, vocab_size=VOCABULARY).double(), 0, [4, 9, 7])


class Kind(NamedTuple):
    """A kind of model, as ``askable`` knows it."""

    make: Callable[[], nn.Module]
    inside: bool = True
    decides: kinds.Kind = kinds.CLASSES

    @property
    def experiments(self) -> dict[str, ConfiguredExperiment]:
        return askable(self.inside, self.decides)


OURS = {
    "pooled": Kind(lambda: pooling_classifier(dtype=torch.float32), inside=False),
    "layers": Kind(transformer),
    "tagger": Kind(tagger, decides=kinds.TAGS),
}
THEIRS = {
    "pooled, four steps": Kind(lambda: DeepDecoder(pooling_classifier(3, dtype=torch.float32)).eval(), inside=False),
    "encoder": Kind(lambda: pretrained("bert")),
    "decoder": Kind(lambda: pretrained("llama")),
    "prompted": Kind(prompted),
    "number": Kind(lambda: pretrained("bert", num_labels=1), decides=kinds.NUMBER),
    "subword tagger": Kind(lambda: pretrained("bert", tokens=True), decides=kinds.TAGS),
}
KINDS = OURS | THEIRS
OTHERS = pytest.mark.whole("models of other people, with each experiment")
MANY = pytest.mark.whole("a text is read in hundreds of variants")


def marks(kind: str, name: str) -> Any:
    """The tagger is the smallest of our networks, and so tries what reads most in the quick tests, too."""
    if kind in THEIRS:
        return OTHERS
    return MANY if name in ("E14", "E19") and kind != "tagger" else ()


CASES = [
    pytest.param(kind, name, id=f"{kind}-{name}", marks=marks(kind, name))
    for kind, of in KINDS.items()
    for name in of.experiments
]


def observed(
    kind: Kind, network: nn.Module, device: Any, lengths: list[int] = LENGTHS
) -> tuple[Observation | None, LayerObservation | None, Context]:
    """Observe texts on a device, as a trial does."""
    ids, tokens, mask = (each.to(device) for each in ragged_batch(lengths))
    pooled = layers = means = None
    if kind.decides == kinds.TAGS:
        with torch.no_grad():
            layers = observe_layers(network, ids, tokens, mask, labels=(tokens % 3).masked_fill(~mask, -100))
    else:
        pooled = observe(network, ids, tokens, mask)
    if pooled is not None and kind.inside:
        with torch.no_grad():
            layers = observe_layers(network, ids, tokens, mask, special=pooled.spared)
        pooled = pooled.explained_by(read_from_layers(pooled, layers.attention))
    if layers is not None and getattr(network, "shows_outputs", True):
        means = head_means(network, [Inputs(tokens, mask)])
    labels = layers.labels if kind.decides == kinds.TAGS else pooled.predicted
    drawn = Background.of([torch.arange(2, 12), torch.arange(7, 30)]).to(device)
    return pooled, layers, Context(labels, ids, seed=0, background=drawn, head_means=means)


def measured(kind: Kind, network: nn.Module, name: str, counts: FakeDevice | None = None) -> dict[str, torch.Tensor]:
    """Return the columns of an experiment, on the fake device if its counts are given."""
    pooled, layers, context = observed(kind, network, "cpu" if counts is None else DEVICE)
    if counts is not None:
        counts.forget()
    experiment = kind.experiments[name]
    asked = replace(experiment, settings=SETTINGS.get(name, {}))
    return asked(layers if asked.inside else pooled, context)


def counts_of(device: FakeDevice) -> dict[str, int]:
    """Return what was counted; with passes through recurrent layers as one kernel each, too, where there were such passes."""
    fused = {"fused": device.fused} if device.fused < device.launches else {}
    return {"launches": device.launches, **fused, "syncs": device.syncs.total(), "uploads": device.uploads.total()}


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_an_experiment_runs_on_a_device_as_on_the_cpu_within_its_budget(kind, name):
    of = KINDS[kind]
    network = of.make()
    if of.inside and name in OF_TAGS and not OF_TAGS[name].suits(network):
        pytest.skip(f"{name} does not suit this model")
    expected = measured(of, network, name)
    with fake_device() as device:
        found = measured(of, of.make().to(DEVICE), name, device)
        counted = counts_of(device)
        found = {column: values.detach().cpu() for column, values in found.items()}
    assert found.keys() == expected.keys()
    for column, values in expected.items():
        torch.testing.assert_close(
            found[column], values.detach(), atol=CLOSE, rtol=CLOSE, equal_nan=True, msg=lambda m, c=column: f"{c}: {m}"
        )
    require_within(kind, name, counted, device)


@pytest.mark.parametrize("kind", ["pooled", pytest.param("encoder", marks=OTHERS)])
def test_a_trial_on_a_device_has_the_tables_of_the_cpu(kind):
    """Through the seam of ``attest.trial``, from batches to tables."""
    ids, tokens, mask = ragged_batch(LENGTHS)
    batches = [{"id": ids, "token_ids": tokens, "mask": mask, "label": ids % 2}]
    asked = {name: SETTINGS[name] for name in ("E2", "E3")}

    def tables(network: nn.Module) -> dict[str, Any]:
        trial = attest.trial(network, batches, asked, progress=False)
        return {name: trial.table(name) for name in ("instances", *asked)}

    expected = tables(KINDS[kind].make())
    with fake_device():
        found = tables(KINDS[kind].make().to(DEVICE))
    for name, table in expected.items():
        pd.testing.assert_frame_equal(found[name], table, rtol=CLOSE, atol=CLOSE)


def require_within(kind: str, name: str, counted: dict[str, int], device: FakeDevice) -> None:
    """Compare the counts of an experiment with its budget, and say what to do."""
    line = f"  {name}: {{{', '.join(f'{what}: {count}' for what, count in counted.items())}}}"
    allowed = yaml.safe_load(BUDGET.read_text(encoding="utf-8")).get(kind, {}).get(name)
    assert allowed is not None, f"{name} on {kind} has no budget. Write into {BUDGET.name}, below “{kind}”:\n{line}"
    room = {what: ROOM if what in ("launches", "fused") or name == "E19" else 1.0 for what in counted}
    over = {what: count for what, count in counted.items() if count > room[what] * allowed.get(what, 0)}
    where = "\n".join(f"{count:6} × {line}" for line, count in [*device.syncs.most_common(5), *device.uploads.most_common(3)])
    assert not over, (
        f"{name} on {kind} costs more on an accelerator than before: {over}, allowed are {allowed}. The CPU waits at each "
        "read (.item(), .tolist(), nonzero, a bool of a tensor), so read once a batch, and launch for all texts at once. Most "
        f"are at:\n{where}\nIf the change is worth its price, write into {BUDGET.name}, below “{kind}”:\n{line}"
    )
    under = {what: count for what, count in counted.items() if count < LEAST * allowed.get(what, 0)}
    assert not under, f"{name} on {kind} has become cheaper: {under}. To keep it so, write into {BUDGET.name}:\n{line}"
