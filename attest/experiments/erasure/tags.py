"""E14 for taggers: which other tokens does the tag of one token depend on?

A tagger decides at every token. So one token of a sentence is drawn, its tag is the decision, and the sentence is read as the
text of a classifier whose decision that is. The token itself and special tokens are neither ranked nor erased.

Legend: B batch, T tokens, K tags.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from attest.core.attention.rollout import attention_rollout
from attest.core.randomness import random_uniforms, stream
from attest.experiments.erasure.four_operators import erasure
from attest.experiments.erasure.operators import Background
from attest.experiments.sampling import Everyone, in_sample
from attest.experiments.spec import Inside
from attest.models.layers_observed import LayerObservation
from attest.models.observation import Observation
from attest.models.offers import offers_of
from attest.models.traits import traits_of

PLACES = 1 << 20
"""A number larger than the length of any sentence. A token's own id is the id of its sentence times this number, plus its
position in the sentence."""


def tag_erasure(
    observation: LayerObservation,
    everyone: Everyone,
    seed: int,
    texts: int = 16,
    sets: int = 20,
    background: Background | None = None,
) -> dict[str, Tensor]:
    """Erase the tokens that attention rollout ranks first, and measure the effect on one random token's tag.

    Args:
        seed: chooses the sample and, with an instance's id, the token, random sets and draws.
        texts: size of the random sample of sentences that are read anew.
        sets: random sets of each size.
        background: sentences that ``resample`` draws tokens from; None leaves that operator out.
    Returns:
        Columns as in ``erasure``, NaN outside the sample; and ``token``, int64 ``(B,)``, the drawn place, from 0.
    """
    asked, place = about_one_token(observation, seed)
    sampled = asked.ids[in_sample(seed, observation.ids, everyone, texts)]
    return erasure(asked, sampled, len(asked.ids), sets, background=background, extras=False, seed=seed) | {"token": place}


def about_one_token(observation: LayerObservation, seed: int, place: Tensor | None = None) -> tuple[Observation, Tensor]:
    """Return an ``Observation`` that treats a tagger as a classifier of one token's tag in each sentence.

    Args:
        seed: with an instance's id it says which token is drawn.
        place: int64 ``(B,)``, the token to ask about, from 0; if it is below 0, a token is drawn. None draws one in all
            sentences.
    Returns:
        The observation, and the position of each sentence's token, int64 ``(B,)``, from 0. The explanation is attention
        rollout from that token down to all tokens. With one layer, it ranks the other tokens as the mean attention over heads
        does.
    """
    drawn = _drawn(observation.deciding, random_uniforms(stream(seed, "one token"), observation.ids))
    place = drawn if place is None else torch.where(place < 0, drawn, place)
    asked = nn.functional.one_hot(place, observation.mask.shape[-1])
    states = observation.logits
    explanation = attention_rollout(observation.attention, asked.to(states))
    network: Any = _TagOfOne(observation.network)
    view = Observation(
        network,
        observation.ids * PLACES + place,
        observation.tokens,
        observation.mask,
        embedded=states,
        hidden=states,
        scores=torch.zeros_like(explanation),
        weights=explanation,
        logits=network.decode(states, explanation, asked),
        words=observation.words,
        spared=asked.bool() | (observation.mask & ~observation.ranked),
        beside={**observation.beside, "whose_tag": asked},
    )
    return view, place


def _drawn(deciding: Tensor, uniforms: Tensor) -> Tensor:
    count = deciding.sum(dim=-1)
    number = (uniforms * count).long().clamp(max=count - 1)
    return (deciding & (deciding.cumsum(dim=-1) == number.unsqueeze(-1) + 1)).to(torch.uint8).argmax(dim=-1)


@dataclass(frozen=True)
class _TagOfOne:
    """A tagger as a classifier of the one token at which ``whose_tag``, int64 ``(B, T)``, is 1, elsewhere 0.

    Hidden states are the logits of K tags, ``(B, T, K)``.
    """

    tagger: nn.Module
    attends_within = True

    @property
    def masked(self) -> int | None:
        return offers_of(self.tagger).masked

    def encode(self, tokens: Tensor, mask: Tensor, whose_tag: Tensor, **beside: Tensor) -> Tensor:
        tagger: Any = self.tagger
        if not traits_of(tagger).reads_in_decode:
            return tagger(tokens, mask, **beside)
        embedded = tagger.encode(tokens, torch.ones_like(mask), **beside)
        return tagger.decode(embedded, mask.to(embedded), **beside)  # where ids of padding count, others would move up

    def score(self, hidden: Tensor, mask: Tensor) -> Tensor:
        return hidden.new_zeros(mask.shape)

    def project(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores  # nothing is pooled

    def decode(self, hidden: Tensor, weights: Tensor, whose_tag: Tensor, **beside: Tensor) -> Tensor:
        return (hidden * whose_tag.unsqueeze(-1)).sum(dim=1)


INSIDE = Inside("E14", tag_erasure, reads=("everyone", "seed", "background"), samples=True, of_tags=True)
