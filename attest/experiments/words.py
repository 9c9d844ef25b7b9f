"""Words of texts that were cut into subwords: the numbers of their subwords added up, and words left out whole.

A word's number stands at its first subword, so that columns keep their shape. Special tokens are of no word.

Legend: B batch, N words of all texts, T tokens, K classes.
"""

import torch
from torch import Tensor

from attest.core.measures import kendall_tau_b, probabilities, total_variation
from attest.core.memory import by_rows
from attest.experiments.importance import bytes_per_variant, leave_one_out_inputs
from attest.models.contract import decided
from attest.models.observation import Observation


def first_of_words(words: Tensor) -> Tensor:
    """Return where words begin, bool ``(B, T)``.

    Args:
        words: int64 ``(B, T)``, the place of the word that each token is of, below 0 for special tokens and padding.
    """
    first = words >= 0
    first[:, 1:] &= words[:, 1:] != words[:, :-1]
    return first


def ranked_words(observation: Observation) -> Tensor:
    """Return the word of each token, int64 ``(B, T)``; below 0 for those that are not ranked, too.

    Args:
        observation: with ``words``.
    """
    assert observation.words is not None
    return observation.words.masked_fill(~observation.ranked, -1)


def over_words(values: Tensor, words: Tensor) -> Tensor:
    """Add up values over the subwords of each word, at its first one, 0 elsewhere: ``(B, T)`` twice -> ``(B, T)``."""
    position = torch.arange(words.shape[-1], device=words.device)
    begins = torch.where(first_of_words(words), position, 0).cummax(dim=-1).values
    return torch.zeros_like(values).scatter_add(-1, begins, values.masked_fill(words < 0, 0))


def leave_words_out(observation: Observation) -> Tensor:
    """Return the TVD of the prediction if all subwords of a word are removed and the text is read anew, ``(B, T)``.

    Special tokens stay, and so does the token at which a Transformer decides. NaN for a text in which nothing is left without
    one of its words; 0 but at first subwords. A word of one subword has the number of that subword, which is not read twice.

    Args:
        observation: with ``words``.
    """
    words = ranked_words(observation)
    of_tokens = leave_one_out_inputs(observation)
    known = _of_one_subword(words) & of_tokens.isfinite()
    moved = torch.where(known, of_tokens, 0)
    texts, places = (first_of_words(words) & ~known).nonzero(as_tuple=True)
    if len(texts):
        moved[texts, places] = _movements_without(observation, texts, places)
    return moved


def _of_one_subword(words: Tensor) -> Tensor:
    return first_of_words(words) & (over_words(torch.ones_like(words), words) == 1)


def _movements_without(observation: Observation, texts: Tensor, places: Tensor) -> Tensor:
    """Return the TVD ``(N,)`` of N texts, each without the word that begins at its place: int64 ``(N,)`` twice."""
    words = ranked_words(observation)[texts]
    kept = observation.mask[texts] & (words != words.gather(-1, places.unsqueeze(-1)))
    order = kept.sum(dim=-1).argsort()
    outcomes = by_rows(
        lambda tokens, left: _read(observation, tokens, left),
        bytes_per_variant(observation),
        observation.tokens[texts][order],
        kept[order],
    )
    return total_variation(outcomes, observation.probabilities[texts[order]])[order.argsort()]


@torch.no_grad()
def _read(observation: Observation, tokens: Tensor, kept: Tensor) -> Tensor:
    """Predict texts without some of their tokens, the others moved together: ``(N, T)`` twice -> ``(N, K)``."""
    order = kept.to(torch.uint8).argsort(dim=-1, descending=True, stable=True)[:, : max(1, int(kept.sum(dim=-1).max()))]
    tokens, left = tokens.gather(-1, order), kept.gather(-1, order)
    empty = ~left.any(dim=-1)
    left[:, 0] |= empty
    read = probabilities(decided(observation.network, observation.network.encode(tokens, left), left))
    return read.masked_fill(empty.unsqueeze(-1), torch.nan)


def agreement_over_words(observation: Observation, importances: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return how the explanation and importances agree once words count instead of subwords.

    Args:
        observation: with ``words``.
        importances: ``(B, T)`` of tokens, at least 0, by name.
    Returns:
        Per token ``(B, T)`` ``leave_one_out_words``, where ``leave_one_out_inputs`` is among the importances. Per instance
        ``(B,)``, for each importance, τ-b in [-1, 1] and the share of pairs that are ordered alike: ``tau_words_…`` and
        ``concordant_words_…``, of words, their subwords added up or left out together.
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
