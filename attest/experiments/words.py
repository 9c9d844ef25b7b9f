"""Whole words of texts that are cut into subwords: their attention, and predictions without them.

A word's number stands at its first subword, so that columns keep their shape. Special tokens are of no word.

Legend: B batch, N words left out of the texts of a batch, T tokens, K classes.
"""

import torch
from torch import Tensor

from attest.core.measures import kendall_tau_b, movement
from attest.experiments.importance import leave_one_out_inputs
from attest.models.observation import Observation
from attest.models.variants import read_each


def first_of_words(words: Tensor) -> Tensor:
    """Return which tokens are the first of their word, bool ``(B, T)``.

    Args:
        words: int64 ``(B, T)``, the place of the word that each token is of, below 0 for special tokens and padding.
    """
    first = words >= 0
    first[:, 1:] &= words[:, 1:] != words[:, :-1]
    return first


def ranked_words(observation: Observation) -> Tensor:
    """Return each token's word number, int64 ``(B, T)``; below 0 for tokens that experiments do not rank."""
    assert observation.words is not None
    return observation.words.masked_fill(~observation.ranked, -1)


def over_words(values: Tensor, words: Tensor) -> Tensor:
    """Sum the values of each word's subwords, ``(B, T)``: the first subword gets the sum, and the rest get 0."""
    position = torch.arange(words.shape[-1], device=words.device)
    begins = torch.where(first_of_words(words), position, 0).cummax(dim=-1).values
    return torch.zeros_like(values).scatter_add(-1, begins, values.masked_fill(words < 0, 0))


def leave_words_out(observation: Observation) -> Tensor:
    """Return how far the prediction moves when one whole word is deleted, for each word, ``(B, T)``.

    The number of a word is at its first subword; other subwords have 0. Special tokens stay, and so does the token at which a
    Transformer decides. NaN if nothing is left of a text without the word. A word of one subword gets the number that was
    already computed for this subword.
    """
    words = ranked_words(observation)
    of_tokens = leave_one_out_inputs(observation)
    of_one_subword = first_of_words(words) & (over_words(torch.ones_like(words), words) == 1)
    known = of_one_subword & of_tokens.isfinite()
    moved = torch.where(known, of_tokens, 0)
    texts, places = (first_of_words(words) & ~known).nonzero(as_tuple=True)
    if len(texts):
        words_NT = words[texts]
        kept_NT = observation.mask[texts] & (words_NT != words_NT.gather(-1, places.unsqueeze(-1)))
        outcomes_NK = read_each(observation, texts, observation.texts.rows(texts).only(kept_NT))
        apart_N = movement(outcomes_NK, observation.prediction[texts])
        moved[texts, places] = apart_N.where(kept_NT.any(dim=-1), torch.nan)
    return moved


def agreement_over_words(observation: Observation, importances: dict[str, Tensor]) -> dict[str, Tensor]:
    """Compare attention with measures of importance by ranking whole words instead of subwords.

    Args:
        importances: ``(B, T)`` of tokens, at least 0, by name.
    Returns:
        Per token ``(B, T)`` ``leave_one_out_words``, if ``leave_one_out_inputs`` is among the importances. Per instance
        ``(B,)``, for each importance: ``tau_words_…``, τ-b over words in [-1, 1], and ``concordant_words_…``, the share of
        word pairs in the same order. The number of a word is the sum over its subwords; for leave-one-out, they are deleted
        together.
    """
    words = ranked_words(observation)
    lifted = {name: over_words(values, words) for name, values in importances.items()}
    columns = {}
    if "leave_one_out_inputs" in importances:
        columns["leave_one_out_words"] = lifted["leave_one_out_inputs"] = leave_words_out(observation)
    of_words = over_words(observation.explanation, words)
    for name in importances:
        found = kendall_tau_b(of_words, lifted[name], first_of_words(words))
        columns |= {f"tau_words_{name}": found.tau, f"concordant_words_{name}": found.concordant}
    return columns
