"""The networks on which experiments are tried and counted on an accelerator, and what they are asked about."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn

from attest.core import kinds
from attest.experiments.erasure import Background
from attest.experiments.layers import LayerObservation, head_means, observe_layers, read_from_layers
from attest.experiments.registry import ConfiguredExperiment, Context, askable
from attest.models.inputs import Inputs
from attest.models.networks import TransformerClassifier, TransformerTagger
from attest.models.observation import Observation, observe
from tests.experiments.networks import VOCABULARY, DeepDecoder, pooling_classifier, ragged_batch

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
    unsuited: tuple[str, ...] = ("E16",)
    """The experiments inside layers that are not for it: E16 asks about decoders alone, and E3 about all other networks."""

    @property
    def experiments(self) -> dict[str, ConfiguredExperiment]:
        known = askable(self.inside, self.decides)
        return {name: each for name, each in known.items() if not self.inside or name not in self.unsuited}


OURS = {
    "pooled": Kind(lambda: pooling_classifier(dtype=torch.float32), inside=False),
    "layers": Kind(transformer),
    "tagger": Kind(tagger, decides=kinds.TAGS),
}
THEIRS = {
    "pooled, four steps": Kind(lambda: DeepDecoder(pooling_classifier(3, dtype=torch.float32)).eval(), inside=False),
    "encoder": Kind(lambda: pretrained("bert")),
    "decoder": Kind(lambda: pretrained("llama"), unsuited=("E3",)),
    "prompted": Kind(prompted, unsuited=("E3",)),
    "number": Kind(lambda: pretrained("bert", num_labels=1), decides=kinds.NUMBER),
    "subword tagger": Kind(lambda: pretrained("bert", tokens=True), decides=kinds.TAGS),
}
KINDS = OURS | THEIRS


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
