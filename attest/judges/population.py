"""Many networks with hand-set parameters; whether their attention is right is measured, not assumed.

A mechanism says which hidden states contain the decision, and which tokens get attention. All other
settings of a network, such as the rule and the share of attention, are fields of its ``Recipe``.

Legend: B texts, T tokens, H hidden.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from attest.core.attention import MultiHeadAttention, Projection, Softmax, Sparsemax
from attest.core.attention.pooled import pool
from attest.judges.defendants import Defendant, Read, read
from attest.judges.texts import Texts

HONEST_REST = 0.9
"""In a constructed network with a sink, the attention that the sink does not get is divided: the deciding words get this share
of it, and what is left is spread evenly over all tokens but the sink."""
FAINT = 1e-4
"""Constructed networks with softmax get the logarithms of wanted attention weights as scores. Weights are first raised to at
least a hundredth of this number, because the logarithm of 0 is not finite."""
CARRIES = 0.01
"""A hidden state counts as one that carries the decision if the absolute value that the network reads from it is above this
share of the largest one in the text."""
NUISANCE_FROM = 4
"""The index in an embedding from which on all components have nothing to do with the label."""


@dataclass(frozen=True)
class Recipe:
    """A recipe for one network with hand-set parameters; its fields are named as in ``configs/judges/population.yaml``."""

    kind: str
    value: str
    look: str
    rule: str
    share: float
    projection: str
    noise: float
    margin: float
    residual: float
    depth: int
    idle_head: int
    mixture: float
    other_look: str

    @property
    def mechanism(self) -> str:
        """Return ``value/look``: the settings for which hidden states hold the decision and which tokens get attention."""
        return f"{self.value}/{self.look}"


class Composed(Defendant):
    """A network that pools by attention, with parameters that are set by hand according to a recipe."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__(recipe.rule)
        self.recipe = recipe
        self.projecting: Projection = Sparsemax() if recipe.projection == "sparsemax" else Softmax()
        self.residual = recipe.residual if recipe.kind == "pooled" else 0.0

    def encode(self, tokens: Tensor, mask: Tensor) -> Tensor:
        return self.states_of(self.embedding(tokens), mask)

    def states_of(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """Map embedded words ``(B, T, E)`` to states ``(B, T, H)``, which contain value, attention score, noise, and 1."""
        values, scores = self.values_and_scores(read(self.rule, embedded, mask), embedded)
        nuisance = self.recipe.noise * embedded[..., NUISANCE_FROM:]
        states = torch.cat([torch.stack([values, scores], dim=-1), nuisance, torch.ones_like(values).unsqueeze(-1)], dim=-1)
        return states * mask.unsqueeze(-1)

    def values_and_scores(self, read: Read, embedded: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]  # with embeddings
        """Return the value of each hidden state and its attention score, ``(B, T)`` each."""
        decoy = _largest(embedded[..., NUISANCE_FROM], read.mask & (read.deciding < 0.5))
        values = self.values(read, decoy)
        aims = self._aims(self.recipe.look, read, decoy, embedded)
        if self.recipe.mixture:
            length = read.mask.sum(dim=-1, keepdim=True)
            elsewhere = length % round(1 / self.recipe.mixture) == 0
            aims = torch.where(elsewhere, self._aims(self.recipe.other_look, read, decoy, embedded), aims)
        aims = aims.detach()
        return values, aims if self.recipe.projection == "sparsemax" else aims.clamp(min=FAINT / 100).log()

    def values(self, read: Read, decoy: Tensor) -> Tensor:
        """Return the value of each hidden state, ``(B, T)``; the network decides from these values."""
        where, margin, mask = self.recipe.value, read.margin, read.mask
        if where == "words":
            return read.local
        if where == "later":
            return functional.pad((read.local * read.words)[:, :-1], (1, 0))
        if where == "before":
            return functional.pad((read.local * read.words)[:, 1:], (0, 1))
        if where == "others":
            count = read.deciding.detach().sum(dim=-1, keepdim=True).clamp(min=1)
            others = mask * (1 - read.deciding)
            return margin * (others.detach().sum(dim=-1, keepdim=True) / count * read.deciding - others)
        places = {
            "decoy": decoy,
            "everywhere": mask.float(),
            "first": first_of(read.words),
            "last": last_of(read.words),
            "end": _at(mask, mask.sum(dim=-1) - 1),
        }
        return margin * places[where]

    def _aims(self, look: str, read: Read, decoy: Tensor, embedded: Tensor) -> Tensor:
        mask, words = read.mask.to(read.deciding), read.deciding.detach()
        length = read.mask.sum(dim=-1)
        middle = _largest(-(torch.arange(mask.shape[1]) - length.unsqueeze(-1) // 2).abs().float(), read.mask & (words < 0.5))
        certain = _largest(embedded[..., NUISANCE_FROM + 1], read.mask & (words < 0.5))
        sinks = {
            "sink_first": _at(read.mask, torch.zeros_like(length)),
            "sink_middle": middle,
            "sink_end": _at(read.mask, length - 1),
            "sink_word": certain,
            "sink_and_decoy": 0.5 * certain + 0.5 * decoy,
            "sink_pair": 0.5 * _at(read.mask, torch.zeros_like(length)) + 0.5 * _at(read.mask, length - 1),
        }
        looked = {
            "words": words,
            "decoy": decoy,
            "first": first_of(read.words.detach()),
            "last": last_of(read.words.detach()),
            "later": functional.pad(words[:, :-1], (1, 0)) * mask,
            "before": functional.pad(words[:, 1:], (0, 1)),
            "others": mask * (1 - words),
            "all": mask,
        } | sinks
        aimed = _spread(looked[look])
        spread = _spread(mask * (looked[look] == 0)) if look != "all" else _spread(mask)
        rest = HONEST_REST * _spread(words) + (1 - HONEST_REST) * spread if look in sinks else spread
        share = max(self.recipe.share, 0.6) if look in sinks else self.recipe.share
        if self.recipe.projection == "sparsemax" and look not in sinks:
            share = 1.0
        return share * aimed + (1 - share) * rest

    def project(self, scores: Tensor, mask: Tensor) -> Tensor:
        return self.projecting(scores, mask)

    def decode(self, hidden: Tensor, weights: Tensor) -> Tensor:
        """Map states ``(B, T, H)`` and weights ``(B, T)`` to logits ``(B, 2)``; a residual path adds the states' mean."""
        return self.decoder((pool(hidden, weights) + self._past_attention(hidden))[..., :-1])

    def token_logits(self, hidden: Tensor) -> Tensor:
        return self.decoder((hidden + self._past_attention(hidden).unsqueeze(1))[..., :-1])

    def _past_attention(self, hidden: Tensor) -> Tensor:
        return self.residual * hidden.sum(dim=1) / hidden[..., -1].sum(dim=1, keepdim=True).clamp(min=1)

    def carrying_states(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return which hidden states contain the decision, bool ``(B, T)``: those with values above 1 % of the largest."""
        values = self.encode(tokens, mask)[..., 0].abs()
        return (values > CARRIES * values.amax(dim=-1, keepdim=True)) & mask


def first_of(words: Tensor) -> Tensor:
    """Return 1 at the first marked word of each text and 0 elsewhere, ``(B, T)``."""
    return words * (words.detach().cumsum(dim=-1) < 1.5)


def last_of(words: Tensor) -> Tensor:
    """Return 1 at the last marked word of each text and 0 elsewhere, ``(B, T)``."""
    return words * (words.detach().flip(-1).cumsum(dim=-1).flip(-1) < 1.5)


def _spread(places: Tensor) -> Tensor:
    return places / places.sum(dim=-1, keepdim=True).clamp(min=1e-9)


def _at(mask: Tensor, place: Tensor) -> Tensor:
    return functional.one_hot(place, mask.shape[1]).float()


def _largest(values: Tensor, allowed: Tensor) -> Tensor:
    """Return 1 at the allowed token with the largest value (at the first, if equal) and 0 elsewhere, ``(B, T)``."""
    return _at(allowed, values.detach().masked_fill(~allowed, -torch.inf).argmax(dim=-1))


VALUE, SCORE, CONTEXT, IDLE, SIZE = 0, 1, 2, 3, 4


class CausalAttention(MultiHeadAttention):
    """A self-attention in which each token attends to itself and to earlier tokens."""

    def _weights(self, hidden: Tensor, mask: Tensor) -> Tensor:
        queries, keys = self._split(self.query(hidden)), self.hook("keys", self._split(self.key(hidden)), mask)
        scores = self.hook("scores", queries @ keys.mT / keys.shape[-1] ** 0.5, mask)
        before = torch.ones(mask.shape[1], mask.shape[1], dtype=torch.bool, device=mask.device).tril()
        seen = mask[:, None, None, :] & before | torch.eye(mask.shape[1], dtype=torch.bool, device=mask.device)
        return self.hook("projection", self.projection, mask)(scores, seen)


class Stacked(nn.Module):
    """A Transformer with hand-set parameters: self-attention layers on top of the states of a ``Composed`` network.

    It decides by the mean of its last states, a decoder by the last token's.
    """

    pools_by_attention = False
    attends_within = True

    def __init__(self, recipe: Recipe) -> None:
        super().__init__()
        self.rule, self.recipe, self.below = recipe.rule, recipe, Composed(recipe)
        self.causal = recipe.kind == "decoder"
        self.attends_everywhere = not self.causal
        self.layers = nn.ModuleList(_layer(recipe, self.causal) for _ in range(recipe.depth))
        self.decoder = nn.Linear(SIZE, 2)
        with torch.no_grad():
            self.decoder.weight.zero_()[:, CONTEXT] = torch.tensor([-0.5, 0.5])
            self.decoder.bias.zero_()

    def states(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return each token's state before the first layer, ``(B, T, 4)``.

        It contains the value from which the network decides, the score of the first head's attention, a zero, to which layers
        add what attention reads, and the score of a head that has no effect.
        """
        embedded = self.below.embedding(tokens)
        below = self.below.states_of(embedded, mask)[..., :CONTEXT]
        idle = 4 * _largest(embedded[..., NUISANCE_FROM], mask)
        return torch.cat([below, torch.zeros_like(below[..., :1]), idle.unsqueeze(-1)], dim=-1)

    def above(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the states ``(B, T, H)`` after all layers."""
        for layer in self.layers:
            states = states + layer(states, mask)
        return states

    def encode(self, tokens: Tensor, mask: Tensor) -> Tensor:
        return self.above(self.states(tokens, mask), mask)

    def score(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Return zeros ``(B, T)`` as scores, because ``project`` does not use scores."""
        return hidden.new_zeros(mask.shape)

    def deciding(self, mask: Tensor) -> Tensor:
        """Return each token's weight in the decision, ``(B, T)``: equal weights, or in a decoder 1 at the last token."""
        return _at(mask, mask.sum(dim=-1) - 1) if self.causal else _spread(mask.float())

    def project(self, scores: Tensor, mask: Tensor) -> Tensor:
        return self.deciding(mask).to(scores)

    def decode(self, hidden: Tensor, weights: Tensor) -> Tensor:
        return self.decoder(pool(hidden, weights))

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        hidden = self.encode(tokens, mask)
        return self.decode(hidden, self.project(self.score(hidden, mask), mask))

    def carrying_states(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return which input states of the first layer contain the decision, bool ``(B, T)``."""
        return self.below.carrying_states(tokens, mask)


def _layer(recipe: Recipe, causal: bool) -> MultiHeadAttention:
    """Return a self-attention layer with hand-set parameters; its first head averages values, weighted by scores."""
    heads = 1 + recipe.idle_head
    projection = Sparsemax() if recipe.projection == "sparsemax" else Softmax()
    layer = (CausalAttention if causal else MultiHeadAttention)(SIZE, heads, projection)
    width = SIZE // heads
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
        for head, place in ((0, SCORE), (1, IDLE))[:heads]:
            layer.query.bias[head * width] = width**0.5
            layer.key.weight[head * width, place] = 1
        layer.value.weight[1, VALUE] = 1
        layer.output.weight[CONTEXT, 1] = 1
    return layer


@torch.no_grad()
def made(recipe: Recipe, texts: Texts) -> nn.Module | None:
    """Build the network of a recipe and scale its logits to the recipe's margin; return None if this is impossible."""
    network = Composed(recipe) if recipe.kind == "pooled" else Stacked(recipe)
    logits = network.eval()(texts.tokens, texts.mask)
    told = (logits[:, 1] - logits[:, 0]) * (2 * texts.labels - 1)
    signed = told if told.min() > 0 else -told
    if signed.min() <= 1e-4 * signed.max():
        return None
    gain = recipe.margin / signed.min() * (1 if told.min() > 0 else -1)
    for parameter in network.decoder.parameters():
        parameter.mul_(gain)
    return network
