"""One forward pass, observed: what every experiment on a batch starts from.

Legend: B batch, T tokens, E embedding, H hidden, C logits, K classes, D draws.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor, nn

from attest.measures import probabilities


class Network(Protocol):
    """The seam: whatever offers these four steps can be put on trial.

    A network may also offer ``token_logits(hidden) -> (B, T, C)`` if ``decode`` is linear in the weights; counterfactuals
    then cost O(T C) instead of O(T H).
    """

    def encode(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """``(B, T)``, ``(B, T)`` -> hidden states ``(B, T, H)``."""

    def score(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """``(B, T, H)``, ``(B, T)`` -> scores ``(B, T)``."""

    def project(self, scores: Tensor, mask: Tensor) -> Tensor:
        """``(B, T)``, ``(B, T)`` -> attention ``(B, T)``."""

    def decode(self, hidden: Tensor, weights: Tensor) -> Tensor:
        """``(B, T, H)``, ``(B, T)`` -> logits ``(B, C)``."""


@dataclass(frozen=True)
class Observation:
    """A batch as the network saw it, with the autograd graph from the embedded input onwards.

    Built once a batch and shared by all experiments, which must not backpropagate without ``retain_graph``.
    """

    network: Network
    ids: Tensor
    """int64 ``(B,)``: identities of the instances."""
    tokens: Tensor
    """int64 ``(B, T)``."""
    mask: Tensor
    """bool ``(B, T)``: True at real tokens, which come first in each row."""
    embedded: Tensor
    """float ``(B, T, E)``: the embedded input, a leaf of the graph."""
    hidden: Tensor
    """float ``(B, T, H)``, in the graph."""
    scores: Tensor
    """float ``(B, T)``, in the graph."""
    weights: Tensor
    """float ``(B, T)``, in the graph: the attention on trial."""
    logits: Tensor
    """float ``(B, C)``, in the graph."""

    @cached_property
    def attention(self) -> Tensor:
        """``weights`` without the graph, ``(B, T)``."""
        return self.weights.detach()

    @cached_property
    def probabilities(self) -> Tensor:
        """Predicted class probabilities without the graph, ``(B, K)``."""
        return probabilities(self.logits.detach())

    @cached_property
    def predicted(self) -> Tensor:
        """Predicted classes, int64 ``(B,)``; a tie goes to the lower class."""
        return self.probabilities.argmax(dim=-1)

    @torch.no_grad()
    def probabilities_under(self, weights: Tensor) -> Tensor:
        """Class probabilities had the attention been another one, hidden states unchanged.

        Args:
            weights: ``(B, T)`` or ``(B, D, T)``; rows sum to 1.
        Returns:
            ``(B, K)`` or ``(B, D, K)``.
        """
        if self._token_logits is not None:
            logits = weights @ self._token_logits if weights.ndim == 3 else (weights.unsqueeze(1) @ self._token_logits)[:, 0]
        elif weights.ndim == 3:
            logits = torch.stack([self.network.decode(self.hidden, draw) for draw in weights.unbind(dim=1)], dim=1)
        else:
            logits = self.network.decode(self.hidden, weights)
        return probabilities(logits)

    @cached_property
    def _token_logits(self) -> Tensor | None:
        token_logits = getattr(self.network, "token_logits", None)
        return None if token_logits is None else token_logits(self.hidden.detach())


def observe(network: Network, ids: Tensor, tokens: Tensor, mask: Tensor) -> Observation:
    """Run a network once, keeping every named step and the graph from the embedded input onwards.

    Args:
        network: any ``nn.Module`` that offers the seam, in evaluation mode.
        ids, tokens, mask: as in ``Observation``.
    Raises:
        ValueError: the network looks its tokens up in no ``nn.Embedding``, or in more than one.
    """
    # cuDNN refuses the backward pass of a recurrent network in evaluation mode; its native kernels do not.
    with torch.inference_mode(False), torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        with _embedded_inputs(network, tokens) as embedded:
            hidden = network.encode(tokens, mask)
        if len(embedded) != 1:
            raise ValueError(
                f"{type(network).__name__}.encode looked its tokens up in {len(embedded)} nn.Embedding layers, expected exactly "
                "one: gradients with respect to the input need one embedded input."
            )
        scores = network.score(hidden, mask)
        weights = network.project(scores, mask)
        logits = network.decode(hidden, weights)
    return Observation(network, ids, tokens, mask, embedded[0], hidden, scores, weights, logits)


@contextmanager
def _embedded_inputs(network: nn.Module, tokens: Tensor) -> Iterator[list[Tensor]]:
    """Make the output of every token lookup a leaf that requires grad, and collect these leaves."""
    leaves: list[Tensor] = []

    def cut(_module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> Tensor | None:
        if inputs[0].shape != tokens.shape:  # a lookup of something else: positions, say
            return None
        leaves.append(output.detach().requires_grad_())
        return leaves[-1]

    hooks = [module.register_forward_hook(cut) for module in network.modules() if isinstance(module, nn.Embedding)]
    try:
        yield leaves
    finally:
        for hook in hooks:
            hook.remove()
