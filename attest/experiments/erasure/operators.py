"""The four ways to erase tokens from a text, and the predictions for the rest of the text.

Legend: B batch, D draws, V variants of a text, N texts that are read, T tokens, K classes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from attest.core.errors import AttestError
from attest.core.randomness import random_pairs, stream
from attest.models.inputs import Inputs, like
from attest.models.observation import Observation
from attest.models.offers import offers_of
from attest.models.prediction import predictions_of
from attest.models.traits import traits_of
from attest.models.variants import attends_within, read_each


@dataclass(frozen=True)
class Background:
    """The texts of a corpus from which random replacement tokens are drawn."""

    tokens: Tensor
    """int64 ``(N,)``: the token ids of all texts, one text after another."""
    starts: Tensor
    """int64 ``(M,)``: the index in ``tokens`` at which each of the M texts begins."""
    lengths: Tensor
    """int64 ``(M,)``: the number of tokens of each text, at least 1."""

    @classmethod
    def of(cls, texts: Sequence[Tensor]) -> "Background":
        """Return a ``Background`` of the given texts, token ids int64 ``(T,)`` each; texts without tokens are left out.

        Raises:
            AttestError: no text has any.
        """
        texts = [text for text in texts if len(text)]
        if not texts:
            raise AttestError("the background has no tokens; expected texts that the model was trained on, or similar texts.")
        lengths = torch.tensor([len(text) for text in texts])
        return cls(torch.cat(texts), lengths.cumsum(dim=0) - lengths, lengths)

    def to(self, device: torch.device) -> "Background":
        """Return a copy of the background on a device."""
        return Background(self.tokens.to(device), self.starts.to(device), self.lengths.to(device))

    def __str__(self) -> str:
        return f"{len(self.lengths)} texts"

    def drawn(self, seed: int, ids: Tensor, lengths: Tensor, draws: int, size: int) -> Tensor:
        """Draw a replacement for each token from about the same relative position in random texts, int64 ``(B, D, T)``.

        Args:
            seed: with an instance's id it fixes the draws.
            ids, lengths: int64 ``(B,)``, of the texts in which tokens are replaced.
            draws, size: D and T.
        """
        which, where = random_pairs(stream(seed, "replacements"), ids, draws, size)
        text = (which * len(self.starts)).long()
        position = torch.arange(size, device=ids.device) + where  # a random point within the token's own span
        relative = position / lengths[:, None, None]
        place = (relative.clamp(max=1 - 1e-12) * self.lengths[text]).long()
        return self.tokens[self.starts[text] + place]


Operator = Callable[..., Tensor]
"""A way to erase tokens. It is a function from an observation and the tokens to keep in each of V variants of a text, bool
``(B, V, T)``. It returns the probability, in [0, 1], that the model gives to its original decision when it reads the variant,
``(B, V)``; for a predicted number, minus the distance from the original one. A way that draws at random also takes the number
of the draw of each variant, ``draw``, int64 ``(V,)``."""
UNKNOWN = 1
"""The token id of every unknown word in Attest's vocabularies; it replaces erased tokens if the network names no mask
token."""


DRAWS = 5
"""How often the operator ``resample`` replaces a set of erased tokens by random tokens of other texts, each time by other
ones."""


def operators(background: Background | None = None, seed: int = 0) -> dict[str, tuple[Operator, ...]]:
    """Return the functions that erase tokens, by name; ``resample`` has a separate function for each random draw.

    Args:
        background: what ``resample`` draws from; without it that operator is left out.
        seed: with an instance's id it fixes what is drawn.
    """
    always: dict[str, tuple[Operator, ...]] = {"attention": (attention,), "delete": (delete,), "mask": (mask_tokens,)}
    if background is None:
        return always
    drawn = (partial(resample, background=background, seed=seed, draw=draw) for draw in range(DRAWS))
    return always | {"resample": tuple(drawn)}


def is_pooled_linearly(observation: Observation) -> bool:
    """Return whether the logits are the attention-weighted mean of the logits of single tokens."""
    alone = observation.class_logits is not None and not attends_within(observation.network)
    return alone and observation.spared is None


def attention(observation: Observation, kept: Tensor) -> Tensor:
    """Return the predicted class's probability if erased tokens get no attention and the other weights again sum to 1.

    If tokens attend to one another, no token attends to an erased one in any layer, and embeddings do not change. If nothing
    that is attended to is left, the context is 0 and the bias alone decides.
    """
    if attends_within(observation.network):
        everyone = observation.texts.repeated(kept.shape[1])
        return _read(observation, replace(everyone, mask=kept.flatten(0, 1)), in_place=True)
    weights = observation.attention.unsqueeze(1) * kept
    left = weights.sum(dim=-1, keepdim=True)
    outcomes = observation.left_of_prediction(observation.probabilities_under(weights / torch.where(left > 0, left, 1)))
    return outcomes.where(left.squeeze(-1) > 0, bias_alone(observation).unsqueeze(-1))


def delete(observation: Observation, kept: Tensor) -> Tensor:
    """Return the predicted class's probability after the erased tokens are deleted from the text."""
    return _read(observation, observation.texts.repeated(kept.shape[1]).only(kept.flatten(0, 1)))


def mask_tokens(observation: Observation, kept: Tensor) -> Tensor:
    """Return the predicted class's probability if the mask token of the network replaces erased tokens."""
    masked = offers_of(observation.network).masked
    return _read_with(observation, kept, torch.tensor(UNKNOWN if masked is None else masked, device=kept.device))


def resample(observation: Observation, kept: Tensor, background: Background, seed: int = 0, draw: int | Tensor = 0) -> Tensor:
    """Return the predicted class's probability if random tokens of other texts replace erased tokens.

    Args:
        draw: the draw of these tokens, below ``DRAWS``; one for all variants, or one for each, int64 ``(V,)``.
    """
    count, which = (DRAWS, draw) if isinstance(draw, Tensor) else (draw + 1, slice(draw, draw + 1))
    others = background.drawn(seed, observation.ids, observation.lengths, count, observation.mask.shape[-1])[:, which]
    return _read_with(observation, kept, like(others.expand(kept.shape).flatten(0, 1), observation.tokens))


@torch.no_grad()
def bias_alone(observation: Observation) -> Tensor:
    """Return the predicted class's probability if the decoder gets a context of zeros, ``(B,)``."""
    nothing = torch.zeros_like(observation.attention)
    return observation.left_of_prediction(predictions_of(observation.network, observation.decode(nothing)))


def _read_with(observation: Observation, kept: Tensor, others: Tensor) -> Tensor:
    each = observation.texts.repeated(kept.shape[1])
    real = each.mask if each.tokens.ndim == 2 else each.tokens != 0  # a sentence has fewer words than others, and no mask
    return _read(observation, each.replaced(torch.where(~like(kept.flatten(0, 1), each.tokens) & real, others, each.tokens)))


def _read(observation: Observation, variants: Inputs, in_place: bool = False) -> Tensor:
    """Return the predicted class's probability for V variants of each text, ``(B, V)``; equal variants are read only once.

    Args:
        variants: those of one text after those of another; their mask is True at the tokens that are kept.
        in_place: whether erased tokens are still embedded, if the network embeds in ``encode`` and attends in ``decode``.
    """
    in_place = in_place and traits_of(observation.network).reads_in_decode
    kept, count = variants.mask, len(observation.mask)
    rows = torch.arange(count, device=kept.device).repeat_interleave(len(kept) // count)
    asked = torch.arange(kept.shape[-1], device=kept.device) >= observation.reach
    variants = variants.blank(kept | asked | in_place)
    one, again = _different(torch.cat([rows.unsqueeze(-1), kept, variants.columns.flatten(1)], dim=-1))
    read = read_each(observation, rows[one], variants.rows(one), in_place)[again].unflatten(0, (count, -1))
    something = kept.any(dim=-1).unflatten(0, (count, -1))
    return observation.left_of_prediction(read).where(something, bias_alone(observation).unsqueeze(-1))


def _different(written: Tensor) -> tuple[Tensor, Tensor]:
    """Return the place of one of each kind of equal rows, the kinds in ascending order, and the kind of each row."""
    kinds, again = written.unique(dim=0, return_inverse=True)
    one = torch.empty(len(kinds), dtype=torch.int64, device=written.device)
    one[again] = torch.arange(len(written), device=written.device)
    return one, again
