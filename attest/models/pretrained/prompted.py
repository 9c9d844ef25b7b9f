"""The wrapper of a causal language model that answers a prompt; the first tokens of the answers decide between labels.

Legend: B batch, T tokens, V vocabulary, C labels.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from attest.core.errors import AttestError
from attest.models.pretrained.calls import last_real
from attest.models.pretrained.network import PretrainedNetwork
from attest.models.pretrained.texts import Encoder, begun_once, shown_tokens, spaced_in, words_in

TEXT = "{text}"
"""The placeholder in the template of a prompt that each text replaces."""
HOW = "For example: prompt='Review: {text}\\nSentiment:', answers={'negative': ' bad', 'positive': ' good'}"
EXAMPLE = '--prompt "Review: {text}\\nSentiment:" --labels positive=" good",negative=" bad"'


@dataclass(frozen=True)
class Prompt:
    """A question about a text, with the answers that a model may give.

    Args:
        template: a text that contains ``{text}`` once.
        answers: the answer for each label, in class order: ``{"positive": " good", …}``.
    Raises:
        AttestError: the template does not contain ``{text}`` once, there are fewer than two labels, or one has no answer.
    """

    template: str
    answers: Mapping[str, str]

    def __post_init__(self) -> None:
        if not isinstance(self.template, str):
            raise AttestError(
                f"the prompt is a {type(self.template).__name__}; expected a string with {TEXT} in the place of the text. "
                f"{HOW}"
            )
        if not isinstance(self.answers, Mapping):
            raise AttestError(
                f"answers= is a {type(self.answers).__name__}; expected a dictionary with an answer for each label, in class "
                f"order. {HOW}"
            )
        if self.template.count(TEXT) != 1:
            raise AttestError(
                f"the prompt {self.template!r} contains {TEXT} {self.template.count(TEXT)} times; expected {TEXT} exactly "
                f"once, in the place of the text. For example: {EXAMPLE}"
            )
        if len(self.answers) < 2 or not all(isinstance(answer, str) and answer for answer in self.answers.values()):
            raise AttestError(
                f"the labels of the prompt are {dict(self.answers)}; expected at least two labels, each with an answer. For "
                f"example: {EXAMPLE}"
            )

    def about(self, text: str) -> str:
        """Return the prompt with a text in place of ``{text}``."""
        return self.template.replace(TEXT, text)

    def first_tokens(self, tokenizer: PreTrainedTokenizerBase, apart: bool = False) -> list[int]:
        """Return the id of each answer's first token, in class order; ``apart`` tokenizes each answer without the prompt."""
        first = [
            _first_alone(tokenizer, answer) if apart else _first_after(tokenizer, self.about("a text"), answer)
            for answer in self.answers.values()
        ]
        if (unknown := tokenizer.unk_token_id) is not None and unknown in first:
            answer = [*self.answers.values()][first.index(unknown)]
            raise AttestError(
                f"the answer {answer!r} begins with a token that the tokenizer does not know, {tokenizer.unk_token!r}; "
                "expected answers of words that the model can write."
            )
        if same := [token for token in first if first.count(token) > 1]:
            labels = [label for label, token in zip(self.answers, first, strict=True) if token == same[0]]
            (shown,) = shown_tokens(tokenizer, same[:1])
            raise AttestError(
                f"the answers for {' and '.join(labels)} begin with the same token, {shown!r}; expected answers with "
                "different first tokens, because only first tokens are compared."
            )
        return first


def prompt_typed(template: str, labels: str | None) -> Prompt:
    """Return the prompt and the answers of a command line, in which ``\\n`` becomes a new line."""
    return Prompt(template.replace(r"\n", "\n"), answers_typed(labels or ""))


def answers_typed(typed: str) -> dict[str, str]:
    """Parse answers typed as ``positive= good,negative= bad``; a space after ``=`` is part of the answer."""
    pairs = [each.partition("=") for each in typed.split(",")]
    if bare := [label for label, equals, answer in pairs if not (label and equals and answer)]:
        raise AttestError(
            f"--labels has {bare[0]!r} without an answer; expected <label>=<answer> for every label of the data, "
            f"separated by commas. For example: {EXAMPLE}"
        )
    return {label: answer for label, _, answer in pairs}


def _first_after(tokenizer: PreTrainedTokenizerBase, prompt: str, answer: str) -> int:
    read = tokenizer([prompt, prompt + answer], verbose=False)
    before, after = read["input_ids"]
    if tokenizer.is_fast and read[0].special_tokens_mask[-1]:
        (end,) = shown_tokens(tokenizer, before[-1:])
        raise AttestError(
            f"the tokenizer ends every text with {end!r}, behind which nobody answers; expected a tokenizer that adds no "
            "token at the end of a text. Many take add_eos_token=False."
        )
    if len(after) == len(before) or after[: len(before)] != before:
        raise AttestError(
            f"the answer {answer!r} shares a token with the end of the prompt, {prompt[-10:]!r}, or adds no token; expected "
            "an answer that begins a new token. Most answers begin with a space; then the prompt must not end with one."
        )
    return after[len(before)]


def _first_alone(tokenizer: PreTrainedTokenizerBase, answer: str) -> int:
    ids = tokenizer(text_target=answer, add_special_tokens=False, verbose=False)["input_ids"]
    if not ids:
        raise AttestError(f"the answer {answer!r} has no token; expected a word that the model can write.")
    return ids[0]


class PromptEncoder(Encoder):
    """An encoder that puts a text into a prompt and returns its token ids; it refuses a prompt that is too long."""

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, prompt: Prompt) -> None:
        super().__init__(model, tokenizer)
        self.prompt = prompt
        self.options = begun_once(tokenizer, prompt.about("a text"))

    def columns(self, text: str) -> dict[str, list[int]]:
        if not isinstance(text, str):
            raise AttestError(
                f"a prompt asks about one text, but a text is a {type(text).__name__} of {len(text)} parts; expected strings. "
                'For example: [" ".join(parts) for parts in texts]'
            )
        ids: list[int] = self._read(self.prompt.about(text))["input_ids"]
        if len(ids) > self.longest:
            raise AttestError(
                f"the prompt about the text {text[:20]!r} has {len(ids)} tokens, and the model reads at most {self.longest}; "
                "expected a shorter prompt. Shorten the text or leave it out."
            )
        return {"token_ids": ids}

    def everything(self, texts: Sequence[str]) -> dict[str, list[list[int]]]:
        return super().everything([self.prompt.about(text) for text in texts])

    def word_of(self, text: str) -> list[int]:
        """Return the word index of each token of the prompt, -1 for special tokens, also those that the prompt writes."""
        read, special = self._read(self.prompt.about(text)), {*self.tokenizer.all_special_ids} - {self.tokenizer.unk_token_id}
        return [-1 if id in special else word for id, word in zip(read["input_ids"], words_in(read[0]), strict=True)]

    def spaced_of(self, text: str) -> list[int]:
        """Return the index of each token's word in the text; -1 for tokens of the prompt around the text."""
        return spaced_in(self._read(self.prompt.about(text))[0], (text,), self.prompt.template.index(TEXT))


class PromptedNetwork(PretrainedNetwork):
    """A causal language model that chooses between answers to a prompt by the logits of their first tokens.

    Args:
        model: logits ``(B, T, V)`` of the next token.
        padding: the token id at padding.
        answers: C token ids, in class order.
        masked: as in ``PretrainedNetwork``.
    Raises:
        AttestError: as in ``PretrainedNetwork``; or the model has no logits of tokens, or its tokens attend to later tokens.
    """

    def __init__(self, model: PreTrainedModel, padding: int, answers: Sequence[int], masked: int | None = None) -> None:
        if model.get_output_embeddings() is None:
            raise AttestError(
                f"{type(model).__name__} does not predict the next token, so it cannot answer a prompt; expected a causal "
                "language model, such as LlamaForCausalLM."
            )
        self._answers = list(answers)
        super().__init__(model, padding, masked)
        if not self.looks_back:
            raise AttestError(
                f"{type(model).__name__} lets tokens attend to later tokens, so it cannot be asked for the next token; "
                "expected a causal language model, such as LlamaForCausalLM."
            )

    def logits_of(self, mask: Tensor, **inputs: Tensor) -> Tensor:
        """Return the logits ``(B, C)`` of C answers: for each answer, the logit of its first token."""
        begin = mask.shape[-1] - inputs["input_ids"].shape[-1]
        with self._asked_at(last_real(mask) - begin):
            return super().logits_of(mask, **inputs)[:, 0, self._answers]

    def itself(self, tokens: Tensor, mask: Tensor, **given: Tensor) -> Tensor:
        with self._asked_at(last_real(mask)):
            return super().itself(tokens, mask, **given)[:, 0, self._answers]

    @contextmanager
    def _asked_at(self, place: Tensor) -> Iterator[None]:
        """Let the model compute logits only at the position ``place (B,)`` of each text, to save memory."""
        head: nn.Module = self.model.get_output_embeddings()
        rows = torch.arange(len(place), device=place.device)

        def one(_module: nn.Module, inputs: tuple[Any, ...]) -> Tensor:
            return inputs[0][rows, place].unsqueeze(1)

        with head.register_forward_pre_hook(one):
            yield
