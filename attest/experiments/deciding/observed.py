"""The texts of an observed batch, of any kind of network that makes one decision about each.

Legend: B texts, T tokens, N variants.
"""

import torch
from torch import Tensor

from attest.core.errors import AttestError
from attest.experiments.deciding.filling import Texts
from attest.models.observation import Observation
from attest.models.prediction import says_number
from attest.models.variants import read_each

OF_SENTENCES = "the network reads lists of sentences, and what decides is measured for texts in tokens alone. Leave E19 out."


def texts_of(observation: Observation) -> Texts:
    """Return the texts of a batch, whose words can be replaced: all but special tokens, and what is read beside a text.

    A word that a tokenizer cuts into several tokens is replaced as a whole. If the network returns one number, minus its
    distance from the number of the whole text stands for the probability of the decision.

    Raises:
        AttestError: texts are lists of sentences.
    """
    if observation.tokens.ndim != 2:
        raise AttestError(OF_SENTENCES)
    places = torch.arange(observation.tokens.shape[1], device=observation.tokens.device).expand_as(observation.tokens)
    words = (places if observation.words is None else observation.words).masked_fill(~observation.ranked, -1)

    def read(rows: Tensor, tokens: Tensor) -> Tensor:
        found = read_each(observation, rows, observation.texts.rows(rows).replaced(tokens))
        own = found.gather(1, observation.predicted[rows].unsqueeze(1)).squeeze(1)
        if not says_number(observation.network):
            return own
        return -(own - observation.prediction[rows, 0]).abs()

    most = 0.0 if says_number(observation.network) else 1.0
    return Texts(read, observation.ids, observation.tokens, words, most)


def texts_about_a_tag(observation: Observation) -> Texts:
    """Return the sentences of ``about_one_token``: all words but the one whose tag is asked about can be replaced.

    A word that a tokenizer cuts into several tokens is replaced, or stays, as a whole.

    Args:
        observation: a column ``whose_tag`` beside its tokens is 1 at the one token.
    """
    ids = observation.tokens
    places = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
    words = (places if observation.words is None else observation.words).masked_fill(~observation.mask, -1)
    asked = words == words.gather(1, observation.beside["whose_tag"].argmax(dim=1, keepdim=True))

    def read(rows: Tensor, tokens: Tensor) -> Tensor:
        found = read_each(observation, rows, observation.texts.rows(rows).replaced(tokens))
        return found.gather(1, observation.predicted[rows].unsqueeze(1)).squeeze(1)

    return Texts(read, observation.ids, ids, words.masked_fill(asked | ~observation.ranked, -1))
