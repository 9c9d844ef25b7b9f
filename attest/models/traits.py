"""What a network says of itself by attributes of its class: where it has attention, and what can be seen or changed in it.

Everybody's networks may leave out each of these attributes; ``traits_of`` is the one place that knows what follows then.
"""

from dataclasses import dataclass, fields
from typing import Any

from torch import nn


@dataclass(frozen=True)
class Traits:
    """The traits of a network, with the values of a network that says nothing: it pools tokens by attention.

    Args:
        pools_by_attention: whether attention weights pool the tokens of a text, as opposed to attention inside layers alone.
        attends_within: whether tokens attend to one another in the network or in an encoder inside it.
        attends_everywhere: whether tokens attend to later ones, too, which a decoder never does.
        looks_back: whether it decides at the last token, which attends to all earlier ones.
        moves_keys: whether attention keys can be moved from token to token.
        shows_values: whether the values of attention can be read.
        shows_outputs: whether the outputs of attention heads can be replaced.
        crosses: whether a decoder attends to the tokens of an encoder, and the explanation is this cross-attention.
        reads_in_decode: whether it finishes reading in ``decode``: ``encode`` returns embeddings, and ``decode`` the rest.
        reads_questions: whether it reads a question beside each text.
        among_candidates: whether it chooses among the answers that a passage names.
        holds_a_model: whether it wraps a Transformer of somebody else, its attribute ``model``.
        goes_on: whether it can continue a forward pass from the layer where an intervention begins.
        reads_beside: the names of the columns that it reads beside token ids and mask, as in ``Inputs``.
    """

    pools_by_attention: bool = True
    attends_within: bool = False
    attends_everywhere: bool = True
    looks_back: bool = False
    moves_keys: bool = True
    shows_values: bool = True
    shows_outputs: bool = True
    crosses: bool = False
    reads_in_decode: bool = False
    reads_questions: bool = False
    among_candidates: bool = False
    holds_a_model: bool = False
    goes_on: bool = False
    reads_beside: tuple[str, ...] = ()


def network_in(model: Any) -> nn.Module | None:
    """Return the ``network`` inside a LightningModule such as those of Attest; None if there is none."""
    inner = getattr(model, "network", None)
    return inner if isinstance(inner, nn.Module) else None


def traits_of(network: Any) -> Traits:
    """Return the traits of a network.

    >>> from torch import nn
    >>> traits_of(nn.Linear(2, 2)).pools_by_attention
    True
    """
    names = (each.name for each in fields(Traits))
    return Traits(**{name: type(getattr(Traits, name))(getattr(network, name)) for name in names if hasattr(network, name)})
