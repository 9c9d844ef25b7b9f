"""What the configuration of a model of transformers tells, read in one place.

The library gives each architecture a configuration of its own, and people add to it, so none of this stands in all of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Told:
    """What a configuration tells; None for what it leaves out.

    Args:
        max_position_embeddings: the largest number of tokens that have positions, where positions are learned.
        num_hidden_layers: the number of layers.
        type_vocab_size: the number of token types.
        layer_types: the kind of each layer, such as ``linear_attention``.
        use_cache: whether a decoder keeps keys and values of a pass.
        pad_token_id, eos_token_id: the ids of the tokens at padding and at the end.
        attn_logit_softcapping: where scores of attention are capped.
        num_labels: the number of classes, or of the numbers that a model returns.
        problem_type: ``regression``, ``single_label_classification`` or ``multi_label_classification``.
        auto_map: the classes of somebody's own code, by what they are for.
        name_or_path: the folder or Hub id from which the model was loaded.
        transformers_weights: the file of the weights, if it has another name than usual.
        sentence_transformers: what the library sentence-transformers keeps there.
        sbert_ce_default_activation_function: the same library's activation function of a cross-encoder, in older versions.
    """

    max_position_embeddings: int | None = None
    num_hidden_layers: int | None = None
    type_vocab_size: int | None = None
    layer_types: Sequence[str] | None = None
    use_cache: bool | None = None
    pad_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    attn_logit_softcapping: float | None = None
    num_labels: int | None = None
    problem_type: str | None = None
    auto_map: Mapping[str, Any] | None = None
    name_or_path: str | None = None
    transformers_weights: str | None = None
    sentence_transformers: Mapping[str, Any] | None = None
    sbert_ce_default_activation_function: str | None = None


def config_of(model: Any) -> Any:
    """Return the configuration of a model or of its tokenizer; None if it has none."""
    return getattr(model, "config", None)


def told_by(config: Any) -> Told:
    """Return what a configuration tells: that of a model or of its text part; None tells nothing.

    >>> told_by(None).pad_token_id is None
    True
    """
    return Told(**{each.name: getattr(config, each.name, None) for each in fields(Told)})
