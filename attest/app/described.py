"""A description, in words, of a Transformer and of the experiments that a trial can and cannot run on it."""

from collections.abc import Iterator, Sequence

from transformers import PreTrainedTokenizerBase

from attest.experiments.registry import INSIDE, askable, suited
from attest.models.prediction import says_number
from attest.models.pretrained.network import PretrainedNetwork
from attest.models.pretrained.prompted import Prompt
from attest.models.pretrained.texts import longest_read

LEFT_OUT = {
    "attends_everywhere": "tokens see only what stands before them; it would let them look ahead",
    "moves_keys": "the softmax of its attention alone is reached, not its keys",
    "shows_values": "the softmax of its attention alone is reached, not its values",
    "shows_outputs": "what each of its heads hands on is not seen",
}
"""Why an experiment does not suit a model, by what it needs."""
DECIDES = {
    "first": "at its first token",
    "last": "at its last token",
    "all": "at all of its tokens",
    "step": "at a step of its decoder, whose cross-attention over the text is on trial",
}


def described(
    network: PretrainedNetwork, tokenizer: PreTrainedTokenizerBase, classes: Sequence[str], prompt: Prompt | None = None
) -> Iterator[tuple[str, str]]:
    """Yield pairs of a property of the model and its value, in words.

    Args:
        classes: the names of the classes, in class order.
        prompt: the prompt of a language model; None for a classifier.
    """
    model = network.model
    yield "model", f"{type(model).__name__}, {sum(each.numel() for each in model.parameters()):,} parameters"
    if says_number(network):
        yield "says", "one number of each text"
    else:
        yield "labels" if network.labels else "classes", ", ".join(classes)
    yield from _asked(prompt, tokenizer, model.config.is_encoder_decoder) if prompt is not None else ()
    heads = ", ".join(dict.fromkeys(str(call.heads) for call in network.calls))
    yield "attention", f"computed {len(network.calls)} times in a pass, {heads} heads"
    yield "decides", DECIDES[network.decides_by]
    yield "reads", f"{longest_read(model, tokenizer)} tokens of a text at most"
    whole = [name for name in askable(inside=True) if name not in askable(inside=True, tags=network.tags)]
    yield "experiments", ", ".join(suited(network))
    for needed, why in LEFT_OUT.items():
        if left_out := [each.id for each in INSIDE.values() if each.needs == needed and not each.suits(network)]:
            yield "left out", f"{', '.join(left_out)}: {why}"
    if whole:
        yield (
            "left out",
            f"{', '.join(whole)}: they ask what a whole text's decision rests on; each token is decided by itself",
        )


def _asked(prompt: Prompt, tokenizer: PreTrainedTokenizerBase, apart: bool) -> Iterator[tuple[str, str]]:
    """Yield the number of tokens of the prompt, and the tokens that stand for the answers."""
    yield "prompt", f"takes {len(tokenizer(prompt.about(''), verbose=False)['input_ids'])} tokens beside the text"
    first = tokenizer.convert_ids_to_tokens(prompt.first_tokens(tokenizer, apart))
    pairs = zip(prompt.answers.items(), first, strict=True)
    yield "answers", "; ".join(f"{label}: {answer!r}, told by its first token {token!r}" for (label, answer), token in pairs)
