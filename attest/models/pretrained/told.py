"""What the configuration of a model of transformers tells of its text part, read in one place.

The library gives each architecture a configuration of its own, so none of these numbers stands in all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Told:
    """What a configuration tells; None for what it leaves out.

    Args:
        max_position_embeddings: the largest number of tokens that have positions, where positions are learned.
        num_hidden_layers: the number of layers.
        layer_types: the kind of each layer, such as ``linear_attention``.
        use_cache: whether a decoder keeps keys and values of a pass.
        pad_token_id, eos_token_id: the ids of the tokens at padding and at the end.
        attn_logit_softcapping: where scores of attention are capped.
    """

    max_position_embeddings: int | None = None
    num_hidden_layers: int | None = None
    layer_types: Sequence[str] | None = None
    use_cache: bool | None = None
    pad_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    attn_logit_softcapping: float | None = None


def told_by(config: Any) -> Told:
    """Return what a configuration tells, such as ``model.config.get_text_config()``; None tells nothing.

    >>> told_by(None).pad_token_id is None
    True
    """
    return Told(**{each.name: getattr(config, each.name, None) for each in fields(Told)})
