"""The network of a base run, which later runs read but never change.

Legend: B batch, T tokens, N heads, C logits.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from attest.core.attention.interventions import recorded
from attest.core.errors import AttestError
from attest.core.spelled import spelled
from attest.lightning_modules.classifier import attended
from attest.lightning_modules.text_module import Batch, TextModule

MakeNetwork = Callable[[int, int], nn.Module]


class ReferenceOutput(NamedTuple):
    """The output of the base run's network on a batch, without a gradient graph."""

    logits: Tensor
    """float ``(B, C)``: the logits of each text; for a tagger ``(B, T, K)``, the logits of K tags for each token."""
    weights: dict[str, Tensor]
    """The attention weights, by the name of the layer: ``(B, T)`` for attention that pools the tokens, ``(B, N, T, T)`` for N
    heads inside a Transformer."""


class BaseNetwork:
    """The network of a base run, hidden from ``nn.Module`` so that it is neither trained nor saved."""

    def __init__(self, network: nn.Module) -> None:
        self.network = network.eval().requires_grad_(False)
        self.loaded = False

    @torch.no_grad()
    def reference(self, batch: Batch) -> ReferenceOutput:
        """Return the attention and the predictions of the base run's network for a batch."""
        if not self.loaded:
            raise AttestError(
                "this run needs the network of its base run, and this network is not loaded; expected a command that loads "
                f"it. Type {spelled('adversarial')} or {spelled('controls')}."
            )
        self.network.to(batch["mask"].device)
        with recorded(self.network, "weights") as weights:
            logits = self.network(batch["token_ids"], attended(batch))
        return ReferenceOutput(logits, dict(weights))


class DependentModule(TextModule):
    """A mixin for classifiers and taggers that are trained with the help of a base run's network."""

    trains_by_forward = False

    def __init__(self, base_network: MakeNetwork, **options: Any) -> None:
        super().__init__(**options)
        self.base = BaseNetwork(base_network(self.vocab_size, self.outputs))

    def take_base(self, state: dict[str, Tensor]) -> None:
        """Load the parameters of the base run into the network ``self.base``."""
        self.base.network.load_state_dict(state)
        self.base.loaded = True
