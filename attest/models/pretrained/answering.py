"""The probability of a decoder's answer to a whole or shortened prompt, and the attention of the answer's tokens.

The keys and values of the tokens before a removed part are computed once, because no token attends to a later one.

Legend: T tokens of the prompt, A tokens of the answer, S = T + A - 1, L layers, N heads, U parts.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.cache_utils import DynamicCache

from attest.core.errors import AttestError
from attest.core.memory import memory_budget, rows_at_once
from attest.core.rounding import rounding
from attest.models.pretrained.attention import attending_through
from attest.models.pretrained.calls import Attend, Look

Span = tuple[int, int]
"""A part of a prompt, as the index of its first token and the index after its last token."""
CLOSE = 1e-4
"""The answer's log-probability is computed with cached keys and values, and once by a whole forward pass. If the two differ by
more than this, the cached computation is not used."""
COPIES, MAPS = 3, 4
"""To estimate memory: the first is the number of tensors that are kept for each layer (queries, keys, values); the second is
the number of values that exist at once for each attention weight (score, mask, weight, a copy)."""


class Rows(NamedTuple):
    """The attention weights from the tokens of an answer to every token before the answer."""

    attention: Tensor
    """float ``(T,)``: the attention weight from the answer to each token of the prompt: the mean over the answer's tokens and
    over all layers and heads."""
    without_first: Tensor
    """float ``(T,)``: as ``attention``, but without the first token, which many models attend to for no reason in the text:
    its weight is set to 0, and the other weights of each attention row are scaled to sum to 1."""
    by_head: Tensor
    """float ``(T, L N)``: as ``attention``, but for each head by itself, N heads in each of L layers, first layer first; a
    mean over the answer's tokens."""
    written: Tensor
    """float ``(T,)``: a gradient-weighted attention to each token of the prompt: attention weight times the gradient of the
    answer's log-probability with respect to this weight, summed over the answer's tokens, layers and heads."""


class _LookAgain(Look):
    """A record of a forward pass's attention computations, each of which can be repeated later for a few rows."""

    def __init__(self, chunks: Sequence[slice]) -> None:
        super().__init__()
        self.chunks, self.calls = chunks, list[Attend]()

    def seen_of(self, attend: Attend) -> tuple[Tensor, Tensor | None]:
        self.calls.append(attend)
        return torch.cat([attend(rows)[0] for rows in self.chunks], dim=1), None


@dataclass(frozen=True)
class Answer:
    """The answer of a causal language model, int64 ``(A,)``, and the prompt that it answers, int64 ``(T,)``."""

    model: PreTrainedModel
    prompt: Tensor
    answer: Tensor

    @property
    def tokens(self) -> Tensor:
        """Return the token ids that the model reads, int64 ``(S,)``: the prompt, and the answer without its last token."""
        return torch.cat([self.prompt, self.answer[:-1]])

    @torch.no_grad()
    def log_probability(self, kept: Tensor | None = None) -> float:
        """Return the log-probability of the answer if the prompt has only its ``kept`` tokens, bool ``(T,)``."""
        prompt = self.prompt if kept is None else self.prompt[kept]
        if not len(prompt):
            raise AttestError(
                "without some of its sources the prompt has no token, so there is nothing to answer; expected a prompt with "
                "words beside the context. For example: prompt='{context}\\nAnswer:' (--prompt)"
            )
        return float(self._of_last_rows(torch.cat([prompt, self.answer[:-1]])))

    @property
    def within(self) -> float:
        """Return the largest difference between two log-probabilities of the answer that rounding and reuse can make."""
        return max(CLOSE, rounding(self.model.dtype))

    def without_each(self, parts: Sequence[Span]) -> Tensor:
        """Return, for each part of the prompt, the answer's log-probability without this part, float64 ``(U,)``.

        A whole pass checks the result for the part with the most reuse. If the two differ, whole passes compute all parts.
        """
        found = self._by_reuse(parts)
        last = max(range(len(parts)), key=lambda place: parts[place][0])
        if found is None or abs(float(found[last]) - self._whole(parts[last])) > CLOSE:
            return torch.tensor([self._whole(part) for part in parts], dtype=torch.float64)
        return found

    @torch.no_grad()
    def _by_reuse(self, parts: Sequence[Span]) -> Tensor | None:
        """Compute ``without_each`` with cached keys and values; return None if the model's cache cannot be shortened."""
        found, tokens = torch.empty(len(parts), dtype=torch.float64), self.tokens
        try:
            cache = DynamicCache(config=self.model.config)
            self._of_last_rows(tokens, cache)
            for place in sorted(range(len(parts)), key=lambda place: -parts[place][0]):
                begin, end = parts[place]
                if begin:
                    cache.crop(begin - cache.get_seq_length())
                found[place] = float(self._of_last_rows(tokens[end:], cache if begin else None))
        except (MemoryError, torch.OutOfMemoryError):
            raise
        except Exception:  # a cache of another kind raises anything; whole passes then give the same numbers
            return None
        return found

    def _whole(self, part: Span) -> float:
        kept = torch.ones_like(self.prompt, dtype=torch.bool)
        kept[part[0] : part[1]] = False
        return self.log_probability(kept)

    def _of_last_rows(self, tokens: Tensor, cache: DynamicCache | None = None, embedded: Tensor | None = None) -> Tensor:
        """Return the answer's log-probability from a pass over ``tokens``, which may follow cached keys and values."""
        size = len(self.answer)
        told: dict[str, Any] = {"input_ids": tokens.unsqueeze(0)} if embedded is None else {"inputs_embeds": embedded}
        if "logits_to_keep" in inspect.signature(self.model.forward).parameters:
            told["logits_to_keep"] = size
        logits = self.model(**told, past_key_values=cache, use_cache=cache is not None, return_dict=True).logits
        log_probabilities = logits[0, -size:].double().log_softmax(dim=-1)
        return log_probabilities.gather(-1, self.answer.unsqueeze(-1)).sum()

    def rows(self) -> Rows:
        """Return the attention weights of the tokens at which the model predicts the answer.

        Raises:
            AttestError: attention is not reached through transformers' ``AttentionInterface``, or a row of weights does not
                lie over all tokens.
        """
        size, length = len(self.answer), len(self.prompt)
        cache = DynamicCache()  # without the windows of the config, outside of which a cache forgets tokens
        before, last = self.tokens[:-size], self.tokens[-size:]
        if len(before):
            with torch.no_grad():
                self.model(input_ids=before.unsqueeze(0), past_key_values=cache, use_cache=True)
        look = Look()
        with torch.enable_grad():
            with attending_through(self.model, look):
                found = self._of_last_rows(last, cache, self._embedded(last))
            self._require_seen(look, found)
            gradients = torch.autograd.grad(found, look.seen)
        weights = torch.stack([each[0] for each in look.seen]).detach()
        written = torch.stack([each[0] for each in gradients]) * weights
        others = weights.index_fill(-1, torch.tensor([0], device=weights.device), 0)
        without_first = others / others.sum(dim=-1, keepdim=True)
        without_first = without_first.nan_to_num(nan=0.0)  # of a row that has all its weight on the first token
        by_head = weights.mean(dim=2).flatten(0, 1).mT[:length]
        others = without_first.mean(dim=(0, 1, 2))[:length]
        return Rows(by_head.mean(dim=-1), others, by_head, written.sum(dim=(0, 1, 2))[:length])

    def _require_seen(self, look: Look, found: Tensor) -> None:
        name = type(self.model).__name__
        if not look.seen:
            raise AttestError(
                f"{name} does not compute attention through transformers' AttentionInterface, so the attention of its answer "
                "cannot be read; expected a decoder such as Llama, Qwen or GPT-2."
            )
        if lengths := {each.shape[-1] for each in look.seen} - {len(self.tokens)}:
            raise AttestError(
                f"{name} attends to {min(lengths)} of {len(self.tokens)} tokens when earlier tokens are read first, so that "
                "their places are not known; expected a decoder whose cache keeps all tokens. Give a shorter context."
            )
        apart = abs(float(found.detach()) - self.log_probability())
        if apart > self.within:
            raise AttestError(
                f"{name} gives the answer a log-probability that differs by {apart:.2g} when earlier tokens are read first; "
                "expected a decoder, in which no token attends to a later token."
            )

    @torch.no_grad()
    def rollout(self) -> Tensor | None:
        """Return attention rollout (Abnar & Zuidema 2020) from the answer to the prompt's tokens, float ``(T,)``.

        Keys and queries are kept, and weights are computed again from them, in chunks of rows. None if keys and queries do not
        fit the memory budget.
        """
        config, size = self.model.config.get_text_config(), len(self.tokens)
        if COPIES * config.num_hidden_layers * size * config.hidden_size * 4 > memory_budget():
            return None
        step = rows_at_once(MAPS * config.num_attention_heads * size * 4)
        look = _LookAgain([slice(begin, begin + step) for begin in range(0, size, step)])
        with attending_through(self.model, look):
            self._of_last_rows(self.tokens)
        reached = torch.zeros(size, device=self.tokens.device)
        reached[-len(self.answer) :] = 1 / len(self.answer)
        for attend in reversed(look.calls):
            moved = [reached[rows] @ attend(rows)[1][0].mean(dim=0).float() for rows in look.chunks]
            reached = (torch.stack(moved).sum(dim=0) + reached) / 2  # as much for the residual connection
        return reached[: len(self.prompt)]

    @torch.enable_grad()
    def gradient_times_input(self) -> Tensor:
        r"""Return :math:`|\langle \partial \log p / \partial e_t, e_t \rangle|` for each token of the prompt, ``(T,)``."""
        embedded = self._embedded(self.tokens)
        (gradient,) = torch.autograd.grad(self._of_last_rows(self.tokens, embedded=embedded), embedded)
        return (gradient * embedded.detach()).sum(dim=-1).abs()[0, : len(self.prompt)]

    def _embedded(self, tokens: Tensor) -> Tensor:
        return self.model.get_input_embeddings()(tokens.unsqueeze(0)).detach().requires_grad_()


@torch.no_grad()
def written_by(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, prompt: Tensor, most: int) -> Tensor:
    """Continue a prompt by the likeliest token each time; return their ids, int64 ``(A,)``, up to an end or special token.

    Of the model's ``generation_config`` only the end tokens take part.

    Args:
        prompt: int64 ``(T,)``.
        most: the largest number of tokens.
    Raises:
        AttestError: the model generates nothing.
    """
    end = model.generation_config.eos_token_id  # one, several or none
    ends = {*tokenizer.all_special_ids, *(end if isinstance(end, list) else [end])}
    cache, read, answer = DynamicCache(config=model.config), prompt, []
    for _ in range(most):
        logits = model(input_ids=read.unsqueeze(0), past_key_values=cache, use_cache=True, return_dict=True).logits
        read = logits[0, -1:].argmax(dim=-1)
        if int(read) in ends:
            break
        answer.append(read)
    if not answer:
        raise AttestError(
            "the model ends its answer at once; expected an answer with at least one token. Give an answer: --answer"
        )
    return torch.cat(answer)
