"""The texts of an observed batch, of any kind of network that decides about a whole text.

Legend: B texts, T tokens, N variants.
"""

import torch
from torch import Tensor

from attest.core.errors import AttestError
from attest.experiments.deciding.filling import Texts
from attest.models.observation import Observation
from attest.models.prediction import says_number
from attest.models.variants import read_each


def texts_of(observation: Observation) -> Texts:
    """Return the texts of a batch, whose words can be replaced: all but special tokens, and what is read beside a text.

    A word that a tokenizer cuts into several tokens is replaced as a whole.

    Raises:
        AttestError: texts are lists of sentences, or the network returns one number.
    """
    if observation.tokens.ndim != 2 or says_number(observation.network):
        what = "returns one number" if observation.tokens.ndim == 2 else "reads lists of sentences"
        raise AttestError(f"the network {what}, and what decides is measured for classifiers of texts in tokens alone.")
    places = torch.arange(observation.tokens.shape[1], device=observation.tokens.device).expand_as(observation.tokens)
    words = (places if observation.words is None else observation.words).masked_fill(~observation.ranked, -1)
    written_over = getattr(observation.network, "written_over", lambda tokens, others: others)
    beside = written_over(observation.tokens, torch.zeros_like(observation.tokens))  # what else stands in the ids of tokens

    def read(rows: Tensor, tokens: Tensor) -> Tensor:
        found = read_each(observation, rows, written_over(observation.tokens[rows], tokens), observation.mask[rows])
        return found.gather(1, observation.predicted[rows].unsqueeze(1)).squeeze(1)

    return Texts(read, observation.ids, observation.tokens - beside, words)
