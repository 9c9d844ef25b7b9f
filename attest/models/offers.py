"""What a network may offer beside its four steps: methods that experiments use where they are, and the ids of two tokens.

Everybody's networks may leave out each of them; ``offers_of`` is the one place that looks which are there.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any

from torch import Tensor, nn


@dataclass(frozen=True)
class Offers:
    """The optional methods and token ids of a network; None for each that it does not have.

    Args:
        token_logits: ``(hidden) -> (B, T, C)``, if ``decode`` is linear in weights that sum to 1: counterfactual weights then
            cost O(T C) instead of O(T H), and the exact answers of E3 and E12 become possible.
        attention_parameters: ``() -> parameters``: those of ``score`` and ``project``.
        itself: ``(tokens, mask, **given) -> logits``: what a wrapped model says without hook points.
        deciding: ``(mask) -> (B, T)``: how much each token's last hidden state counts in the decision.
        explained: ``(attention, texts, predicted) -> (B, T)``: the attention of all layers as one weight for each token, where
            it is not attention rollout.
        sides: ``(mask) -> rows, columns``: which rows and which columns of the attention of a layer belong to real tokens,
            where these are not the tokens of the text.
        through: ``(layer, hidden, tokens, mask) -> hidden``: the output of one layer of somebody else's model. A network with
            this method also has ``blocks``, the layers at which a pass can start, by name, and ``current``, the pass it is in.
        padding: the token id at padding.
        masked: the token id that replaces an erased token.
    """

    token_logits: Callable[[Tensor], Tensor] | None = None
    attention_parameters: Callable[[], Iterable[nn.Parameter]] | None = None
    itself: Callable[..., Tensor] | None = None
    deciding: Callable[[Tensor], Tensor] | None = None
    explained: Callable[..., Tensor] | None = None
    sides: Callable[[Tensor], tuple[Tensor, Tensor]] | None = None
    through: Callable[..., Tensor] | None = None
    padding: int | None = None
    masked: int | None = None


def offers_of(network: Any) -> Offers:
    """Return what a network offers.

    >>> from torch import nn
    >>> offers_of(nn.Linear(2, 2)) == Offers()
    True
    """
    return Offers(**{each.name: getattr(network, each.name, None) for each in fields(Offers)})
