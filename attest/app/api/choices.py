"""Prepare trials of models that choose one of several given answers to each text (multiple choice).

The model reads a text with each of its choices, computes a logit for each choice, and chooses the one with the largest logit.
An instance of a trial is a text with the model's choice; the tokens and the attention of this pair are tested. The decision is
between all choices.

Legend: N texts, B texts of a batch, C choices.
"""

from collections.abc import Sequence
from typing import Any

import torch

from attest.app.api.batches import Encode, batches_of, encoder_in
from attest.app.api.measuring import device_of, inputs_of
from attest.core.errors import AttestError
from attest.core.label_values import in_order
from attest.core.memory import in_evaluation_mode

HOW = 'For example: attest.trial(model, [("It rains.", ["Take a coat.", "Go and swim."])], labels=[0], tokenizer=tokenizer)'


def are_choices(text: Any) -> bool:
    """Return whether a value is a pair of a text and a list of at least two choices."""
    if not (isinstance(text, tuple | list) and len(text) == 2 and isinstance(text[1], tuple | list) and len(text[1]) > 1):
        return False
    return all(isinstance(each, str) for each in (text[0], *text[1]))


def _with_lists(text: Any) -> Any:
    """Return a text with its choices as a list, also if they are an array, as in a table."""
    pair = isinstance(text, tuple | list) and len(text) == 2
    return (text[0], in_order(text[1]) or text[1]) if pair else text


def made_choices(network: Any, texts: Sequence[Any], encode: Encode | None, batch_size: int) -> list[tuple[str, str]]:
    """Return pairs of a text and the model's choice; store the logits of all choices in ``network.choices``."""
    from attest.models.pretrained.network import Choices

    texts = [_with_lists(text) for text in texts]
    counts = {len(text[1]) for text in texts if are_choices(text)}
    if not all(map(are_choices, texts)) or len(counts) != 1:
        raise AttestError(
            "the model chooses between several texts; expected for each text at least two choices, and the same number of "
            f"choices for all texts. {HOW}"
        )
    (count,) = counts
    pairs = [(text, choice) for text, choices in texts for choice in choices]
    logits, device = torch.zeros(len(pairs)), device_of(network)
    with in_evaluation_mode(network), torch.no_grad():
        for batch in batches_of(pairs, encode, batch_size=batch_size):
            logits[batch["id"]] = inputs_of(batch, network).read_by(network)[:, 0].float().cpu()
    if (encoder := encoder_in(encode)) is not None:
        encoder.tell_of_cuts(len(pairs), "pairs of a text and a choice", windows=False)
    table = logits.view(-1, count).to(device)
    network.choices = Choices(table, table.argmax(dim=-1))
    made = network.choices.made.tolist()
    return [(text, choices[place]) for (text, choices), place in zip(texts, made, strict=True)]
