"""A model of transformers that classifies texts or tokens, as a network that can be put on trial.

Legend: B batch, T tokens, H hidden, C logits, K classes.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from attest.core.attention import Uniform
from attest.core.attention.interventions import Intervention, attending, intervene, recorded
from attest.core.errors import AttestError, said_by
from attest.core.memory import in_evaluation_mode
from attest.models.prediction import OneNumber
from attest.models.pretrained.calls import AttentionCall, last_real
from attest.models.pretrained.resuming import after_prefix, beginning_at, blocks_of, last_token_of, remembered
from attest.models.pretrained.softmaxes import Softmaxes

if TYPE_CHECKING:
    from transformers import PreTrainedModel

UNREACHED = "no softmax in it gives every token a row of weights over the tokens of its text"
DIGIT = 128
"""The base in which token types and labels are written beside embeddings: bfloat16 counts to 256 without gaps."""
LENGTH = 5
"""Tokens of the text that a model is inspected with."""
COPIES, LONGER = 3, (1, 2, 3)
"""The copies of that text, and how many times longer it is made, when the softmaxes over its tokens are searched."""
EXPECTED = "expected one that attends so, BERT, RoBERTa, DeBERTa, ModernBERT, GPT-2 or Llama for example"


class Choices(NamedTuple):
    """What a model of multiple choice says of N texts with C choices each."""

    logits: Tensor
    """float ``(N, C)``."""
    made: Tensor
    """int64 ``(N,)``: the choice that it makes, whose tokens are on trial."""


class PretrainedNetwork(nn.Module):
    """A Transformer of other people with the steps of ours, so that gradients and counterfactual texts can be had from it too.

    What is encoded is the input embedding, and decoding is all that follows; attention is inside the layers. ``score`` and
    ``project`` have nothing to learn: they say which tokens there are.

    Args:
        model: of the library transformers; classifies texts, logits ``(B, C)``, or tokens, ``(B, T, K)``; put into evaluation
            mode by whoever tries it.
        padding: the token id at padding.
        masked: the token id that stands where a token is erased by a mask; None for what our own data have there.
        segments: how many token types it is told; 1 if it is told none.
        labels: of how many labels it decides each by itself; 0 if it chooses one class. It is then asked about one label of
            each text: logits are ``(B, 1)``, of one sigmoid.
        number: the scale of the one number that it says, ``(B, 1)``, instead of deciding between classes; None if it does.
        squashed: whether that number is the sigmoid of the model's logit.

    A model of multiple choice, which gives each choice a logit, reads the choice that it makes. Logits are those of all
    choices, ``(B, C)``, of which the others stay as ``choices`` has them. As long as that is None, there is one, ``(B, 1)``.

    Token types, and the label or the text that is asked about, stand in the token ids, so that they stay with their token
    wherever an experiment puts it: ``token + rows * (type + segments * label)``, with as many rows as there are embeddings.

    Raises:
        AttestError: its attention cannot be reached, or is none from token to token of the text.
    """

    pools_by_attention = False
    attends_within = True
    reads_in_decode = True
    """``encode`` looks tokens up and no more, so that there are no hidden states between the two to ask about."""
    holds_a_model = True
    """It is called by the class of ``model``."""

    def __init__(
        self,
        model: Any,
        padding: int = 0,
        masked: int | None = None,
        segments: int = 1,
        labels: int = 0,
        number: OneNumber | None = None,
        squashed: bool = False,
    ) -> None:
        super().__init__()
        self.masked, self.segments, self.labels = masked, segments, labels
        self.number, self._squashed = number, squashed
        self.model, self.padding = model, padding
        self.tags = type(model).__name__.endswith("ForTokenClassification")
        """Whether every token gets a class."""
        self.chooses = type(model).__name__.endswith("ForMultipleChoice")
        """Whether it chooses between several texts."""
        self.choices: Choices | None = None
        """What it says of all choices of each text, once that is known; ``labels`` is then the number of texts."""
        self.calls = nn.ModuleList()
        self.real = torch.ones(1, 1, dtype=torch.bool)
        self.made = 0
        """Calls of the pass that runs, as many as have been made."""
        self.beside: tuple[None, ...] | None = None
        """What its layers return beside the hidden states, None for each; None if they return hidden states alone."""
        self.attends_at: tuple[int, ...] | None = None
        """Which softmaxes of a pass are attention; None if it is reached by transformers' ``AttentionInterface``."""
        self._exploring = self._untouched = False
        self._explore()
        self.decides_by = self._where_it_decides()
        """Which rows of the last layer lead to the decision: the ``first``, the ``last``, or ``all``."""

    def next_call(self) -> AttentionCall:
        """Return the call that is made now; the first pass of all counts them."""
        if self.made == len(self.calls) and self._exploring:
            self.calls.append(AttentionCall())
        if self.made == len(self.calls):
            raise AttestError(
                f"{type(self.model).__name__} computes attention more often than in its first pass ({len(self.calls)} "
                "times); expected the same number in every pass."
            )
        self.made += 1
        call = self.calls[self.made - 1]
        assert isinstance(call, AttentionCall)
        return call

    def encode(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Map token ids int64 ``(B, T)``, mask bool ``(B, T)`` to input embeddings ``(B, T, H)``.

        Where token types or labels stand in the ids, two last columns say which, as digits that bfloat16 holds exactly.
        """
        embedded = self.embeddings(self._plain(tokens).where(mask, self.padding))
        if not self._noted:
            return embedded
        beside = tokens // self.rows
        return torch.cat([embedded, torch.stack([beside % DIGIT, beside // DIGIT], dim=-1).to(embedded)], dim=-1)

    def score(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Map embeddings ``(B, T, H)`` to zeros ``(B, T)``: every token is there alike."""
        return hidden.new_zeros(mask.shape)

    def project(self, scores: Tensor, mask: Tensor) -> Tensor:
        """Map any scores ``(B, T)`` to one over the number of real tokens, ``(B, T)``."""
        return Uniform()(scores, mask)

    def decode(self, hidden: Tensor, weights: Tensor) -> Tensor:
        """Map embeddings ``(B, T, H)``, attended to in every layer where weights ``(B, T)`` are above 0 to logits ``(B, C)``.

        The model is given token ids all the same, whose embeddings are then replaced: many a model decides elsewhere, or
        scales otherwise, where it is given embeddings alone.
        """
        mask = weights > 0
        tokens = torch.where(self._has_padding(mask), self.padding, self._plain_ids[0])
        if self._noted:
            low, high = hidden[..., -2:].long().unbind(dim=-1)
            hidden, tokens = hidden[..., :-2], tokens + self.rows * (low + DIGIT * high)
        replacing = self.embeddings.register_forward_hook(self._in_place_of_what_is_looked_up(hidden))
        try:
            return self.logits_of(mask, input_ids=tokens)
        finally:
            replacing.remove()

    def _has_padding(self, mask: Tensor) -> Tensor:
        """Return where the token id of padding stands, bool ``(B, T)``: behind the last token that is attended to."""
        return last_real(mask).unsqueeze(-1) < torch.arange(mask.shape[-1], device=mask.device)

    def _in_place_of_what_is_looked_up(self, hidden: Tensor) -> Callable[[nn.Module, Any, Tensor], Tensor]:
        """Return a forward hook of the table of tokens, which gives embeddings ``(B, T, H)`` in place of its own.

        It does so once: GPT-2 looks up types after tokens, in the same table.
        """
        waiting = [hidden.clone()]  # which some scale in place

        def replace(_table: nn.Module, _tokens: Any, own: Tensor) -> Tensor:
            if not waiting:
                return own
            if own.shape != hidden.shape:
                raise AttestError(
                    f"{type(self.model).__name__} turns a batch round before it looks tokens up ({tuple(own.shape)} for "
                    f"{tuple(hidden.shape)}), so that no other vectors can stand for tokens; expected a model that looks them "
                    "up as they are given, (B, T)."
                )
            return waiting.pop()

        return replace

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Map token ids and mask ``(B, T)`` to logits ``(B, C)``, of a model of tokens ``(B, T, K)``, arbitrary at padding."""
        if padding_of(self.model) is None:  # it takes no token for padding, also not ours
            return self.decode(self.encode(tokens, mask), mask.to(self.embeddings.weight.dtype))
        return self.logits_of(mask, input_ids=tokens.where(mask, self.padding))

    def itself(self, tokens: Tensor, mask: Tensor, **given: Tensor) -> Tensor:
        """Return logits of the model as its owner runs it: by its own attention, with everything that its tokenizer gave.

        Args:
            tokens, mask: ``(B, T)``.
            given: the rest of what the tokenizer gave, ``(B, T)`` each; what the model does not take is left out.
        """
        taken = inspect.signature(self.model.forward).parameters
        told = {"input_ids": self._plain(tokens).where(mask, self.padding), "attention_mask": mask.long()}
        if self.segments > 1:
            told["token_type_ids"] = (tokens // self.rows % self.segments).where(mask, 0)
        told |= {name: values for name, values in given.items() if name in taken}
        reads_many = padding_of(self.model) is not None
        if reads_many or not type(self.model).__name__.endswith("ForSequenceClassification"):
            return self._asked(self._logits_in(self.model(**self._one_of_many(told), return_dict=True)), tokens)
        alone = [self.model(**{name: each[row : row + 1, :length] for name, each in told.items()}, return_dict=True).logits
                 for row, length in enumerate(mask.sum(dim=-1).tolist())]  # fmt: skip
        return self._asked(torch.cat(alone), tokens)

    def written_over(self, tokens: Tensor, others: Tensor) -> Tensor:
        """Return other token ids in the places of tokens, with the token types and labels of these."""
        return others + tokens - tokens % self.rows

    @property
    def rows(self) -> int:
        """How many token ids there are."""
        return len(self.embeddings.weight)

    def _plain(self, tokens: Tensor) -> Tensor:
        return tokens % self.rows if self._noted else tokens

    @property
    def _noted(self) -> bool:
        return self.segments > 1 or self.labels > 0

    def _asked(self, logits: Tensor, tokens: Tensor) -> Tensor:
        """Return the logit ``(B, 1)`` of the label that each text is asked about; all logits if it chooses one class.

        Of one number, that number, as its owner reads it; of multiple choice, the logits of all choices of the text.
        """
        if not self.labels:
            return logits.sigmoid() if self._squashed else logits
        asked = (tokens // (self.rows * self.segments)).amax(dim=-1, keepdim=True)
        if self.choices is None:
            return logits.gather(-1, asked)
        return self.choices.logits[asked[:, 0]].to(logits).scatter(-1, self.choices.made[asked], logits)

    def _one_of_many(self, told: dict[str, Any]) -> dict[str, Any]:
        """Return inputs ``(B, T)`` as those of one choice a text, ``(B, 1, T)``, if the model chooses between several."""
        lifted = {name: each.unsqueeze(1) for name, each in told.items() if isinstance(each, Tensor) and each.ndim == 2}
        return told | lifted if self.chooses else told

    def deciding(self, mask: Tensor) -> Tensor:
        """Return how the last hidden states come to the decision, ``(B, T)``: the one that is read, or all alike."""
        if self.decides_by == "all":
            return Uniform()(torch.zeros(mask.shape, device=mask.device), mask)
        row = torch.zeros_like(mask.sum(dim=-1)) if self.decides_by == "first" else last_real(mask)
        return nn.functional.one_hot(row, mask.shape[-1]).to(torch.get_default_dtype())

    @property
    def attends_everywhere(self) -> bool:
        """Whether tokens may attend to one another in every layer, as in an encoder."""
        return all(call.everywhere for call in self.calls)

    @property
    def shows_values(self) -> bool:
        """Whether the values of its attention are seen, and not its softmaxes alone."""
        return self.attends_at is None or all(call.shows_values for call in self.calls)

    @cached_property
    def shows_outputs(self) -> bool:
        """Whether what each head hands on is seen: it is 0 for the heads whose weights are 0, and for no others."""
        tokens = self.some_tokens()
        mask = torch.ones_like(tokens, dtype=torch.bool)

        def only_every_second(weights: Tensor, _mask: Tensor) -> Tensor:
            silent = torch.zeros_like(weights)
            silent[:, 1::2] = weights[:, 1::2]
            return silent

        with torch.no_grad(), in_evaluation_mode(self):
            with recorded(self, "outputs") as outputs:
                self(tokens, mask)
            with intervene(self, Intervention("weights", only_every_second)), recorded(self, "outputs") as every_second:
                self(tokens, mask)
        speaks = [each.abs().amax(dim=(0, 2, 3)) > 0 for found in (outputs, every_second) for each in found.values()]
        wanted = [torch.arange(len(each), device=each.device) % 2 == 1 for each in speaks]
        first = len(self.calls)
        return (
            len(outputs) == len(every_second) == first
            and all(each.all() for each in speaks[:first])
            and all(map(torch.equal, speaks[first:], wanted[first:]))
        )

    @property
    def moves_keys(self) -> bool:
        """Whether the keys of its attention can be exchanged between tokens."""
        return self.shows_values or self.attends_everywhere

    @property
    def looks_back(self) -> bool:
        """Whether it is a decoder: tokens attend to none that come later, and the last one decides."""
        return self.decides_by == "last" and all(call.causal for call in self.calls)

    def from_the_last(self, tokens: Tensor, mask: Tensor) -> Callable[[Tensor], Tensor] | None:
        """Let the last token of each text pass again and again, all others once; see ``attest.models.pretrained.resuming``.

        Args:
            tokens, mask: int64 and bool ``(B, T)``.
        Returns:
            A function of rows, int64 ``(R,)``, to their logits ``(R, C)``, which feels whatever is done to the last row of
            attention; None if earlier tokens could feel it too, or the model cannot read one token at its place.
        """
        return last_token_of(self, tokens, mask) if self.looks_back and self.attends_at is None else None

    @cached_property
    def blocks(self) -> Mapping[str, nn.Module]:
        """The layers that passes can begin at, first to last, by the names of their calls; none where that is not exact."""
        return dict(zip(attending(self), blocks_of(self, self.some_tokens()), strict=False))

    def beginning_at(self, layer: int, hidden: Tensor) -> AbstractContextManager[None]:
        """Let passes begin at a layer, counted from 0, with what enters it, ``(B, T, H)``; see ``resuming.py``."""
        return beginning_at(self, list(self.blocks.values()), layer, hidden)

    def through(self, layer: int, hidden: Tensor, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return what one of ``blocks``, counted from 0, makes of what enters it, ``(B, T, H)``; the others are left out."""
        blocks, found = list(self.blocks.values()), []
        looking = blocks[layer].register_forward_hook(lambda _block, _inputs, output: found.append(output))
        try:
            with beginning_at(self, blocks, layer, hidden, alone=True):
                self(tokens, mask)
        finally:
            looking.remove()
        return found[0] if self.beside is None else found[0][0]

    @property
    def goes_on(self) -> bool:
        """Whether it can read on after tokens whose keys and values are known; not where an intervention is in force."""
        return self.looks_back and self.attends_at is None and not self.chooses and not self._touched

    def remembering(self, tokens: Tensor, mask: Tensor) -> Any:
        """Return the keys and values of texts, ``(B, T)``, for ``going_on``; see ``attest.models.pretrained.resuming``."""
        return remembered(self, tokens, mask)

    def going_on(self, memory: Any, texts: Tensor, begin: int, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return the logits ``(N, C)`` of variants, ``(N, T)``, whose first ``begin`` tokens are those of remembered texts.

        Args:
            memory: that ``remembering`` returned.
            texts: int64 ``(N,)``, the number of each variant's text.
        """
        return after_prefix(self, memory, texts, begin, tokens, mask)

    @contextmanager
    def untouched(self) -> Iterator[None]:
        """Let passes run by the attention that the model's owner chose, as long as no intervention is in force.

        ``require_itself`` has found that it decides as the attention in the open does.
        """
        before, self._untouched = self._untouched, True
        try:
            yield
        finally:
            self._untouched = before

    def logits_of(self, mask: Tensor, **inputs: Tensor) -> Tensor:
        """Return logits of what the model reads: bool ``(B, T)``, and token ids or places as it takes them by name."""
        self.real, self.made = mask, 0
        tokens = inputs["input_ids"]
        inputs["input_ids"] = self._plain(tokens)
        if self.segments > 1:
            inputs["token_type_ids"] = tokens // self.rows % self.segments
        with self._through_hook_points():
            return self._asked(self._own_logits(mask, **inputs), tokens)

    @torch.no_grad()
    def all_labels(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return the logit of every label, ``(B, L)``, of a model that decides each by itself."""
        labels, self.labels = self.labels, 0
        try:
            return self(tokens, mask)
        finally:
            self.labels = labels

    def _own_logits(self, mask: Tensor, **inputs: Tensor) -> Tensor:
        """Return logits by whatever attention the model is set to."""
        options: dict[str, Any] = {"attention_mask": mask.long(), "return_dict": True} | inputs
        if getattr(self.model.config.get_text_config(), "use_cache", False):
            options["use_cache"] = "past_key_values" in inputs
        with _padding_known(self.model, self.padding):
            return self._logits_in(self.model(**self._one_of_many(options)))

    def _logits_in(self, output: Any) -> Tensor:
        """Return the logits in what the model returns."""
        return output.logits

    @property
    def _touched(self) -> bool:
        """Whether something is done to its attention, or something of it is recorded."""
        return any(call.replacements or call.memory for call in (cast(AttentionCall, call) for call in self.calls))

    def _through_hook_points(self) -> AbstractContextManager[Any]:
        if self._untouched and not self._touched:
            return nullcontext()
        if self.attends_at is not None:
            return Softmaxes(self)
        from attest.models.pretrained.attention import attending_through  # registers with transformers

        return attending_through(self.model, self)

    @torch.no_grad()
    def _explore(self) -> None:
        """Count the calls, and see that each is from token to token of the text."""
        model, name = self.model, type(self.model).__name__
        if (getattr(model, "_tp_size", None) or 1) > 1:
            raise AttestError(
                f"{name} is spread over {model._tp_size} devices by its heads (tensor parallelism), so that no process sees "
                "them all; expected the whole model on one. Load it without tp_plan."
            )
        tokens = self.some_tokens()
        try:
            with in_evaluation_mode(model):
                if model._can_set_attn_implementation():
                    self._count_calls(tokens)
                if not self.calls:
                    self._find_softmaxes(tokens)
        except Exception as error:  # whatever somebody's model says
            raise AttestError(
                f"{name} cannot read a text of {tokens.shape[-1]} tokens ({said_by(error)}); {EXPECTED}."
            ) from error
        if not self.calls:
            raise AttestError(f"{name} is not supported: {UNREACHED}; {EXPECTED}.")

    def _count_calls(self, tokens: Tensor) -> None:
        """Count the calls of ``AttentionInterface`` in a pass."""
        self._exploring = True
        try:
            self.logits_of(torch.ones_like(tokens, dtype=torch.bool), input_ids=tokens)
        finally:
            self._exploring = False

    def _find_softmaxes(self, tokens: Tensor) -> None:
        """Find the softmaxes that are attention, whatever length texts have, and pass them through hook points from now on."""
        looks = []
        for times in LONGER:
            text = tokens.repeat(COPIES, times)
            self.real = torch.ones_like(text, dtype=torch.bool)
            with Softmaxes(self) as look:
                self._own_logits(self.real, input_ids=text)
            looks.append(look.found)
        self.attends_at = tuple(place for place, fits in enumerate(zip(*looks, strict=True)) if all(fits))
        self.calls.extend(AttentionCall() for _ in self.attends_at)
        if self.calls:
            self.logits_of(torch.ones_like(tokens, dtype=torch.bool), input_ids=tokens)

    def some_tokens(self) -> Tensor:
        """Return a text of a few token ids, int64 ``(1, T)``, that ends as texts do."""
        end = getattr(self.model.config.get_text_config(), "eos_token_id", None)
        known = isinstance(end, int) and 0 <= end < len(self.embeddings.weight)
        return torch.tensor([[*self._plain_ids, end if known else self._plain_ids[0]]], device=self.model.device)

    @property
    def embeddings(self) -> nn.Embedding:
        """What tokens are looked up in."""
        return embeddings_of(self.model)

    @cached_property
    def _plain_ids(self) -> list[int]:
        named = {value for name, value in self.model.config.to_dict().items() if "token_id" in name and isinstance(value, int)}
        ids = range(len(self.embeddings.weight))
        return [token for token in ids if token not in named | {self.padding, self.masked}][:LENGTH] or [self.padding]

    def _where_it_decides(self) -> str:
        """Find the rows that decide by the gradient of the logits by the last layer's weights: other rows have none."""
        tokens = self.some_tokens()
        last = list(attending(self))[-1]
        with in_evaluation_mode(self), _in_graph(self.embeddings), recorded(self, "weights") as weights:
            logits = self.logits_of(torch.ones_like(tokens, dtype=torch.bool), input_ids=tokens)
            gradient = _gradient(logits.square().sum(), weights[last])
        if gradient is None:
            raise AttestError(
                f"no gradient passes the layers of {type(self.model).__name__}, as when they hold whole numbers (int8); "
                "expected layers of floating-point numbers. Give the model before it was quantised."
            )
        rows = gradient.abs().amax(dim=(0, 1, 3)).nonzero().flatten().tolist()
        return {(0,): "first", (tokens.shape[-1] - 1,): "last"}.get(tuple(rows), "all")


def padding_of(model: "PreTrainedModel") -> int | None:
    """Return the token id that a model takes for padding; None if it takes none."""
    return getattr(model.config.get_text_config(), "pad_token_id", None)


def embeddings_of(model: "PreTrainedModel") -> nn.Embedding:
    """Return what a model looks its tokens up in.

    Raises:
        AttestError: it has no such table.
    """
    try:
        found: Any = model.get_input_embeddings()
    except NotImplementedError:
        found = None
    adapted = type(found).__module__.startswith("peft.")  # and has the table inside
    if not (isinstance(found, nn.Embedding) or adapted):
        raise AttestError(
            f"{type(model).__name__} is not supported: it does not look its tokens up in one nn.Embedding; {EXPECTED}."
        )
    return found


def _gradient(loss: Tensor, weights: Tensor) -> Tensor | None:
    if not (loss.requires_grad and weights.requires_grad):
        return None
    return torch.autograd.grad(loss, weights, allow_unused=True)[0]


@contextmanager
def _in_graph(part: nn.Module) -> Iterator[None]:
    """Keep the graph from the parameters of a part on, be they frozen or not."""
    before = [(parameter, parameter.requires_grad) for parameter in part.parameters()]
    try:
        with torch.enable_grad():
            part.requires_grad_()
            yield
    finally:
        for parameter, required in before:
            parameter.requires_grad_(required)


@contextmanager
def _padding_known(model: "PreTrainedModel", padding: int) -> Iterator[None]:
    """Tell a decoder that has no padding token of its own which one is used, for as long as the block lasts."""
    config, before = model.config.get_text_config(), padding_of(model)
    try:
        config.pad_token_id = padding if before is None else before
        yield
    finally:
        config.pad_token_id = before
