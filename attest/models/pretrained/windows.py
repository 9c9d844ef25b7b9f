"""The network that reads long texts in overlapping windows, decides once, and has attention over the whole text.

Windows are those of the tokenizers of transformers (``return_overflowing_tokens``, ``stride``): each begins and ends with the
special tokens of a text. An intervention on a token acts in every window.

Legend: B batch, W windows, N heads, T tokens of a text, L tokens of a window, H hidden, C logits.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from attest.core.attention.interventions import attending
from attest.core.attention.rollout import attention_rollout
from attest.core.errors import AttestError
from attest.core.kinds import TAGS
from attest.core.measures import class_logits
from attest.models.inputs import Inputs
from attest.models.networks.transformer import UniformPooling
from attest.models.prediction import OneNumber
from attest.models.pretrained.calls import AttentionCall, last_real
from attest.models.pretrained.network import PretrainedNetwork

Pooled = Literal["mean", "max", "mean-of-probabilities"]
POOLED = ("mean", "max", "mean-of-probabilities")
"""The ways to compute one prediction from the windows of a text: the mean of their logits, the largest logit of each class, or
the mean of their probabilities. The largest probability of each class is not offered, because these do not sum to 1."""


@dataclass(frozen=True)
class Windows:
    """The size and the overlap of the windows in which a long text is read.

    Args:
        window: the most tokens of a window, special ones included.
        stride: the number of tokens that a window shares with the next, special tokens not counted.
        before, after: the number of special tokens with which a text begins and ends.
    Raises:
        AttestError: a window has no place for more tokens than it shares with the next.
    """

    window: int
    stride: int
    before: int = 0
    after: int = 0

    def __post_init__(self) -> None:
        special = self.before + self.after
        if self.body < 1:
            raise AttestError(
                f"a window of {self.window} tokens has no place for a word, because {special} tokens of each window are "
                f"special; expected a window of at least {special + 1} tokens."
            )
        if not 0 <= self.stride < self.body:
            raise AttestError(
                f"the stride is {self.stride} and the window {self.window} tokens, of which {special} are special; expected a "
                f"stride from 0 and below {self.body}. The stride is the number of tokens that two neighbouring windows share."
            )

    @property
    def body(self) -> int:
        """Return the largest number of tokens in a window, special tokens not counted."""
        return self.window - self.before - self.after

    def of(self, tokens: int) -> int:
        """Return the number of windows of a text with a given number of tokens."""
        rest = max(0, tokens - self.before - self.after - self.body)
        return 1 + -(-rest // (self.body - self.stride))

    def places(self, mask: Tensor) -> "Places":
        """Return the token positions that each window reads, for texts with the mask ``(B, T)``."""
        size = mask.shape[-1]
        length = (last_real(mask) + 1)[:, None, None]
        start = (torch.arange(self.of(size), device=mask.device) * (self.body - self.stride)).unsqueeze(-1)
        there = (start == 0) | (start + self.stride < length - self.before - self.after)
        start = torch.where(there, start, 0)  # one that a shorter text does not have is its first window again
        last = torch.minimum(start + self.body, (length - self.before - self.after).clamp(min=0)) + self.before
        place = torch.arange(min(size, self.window), device=mask.device)
        own = torch.where(place < self.before, place, start + place)
        tokens = torch.where(start + place < last, own, length - last + start + place - self.after)
        inside = (place < self.before) | (start + place < last + self.after)
        tokens = tokens.where(inside, 0).clamp(min=0, max=size - 1)
        real = mask.unsqueeze(1).expand(-1, tokens.shape[1], -1).gather(-1, tokens) & inside
        return Places(tokens, real, there.squeeze(-1))


class Places(NamedTuple):
    """The token positions that each window reads in the texts of a batch."""

    tokens: Tensor
    """int64 ``(B, W, L)``: for each of L tokens in each of W windows, its position in the text."""
    real: Tensor
    """bool ``(B, W, L)``: True at real tokens, False at padding of a window."""
    there: Tensor
    """bool ``(B, W)``: True for the windows that a text has. A text with fewer than W windows reads its first window again in
    the place of those that are missing."""


class WindowedNetwork(UniformPooling, nn.Module):
    """A network that reads long texts in windows; experiments see the heads of all windows as heads of one layer.

    Args:
        network: reads a window.
        pooled: how windows decide together, one of ``POOLED``.
    Raises:
        AttestError: ``pooled`` is not known, or the network decides about each token.
    """

    attends_within = True
    reads_in_decode = True
    holds_a_model = True
    looks_back = False
    moves_keys = False
    """Whether interventions can exchange attention keys between tokens: no, because each window has keys of its own."""
    shows_values = False
    shows_outputs = False

    def __init__(self, network: PretrainedNetwork, windows: Windows, pooled: Pooled = "mean") -> None:
        super().__init__()
        if pooled not in POOLED:
            raise AttestError(f"pooled is {pooled!r}; expected one of {', '.join(POOLED)}.")
        if network.kind == TAGS:
            raise AttestError(
                f"{type(network.model).__name__} gives every token a class, so a token in two windows would get two classes; "
                "expected a model that classifies texts. Leave window= out."
            )
        if not network.kind.chooses and pooled == POOLED[2]:
            raise AttestError(
                f"{type(network.model).__name__} returns one number and no probabilities; expected pooled='mean' "
                "or pooled='max'."
            )
        if network.decides_by == "last":
            raise AttestError(
                f"{type(network.model).__name__} decides at the last token of a window, so erasing this token would change "
                "where the model decides; expected an encoder. Leave window= out."
            )
        self.network, self.windows, self.pooled = network, windows, pooled
        self.padding, self.masked = network.padding, network.masked
        self.kind, self.reads_beside = network.kind, network.reads_beside

    @property
    def decides(self) -> str:
        """Return a phrase that says how the decisions of the windows are combined."""
        if not self.kind.chooses:
            return f"the {'mean' if self.pooled == 'mean' else 'largest'} of their numbers is that of the text"
        return {
            "mean": "the mean of their logits decides",
            "max": "the largest logit of each class decides",
            "mean-of-probabilities": "the mean of their probabilities decides",
        }[self.pooled]

    @property
    def model(self) -> nn.Module:
        """Return the model that reads the windows."""
        return self.network.model

    @property
    def embeddings(self) -> nn.Embedding:
        """Return the token embedding of the model."""
        return self.network.embeddings

    @property
    def number(self) -> OneNumber | None:
        """Return the spread of the numbers that the network predicts; None if it decides between classes."""
        return self.network.number

    @number.setter
    def number(self, number: OneNumber) -> None:
        self.network.number = number

    @property
    def attends_everywhere(self) -> bool:
        """Return whether tokens of a window may attend to one another in every layer."""
        return self.network.attends_everywhere

    def encode(self, tokens: Tensor, mask: Tensor, **beside: Tensor) -> Tensor:
        """Map token ids int64 ``(B, T)``, mask bool ``(B, T)`` of whole texts to input embeddings ``(B, T, H)``."""
        return self.network.encode(tokens, mask)

    def decode(self, hidden: Tensor, weights: Tensor, **beside: Tensor) -> Tensor:
        """Map embeddings ``(B, T, H)`` to logits ``(B, C)``; tokens whose ``weights (B, T)`` are 0 are masked."""

        def of_windows(places: Places) -> Tensor:
            rows = torch.arange(len(hidden), device=hidden.device)[:, None, None]
            read = hidden[rows, places.tokens].flatten(0, 1), places.real.flatten(0, 1).to(weights)
            return self.network.decode(*read, **_in_windows(beside, places))

        return self._together(weights > 0, of_windows)

    def forward(self, tokens: Tensor, mask: Tensor, **beside: Tensor) -> Tensor:
        """Map token ids and mask ``(B, T)`` to logits ``(B, C)``."""
        return self._together(mask, self._reading(tokens, **beside))

    def itself(self, tokens: Tensor, mask: Tensor, **given: Tensor) -> Tensor:
        """Return the logits ``(B, C)`` of the model without hook points; it reads each text in windows."""

        def of_windows(places: Places) -> Tensor:
            told = _in_windows({"tokens": tokens} | given, places)
            return self.network.itself(mask=places.real.flatten(0, 1), **told)

        return self._together(mask, of_windows)

    def sides(self, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return which rows and which columns of each window's attention belong to real tokens, both bool ``(B, W, L)``."""
        places = self.windows.places(mask)
        real = places.real & places.there.unsqueeze(-1)
        return real, places.real

    def explained(self, attention: Mapping[str, Tensor], texts: Inputs, predicted: Tensor) -> Tensor:
        """Return the attention rollout ``(B, T)``: a sum over windows, weighted by their share in the decision.

        If ``pooled`` is a mean, the windows of a text have equal shares; for ``max``, the window with the largest logit of the
        predicted class has the share 1.

        Args:
            attention: ``(B, W N, L, L)`` of each layer.
            predicted: classes, int64 ``(B,)``.
        """
        places = self.windows.places(texts.mask)
        maps = {name: each.unflatten(1, (places.there.shape[1], -1)).flatten(0, 1) for name, each in attention.items()}
        begins = self.network.deciding(places.real.flatten(0, 1)) * self._shares(texts, places, predicted).view(-1, 1)
        found = attention_rollout(maps, begins).unflatten(0, places.there.shape)
        joined = found.new_zeros(texts.mask.shape)
        return joined.scatter_add_(-1, places.tokens.flatten(1), found.where(places.real, 0).flatten(1))

    @torch.no_grad()
    def _shares(self, texts: Inputs, places: Places, predicted: Tensor) -> Tensor:
        """Return the share of each window in the decision, ``(B, W)``; the shares of a text sum to 1."""
        if self.pooled != "max":
            return places.there / places.there.sum(dim=-1, keepdim=True)
        logits = self._reading(texts.tokens, **texts.beside)(places).unflatten(0, places.there.shape)
        one = logits.shape[-1] == 1  # of a sigmoid, which both classes have in common
        asked = torch.zeros_like(predicted) if one else predicted
        own = logits.gather(-1, asked[:, None, None].expand(-1, logits.shape[1], 1)).squeeze(-1)
        largest = own.masked_fill(~places.there, -torch.inf).argmax(dim=-1)
        return functional.one_hot(largest, places.there.shape[1]).to(torch.get_default_dtype())

    def _reading(self, tokens: Tensor, **beside: Tensor) -> Callable[[Places], Tensor]:
        return lambda places: self.network(mask=places.real.flatten(0, 1), **_in_windows({"tokens": tokens} | beside, places))

    def _together(self, mask: Tensor, of_windows: Callable[[Places], Tensor]) -> Tensor:
        """Combine the logits ``(B W, C)`` of windows into the logits ``(B, C)`` of their texts."""
        places = self.windows.places(mask)
        calls = [cast(AttentionCall, call) for call in attending(self.network).values()]
        try:
            for call in calls:
                call.windows = places.there.shape[1]
            logits = of_windows(places).unflatten(0, places.there.shape)
        finally:
            for call in calls:
                call.windows = 1
        there = places.there.unsqueeze(-1)
        if self.pooled == "max":
            return logits.masked_fill(~there, -torch.inf).amax(dim=1)
        if self.pooled == "mean":
            return logits.where(there, 0).sum(dim=1) / there.sum(dim=1)
        alone = self.kind.asks or logits.shape[-1] == 1  # each logit is the input of a sigmoid: two classes each
        if alone:
            logits, there = class_logits(logits.unsqueeze(-1)), there.unsqueeze(-1)
        mean = logits.softmax(dim=-1).where(there, 0).sum(dim=1) / there.sum(dim=1)
        logarithms = mean.clamp(min=torch.finfo(mean.dtype).tiny).log()
        return logarithms[..., 1] - logarithms[..., 0] if alone else logarithms


def _in_windows(columns: Mapping[str, Tensor], places: Places) -> dict[str, Tensor]:
    """Copy columns of tokens ``(B, T)`` into the windows that contain the tokens, ``(B W, L)``; those of texts ``(B W,)``."""
    count = places.tokens.shape[1]
    return {
        name: each.repeat_interleave(count)
        if each.ndim == 1
        else each.unsqueeze(1).expand(-1, count, -1).gather(-1, places.tokens).flatten(0, 1)
        for name, each in columns.items()
    }


def windowed(
    network: PretrainedNetwork, tokenizer: Any, longest: int, window: int, stride: int, pooled: Any
) -> WindowedNetwork:
    """Return a network that reads texts in windows with a given model."""
    if window > longest:
        raise AttestError(
            f"the window has {window} tokens, and {type(network.model).__name__} reads at most {longest}; expected a window "
            f"of at most {longest}."
        )
    of_text = [each is not None for each in tokenizer("a", verbose=False).sequence_ids()]
    before, after = of_text.index(True), of_text[::-1].index(True)
    return WindowedNetwork(network, Windows(window, stride, before, after), pooled)


def require_own_windows(network: WindowedNetwork, tokenizer: Any, texts: list[str], tokens: Tensor, mask: Tensor) -> None:
    """Refuse texts ``(B, T)`` if Attest and their tokenizer cut them into different windows."""
    windows = network.windows
    places = windows.places(mask)
    rows = torch.arange(len(tokens))[:, None, None]
    read = tokens[rows, places.tokens].tolist()
    for text, ids, real, there in zip(texts, read, places.real.tolist(), places.there.tolist(), strict=True):
        told = tokenizer(text, truncation=True, max_length=windows.window, stride=windows.stride,
                         return_overflowing_tokens=True, verbose=False)["input_ids"]  # fmt: skip
        ours = [[id for id, is_real in zip(row, kept, strict=True) if is_real]
                for row, kept, is_there in zip(ids, real, there, strict=True) if is_there]  # fmt: skip
        if told != ours:
            raise AttestError(
                f"the text {text[:20]!r} is not cut into windows from its beginning: the tokenizer has "
                f"truncation_side={tokenizer.truncation_side!r}; expected truncation_side='right'."
            )
