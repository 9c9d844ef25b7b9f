"""Prepare a model of the library transformers for a trial; the library is imported only for such a model."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import nn

from attest.app.api.batches import Encode, Words
from attest.core.attention.interventions import unwrapped
from attest.core.errors import AttestError, needing_transformers
from attest.core.kinds import SPANS, TAGS
from attest.models.contract import STEPS
from attest.models.traits import network_in

if TYPE_CHECKING:
    from attest.models.pretrained.network import PretrainedNetwork
    from attest.models.pretrained.prompted import Prompt


TASKS = ("text-classification", "sentiment-analysis", "token-classification", "ner", "text-generation")
"""The tasks of ``transformers`` pipelines that return what their model computes. Pipelines for other tasks compute something
else from it, and are refused."""
CLASSES = ("TextClassificationPipeline", "TokenClassificationPipeline", "TextGenerationPipeline")
"""The class names of the pipelines for ``TASKS``; such a pipeline is accepted even if its ``task`` is empty."""


def bare(model: Any, tokenizer: Any, prompted: bool) -> tuple[Any, Any]:
    """Return the model without wrappers such as DDP or peft, and its tokenizer. A folder or Hub id is loaded first."""
    if isinstance(model, str | Path):
        with needing_transformers():
            from attest.models.pretrained.loading import load
        model, read = load(str(model), prompted)
        return model, tokenizer or read
    if isinstance(inner := getattr(model, "model", None), nn.Module) and not isinstance(model, nn.Module):
        _require_task(model)
        return bare(inner, tokenizer or getattr(model, "tokenizer", None), prompted)
    if isinstance(model, nn.Module) and not all(hasattr(model, step) for step in STEPS):
        model = unwrapped(model)
    if (peft := sys.modules.get("peft")) is not None and isinstance(model, peft.PeftModel | peft.PeftMixedModel):
        from attest.models.pretrained.adapters import model_inside

        return bare(model_inside(model), tokenizer, prompted)
    return model, tokenizer


def _require_task(pipeline: Any) -> None:
    """Refuse a pipeline whose answers are no outputs of its model alone, by the name of its task."""
    task = getattr(pipeline, "task", None)
    if task == "" and any(base.__name__ in CLASSES for base in type(pipeline).__mro__):  # made without pipeline(task, …)
        return
    if isinstance(task, str) and task not in TASKS:
        task = task or type(pipeline).__name__
        raise AttestError(
            f"the pipeline is for {task}, so that its answers are not those of its model alone; expected a pipeline for one "
            f"of: {', '.join(TASKS)}. Give the model itself, with the texts or pairs that it reads: "
            "attest.trial(pipeline.model, …, tokenizer=pipeline.tokenizer)"
        )


def is_of_transformers(model: Any) -> bool:
    """Return whether a model is an instance of ``PreTrainedModel`` of the library transformers."""
    library = sys.modules.get("transformers")
    return library is not None and isinstance(model, library.PreTrainedModel)


def is_plain(model: Any) -> bool:
    """Return whether a model is a PyTorch module with ``forward``, but not an Attest network or a wrapper of one."""
    steps = any(hasattr(model, step) for step in STEPS) or network_in(model) is not None
    return isinstance(model, nn.Module) and not steps and type(model).forward is not nn.Module.forward


def plain(
    model: nn.Module, tokenizer: Any, encode: Encode | None, words: Words | None, texts: bool = True
) -> tuple["PretrainedNetwork", Encode | None, Words | None]:
    """Return the user's module wrapped as a network, and the functions that encode texts and show their tokens."""
    from attest.models.pretrained.admitted import require_as_it_is
    from attest.models.pretrained.heads import has_head
    from attest.models.pretrained.plain import PlainNetwork
    from attest.models.pretrained.texts import Encoder

    reads = None if tokenizer is None else Encoder(model, tokenizer)
    padding, masked = (None, None) if tokenizer is None else (tokenizer.pad_token_id, tokenizer.mask_token_id)
    typed = reads is not None and encode is None and texts and reads.typed
    try:
        network = PlainNetwork(model, padding or 0, masked, typed)
        require_as_it_is(network)
    except AttestError as error:
        parts = {name: part for name, part in model.named_children() if is_of_transformers(part)}
        name = next((name for name, part in parts.items() if has_head(type(part).__name__)), None)
        if name is None:
            raise
        raise AttestError(f"{error} Or give the model inside it: module.{name}") from error
    if reads is None:
        return network, encode, words
    reads.tagging = network.kind == TAGS
    return network, encode or reads, reads.words if words is None else words


def read_by(
    model: Any,
    tokenizer: Any,
    encode: Encode | None,
    words: Words | None,
    label_names: Sequence[str] | None,
    prompt: "Prompt | None" = None,
    texts: bool = True,
) -> tuple["PretrainedNetwork", Encode | None, Words | None, Sequence[str]]:
    """Return the network to test, the functions that encode texts and show tokens, and the class names.

    Args:
        tokenizer: the tokenizer of the model; None if batches of token ids are given.
        prompt: the prompt of a language model; None for a classifier.
        texts: True for texts, which get token types if the tokenizer has them; False for batches of token ids.
    """
    from attest.core.labels import class_names, require_names_of
    from attest.models.pretrained import admitted
    from attest.models.pretrained.crossing import CrossingNetwork
    from attest.models.pretrained.heads import kind_of_model
    from attest.models.pretrained.network import PretrainedNetwork, embeddings_of, padding_of
    from attest.models.pretrained.spans import SpanNetwork
    from attest.models.pretrained.texts import Encoder

    if prompt is None:
        admitted.require_head(model)
    rows = len(embeddings_of(model).weight)
    names = ("pad_token_id", "mask_token_id", "unk_token_id")
    pads, masks, unknown = (getattr(tokenizer, name, None) for name in names)
    padding = next(each for each in (padding_of(model), pads, 0) if each is not None and 0 <= each < rows)
    masked = next(each for each in (masks, unknown, padding) if each is not None and 0 <= each < rows)
    if prompt is not None:
        return _asked(model, tokenizer, padding, masked, words, prompt)
    reads = None if tokenizer is None else Encoder(model, tokenizer)
    typed = reads is not None and encode is None and texts and reads.typed
    kind = kind_of_model(type(model).__name__, model.config)
    squashed = not kind.chooses and admitted.is_squashed(model.config)
    wrapper = SpanNetwork if kind == SPANS else CrossingNetwork if model.config.is_encoder_decoder else PretrainedNetwork
    network = wrapper(model, padding, masked, typed, kind, squashed)
    if reads is not None:
        reads.tagging = network.kind == TAGS
    admitted.require_as_it_is(network)
    shown = reads.words if words is None and reads is not None else words
    if label_names and kind.names:
        require_names_of(label_names, model.config)
    return network, encode or reads, shown, label_names or (class_names(model.config) if kind.names else ())


def _asked(
    model: Any, tokenizer: Any, padding: int, masked: int, words: Words | None, prompt: "Prompt"
) -> tuple["PretrainedNetwork", Encode, Words, Sequence[str]]:
    """Return a prompted language model as a network, functions that encode and show texts, and class names."""
    from attest.models.pretrained.admitted import require_as_it_is
    from attest.models.pretrained.crossing import CrossingNetwork
    from attest.models.pretrained.prompted import PromptedNetwork, PromptEncoder

    if tokenizer is None:
        raise AttestError(
            "a prompt was given without a tokenizer; expected a tokenizer, which turns the prompt into token ids. Give "
            "tokenizer=tokenizer."
        )
    reads = PromptEncoder(model, tokenizer, prompt)
    network: PretrainedNetwork
    if model.config.is_encoder_decoder:
        network = CrossingNetwork(model, padding, masked, answers=prompt.first_tokens(tokenizer, apart=True))
    else:
        network = PromptedNetwork(model, padding, prompt.first_tokens(tokenizer), masked)
    require_as_it_is(network)
    return network, reads, reads.words if words is None else words, tuple(prompt.answers)
