"""The wrapper of a transformers model that classifies texts or tokens.

Legend: B batch, T tokens, H hidden, C logits, K classes.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from attest.core.attention import Uniform
from attest.core.attention.interventions import Intervention, attending, intervene, recorded
from attest.core.errors import AttestError, refusing
from attest.core.kinds import CHOICE, Kind
from attest.core.memory import in_evaluation_mode
from attest.models.inputs import Inputs
from attest.models.layers_observed import beginning_at
from attest.models.networks.transformer import UniformPooling
from attest.models.prediction import OneNumber
from attest.models.pretrained.calls import AttentionCall, last_real
from attest.models.pretrained.heads import is_of_texts, kind_of_class
from attest.models.pretrained.passing import ForwardPass
from attest.models.pretrained.resuming import blocks_of, last_token_of
from attest.models.pretrained.softmaxes import Softmaxes
from attest.models.pretrained.told import told_by

if TYPE_CHECKING:
    from transformers import PreTrainedModel

UNREACHED = "none of its softmax calls returns, for each token, attention weights over all tokens of the text"
LENGTH = 5
"""The number of plain tokens in the example text on which a model's attention is inspected; an end token, or one more plain
token, follows them."""
COPIES, LONGER = 3, (1, 2, 3)
"""An example text is read to find out which softmax calls of a model compute attention, by the shapes of their results. The
first: how many copies of the text are in the batch. The second: how many times the text is repeated within a row; one pass is
made for each number."""
EXPECTED = "expected a model such as BERT, RoBERTa, DeBERTa, ModernBERT, GPT-2 or Llama"


class Choices(NamedTuple):
    """The logits of a multiple-choice model for N texts with C choices each."""

    logits: Tensor
    """float ``(N, C)``: the logits of the C choices of each text."""
    made: Tensor
    """int64 ``(N,)``: the index of the choice with the largest logit; experiments change the tokens of this choice alone."""


class PretrainedNetwork(UniformPooling, nn.Module):
    """A transformers model with the four steps ``encode``, ``score``, ``project`` and ``decode``.

    ``encode`` returns the input embeddings, and ``decode`` runs the rest of the model, with attention inside the layers.

    Args:
        model: a model of the library transformers that classifies texts, with logits ``(B, C)``, or tokens, with logits
            ``(B, T, K)``; the caller puts it into evaluation mode.
        padding: the token id at padding.
        masked: the token id that replaces an erased token; None for the mask id of Attest's data.
        typed: whether it reads the type of each token, ``token_type_ids`` int64 ``(B, T)``, beside the tokens.
        kind: what the model decides; None for what the name of its class says. If it decides each label independently, it
            is ``asked`` about one label of each text, and the logits ``(B, 1)`` are the input of one sigmoid.
        squashed: whether the one number that the model predicts is the sigmoid of its logit.

    A model of multiple choice reads one choice of each text. The network returns the logits of all choices, ``(B, C)``, and
    takes those of the other choices from ``choices``, where ``asked`` is the number of the text.

    Without ``asked``, int64 ``(B,)``, the logits are those of all labels, ``(B, L)``, or of the one choice, ``(B, 1)``.

    Raises:
        AttestError: the model's attention cannot be reached, or does not go from token to token of the text.
    """

    attends_within = True
    reads_in_decode = True
    """Whether attention is computed in ``decode``: yes. ``encode`` only embeds tokens, so there are no hidden states of an
    encoder that experiments could use."""
    holds_a_model = True
    """Whether the network wraps a model of another library in its attribute ``model``: yes, so reports name the class of that
    model."""
    asks = "asked"
    """The name of the further input that says which label, or which choice, each text of a batch is asked about. The wrapped
    model itself does not get this input."""

    def __init__(
        self,
        model: Any,
        padding: int = 0,
        masked: int | None = None,
        typed: bool = False,
        kind: Kind | None = None,
        squashed: bool = False,
    ) -> None:
        super().__init__()
        self.kind = kind_of_class(type(model).__name__) if kind is None else kind
        """The kind of decision that the model makes, such as classes of texts or tags of tokens."""
        self.number = None if self.kind.chooses else OneNumber()
        """If the model predicts one number for each text: the standard deviation and the largest absolute value of these
        numbers over the corpus. Else None."""
        self.masked, self.typed, self._squashed = masked, typed, squashed
        self.model, self.padding = model, padding
        self.choices: Choices | None = None
        """For a multiple-choice model: the logits of all choices of all texts, computed once before the experiments. An
        experiment changes one choice of a text, and the logits of its other choices are read from here. None for all other
        models."""
        self.calls = nn.ModuleList()
        self.current = self._forward_pass()
        """The state of the current forward pass, such as which tokens are real and how many attention computations there were
        so far."""
        self._untouched = False
        self._explore()
        self.decides_by = self._where_it_decides()
        """From which last hidden states the model computes its prediction: ``first`` or ``last``, that of the first or of the
        last token; ``all``, those of several tokens, as in a mean over all. In an encoder-decoder it is ``step``: that of the
        decoder step which decides the class."""

    def _forward_pass(self) -> ForwardPass:
        return ForwardPass(self.model, self.calls)

    @property
    def attends_at(self) -> tuple[int, ...] | None:
        """Return the numbers of the softmaxes that are attention; None for models that use ``AttentionInterface``."""
        return self.current.attends_at

    @property
    def reads_beside(self) -> tuple[str, ...]:
        """Return the names of the columns that it reads beside the tokens of a text."""
        return (("token_type_ids",) if self.typed else ()) + self.kind.beside

    def encode(self, tokens: Tensor, mask: Tensor, **beside: Tensor) -> Tensor:
        """Map token ids int64 ``(B, T)``, mask bool ``(B, T)`` to input embeddings ``(B, T, H)``."""
        return self.embeddings(tokens.where(mask, self.padding))

    def decode(self, hidden: Tensor, weights: Tensor, **beside: Tensor) -> Tensor:
        """Map embeddings ``(B, T, H)`` to logits ``(B, C)``; tokens whose ``weights (B, T)`` are 0 are masked in every layer.

        The model gets token ids, and ``hidden`` then replaces their embeddings: many models give other results for embeddings.
        """
        mask = weights > 0
        tokens = torch.where(self._has_padding(mask), self.padding, self._plain_ids[0])
        waiting = [hidden.clone()]  # which some models scale in place

        def replace_first(_table: nn.Module, _tokens: Any, own: Tensor) -> Tensor:
            if not waiting:
                return own
            if own.shape != hidden.shape:
                raise AttestError(
                    f"{type(self.model).__name__} transposes a batch before its embedding ({tuple(own.shape)} instead of "
                    f"{tuple(hidden.shape)}), so token vectors cannot be replaced; expected a model that embeds a batch as it "
                    "is given, (B, T)."
                )
            return waiting.pop()

        with self.embeddings.register_forward_hook(replace_first):
            logits = self.logits_of(mask, input_ids=tokens, **beside)
        if waiting:
            raise AttestError(
                f"{type(self.model).__name__} looks its tokens up in another table than the one that get_input_embeddings() "
                f"returns, so token vectors cannot be replaced; {EXPECTED}."
            )
        return logits

    def _has_padding(self, mask: Tensor) -> Tensor:
        """Return which tokens are padding, bool ``(B, T)``: those after the last real token."""
        return last_real(mask).unsqueeze(-1) < torch.arange(mask.shape[-1], device=mask.device)

    def forward(self, tokens: Tensor, mask: Tensor, **beside: Tensor) -> Tensor:
        """Map token ids and mask ``(B, T)`` to logits: ``(B, C)`` for texts, or ``(B, T, K)`` for tokens."""
        if padding_of(self.model) is None:  # it takes no token for padding, also not ours
            return self.decode(self.encode(tokens, mask), mask.to(self.embeddings.weight.dtype), **beside)
        return self.logits_of(mask, input_ids=tokens.where(mask, self.padding), **beside)

    def itself(self, tokens: Tensor, mask: Tensor, **given: Tensor) -> Tensor:
        """Return the logits of the unchanged model for token ids and for all other inputs from its tokenizer.

        Args:
            tokens, mask: ``(B, T)``.
            given: the columns of ``reads_beside``, and all further inputs from the tokenizer, ``(B, T)`` each; inputs that the
                model does not take are left out.
        """
        self.current.begin(mask)
        asked, taken = given.get(self.asks), inspect.signature(self.model.forward).parameters
        told = self._with_types(input_ids=tokens.where(mask, self.padding), attention_mask=mask.long())
        told |= {name: values for name, values in given.items() if name in taken}
        reads_many = padding_of(self.model) is not None
        if reads_many or not is_of_texts(type(self.model).__name__):
            return self._asked(self._logits_in(self.model(**self._one_of_many(told), return_dict=True)), asked)
        alone = [self.model(**{name: each[row : row + 1, :length] for name, each in told.items()}, return_dict=True).logits
                 for row, length in enumerate(mask.sum(dim=-1).tolist())]  # fmt: skip
        return self._asked(torch.cat(alone), asked)

    def _with_types(self, **inputs: Tensor) -> dict[str, Tensor]:
        """Return inputs with the type 0 for each token, where the model reads types and no others are given."""
        return ({"token_type_ids": torch.zeros_like(inputs["input_ids"])} if self.typed else {}) | inputs

    def _asked(self, logits: Tensor, asked: Tensor | None) -> Tensor:
        """Return logits: ``(B, 1)`` for a number or the label that is asked about, ``(B, C)`` for classes or choices."""
        if asked is None:
            return logits.sigmoid() if self._squashed else logits
        if self.choices is None:
            return logits.gather(-1, asked.unsqueeze(-1))
        return self.choices.logits[asked].to(logits).scatter(-1, self.choices.made[asked].unsqueeze(-1), logits)

    def _one_of_many(self, told: dict[str, Any]) -> dict[str, Any]:
        """Reshape the inputs of a multiple-choice model from ``(B, T)`` to ``(B, 1, T)``: one choice for each text."""
        lifted = {name: each.unsqueeze(1) for name, each in told.items() if isinstance(each, Tensor) and each.ndim == 2}
        return told | lifted if self.kind == CHOICE else told

    def deciding(self, mask: Tensor) -> Tensor:
        """Return how much each token's last hidden state counts in the decision, ``(B, T)``: all equally or only one."""
        if self.decides_by == "all":
            return Uniform()(torch.zeros(mask.shape, device=mask.device), mask)
        row = torch.zeros_like(mask.sum(dim=-1)) if self.decides_by == "first" else last_real(mask)
        return nn.functional.one_hot(row, mask.shape[-1]).to(torch.get_default_dtype())

    @property
    def attends_everywhere(self) -> bool:
        """Return whether tokens may attend to one another in every layer, as in an encoder."""
        return all(call.everywhere for call in self.calls)

    @property
    def shows_values(self) -> bool:
        """Return whether interventions can change the value vectors of attention, not only its weights."""
        return self.attends_at is None or all(call.shows_values for call in self.calls)

    @cached_property
    def shows_outputs(self) -> bool:
        """Return whether interventions can change the output of each head separately."""
        tokens = self.some_tokens()
        mask = torch.ones_like(tokens, dtype=torch.bool)

        def only_every_second(weights: Tensor, _mask: Tensor) -> Tensor:
            return weights * (torch.arange(weights.shape[1], device=weights.device) % 2).view(-1, 1, 1)

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
        """Return whether an intervention can exchange attention keys between tokens."""
        return self.shows_values or self.attends_everywhere

    @property
    def looks_back(self) -> bool:
        """Return whether the network is a decoder: no token attends to a later one, and the last token decides."""
        return self.decides_by == "last" and all(call.causal for call in self.calls)

    def from_the_last(self, tokens: Tensor, mask: Tensor, **beside: Tensor) -> Callable[[Tensor], Tensor] | None:
        """Run each text once; return a function that runs only its last token again, or None if this is impossible.

        Args:
            tokens, mask: int64 and bool ``(B, T)``.
        Returns:
            A function of rows, int64 ``(R,)``, that returns their logits ``(R, C)`` under all interventions on the last row of
            attention; None if earlier tokens would change too, or if the model cannot read one token at its place.
        """
        return last_token_of(self, Inputs(tokens, mask, beside)) if self.looks_back and self.attends_at is None else None

    @cached_property
    def blocks(self) -> Mapping[str, nn.Module]:
        """Return the layers at which a forward pass can start, by name; empty if a pass from a layer gives other logits."""
        return dict(zip(attending(self), blocks_of(self, self.some_tokens()), strict=False))

    def through(self, layer: int, hidden: Tensor, tokens: Tensor, mask: Tensor, **beside: Tensor) -> Tensor:
        """Compute the output of layer number ``layer``, counted from 0, for its input ``hidden (B, T, H)``."""
        blocks, found = list(self.blocks.values()), []
        looking = blocks[layer].register_forward_hook(lambda _block, _inputs, output: found.append(output))
        with looking, beginning_at(self.current, blocks, layer, hidden, alone=True):
            self(tokens, mask, **beside)
        return found[0] if self.current.beside is None else found[0][0]

    @property
    def goes_on(self) -> bool:
        """Return whether the network can continue from cached keys and values; False during an intervention."""
        return self.looks_back and self.attends_at is None and self.kind != CHOICE and not self._touched

    @torch.no_grad()
    def remembering(self, tokens: Tensor, mask: Tensor, **beside: Tensor) -> Any:
        """Compute and return the keys and values of texts ``(B, T)``, as a cache for ``going_on``."""
        from transformers.cache_utils import DynamicCache

        memory: Any = DynamicCache()
        self.logits_of(mask, input_ids=tokens.where(mask, self.padding), past_key_values=memory, **beside)
        return memory

    @torch.no_grad()
    def going_on(self, memory: Any, texts: Tensor, begin: int, tokens: Tensor, mask: Tensor, **beside: Tensor) -> Tensor:
        """Return logits ``(N, C)`` of changed texts ``(N, T)``; their first ``begin`` tokens are cached in ``memory``."""
        from transformers.cache_utils import DynamicCache

        before: Any = DynamicCache([(layer.keys[texts, :, :begin], layer.values[texts, :, :begin]) for layer in memory.layers])
        behind = torch.arange(mask.shape[-1], device=mask.device) > last_real(mask).unsqueeze(-1)
        read = Inputs(tokens.masked_fill(behind, self.padding), mask, beside).of_tokens(lambda column: column[:, begin:])
        return self.logits_of(mask, input_ids=read.tokens, past_key_values=before, **read.beside)

    @contextmanager
    def untouched(self) -> Iterator[None]:
        """Use the model's original attention implementation inside the ``with`` block, except during interventions."""
        before, self._untouched = self._untouched, True
        try:
            yield
        finally:
            self._untouched = before

    def logits_of(self, mask: Tensor, **inputs: Tensor) -> Tensor:
        """Return the logits for ``inputs``, such as ``input_ids``, with a mask of real tokens, bool ``(B, T)``."""
        self.current.begin(mask)
        asked = inputs.pop(self.asks, None)
        with self._hook_points():
            return self._asked(self._own_logits(mask, **self._with_types(**inputs)), asked)

    def _own_logits(self, mask: Tensor, **inputs: Tensor) -> Tensor:
        options: dict[str, Any] = {"attention_mask": mask.long(), "return_dict": True} | inputs
        config = self.model.config.get_text_config()
        told = told_by(config)
        if told.use_cache:
            options["use_cache"] = "past_key_values" in inputs
        try:
            config.pad_token_id = self.padding if told.pad_token_id is None else told.pad_token_id
            return self._logits_in(self.model(**self._one_of_many(options)))
        finally:
            config.pad_token_id = told.pad_token_id

    def _logits_in(self, output: Any) -> Tensor:
        return output.logits

    @property
    def _touched(self) -> bool:
        return any(call.exchanged or call.replacements or call.memory for call in self.calls)

    def _hook_points(self) -> AbstractContextManager[Any]:
        if self._untouched and not self._touched:
            return nullcontext()
        if self.attends_at is not None:
            return Softmaxes(self.current)
        from attest.models.pretrained.attention import attending_through  # registers with transformers

        return attending_through(self.model, self.current)

    @torch.no_grad()
    def _explore(self) -> None:
        model, name = self.model, type(self.model).__name__
        if (model.tp_size or 1) > 1:
            raise AttestError(
                f"the heads of {name} are spread over {model.tp_size} devices (tensor parallelism), so no process sees all "
                "heads; expected the whole model on one device. Load the model without tp_plan."
            )
        tokens = self.some_tokens()
        unread = f"{name} cannot read a text of {tokens.shape[-1]} tokens"
        with refusing(lambda said: f"{unread} ({said}); {EXPECTED}."), in_evaluation_mode(model):
            if model._can_set_attn_implementation():
                self._count_calls(tokens)
            if not self.calls:
                self._find_softmaxes(tokens)
        if not self.calls:
            raise AttestError(f"{name} is not supported: {UNREACHED}; {EXPECTED}.")

    def _count_calls(self, tokens: Tensor) -> None:
        self.current.exploring = True
        self.logits_of(torch.ones_like(tokens, dtype=torch.bool), input_ids=tokens)
        self.current.exploring = False

    def _find_softmaxes(self, tokens: Tensor) -> None:
        looks = []
        for times in LONGER:
            text = tokens.repeat(COPIES, times)
            self.current.begin(torch.ones_like(text, dtype=torch.bool))
            with Softmaxes(self.current) as look:
                self._own_logits(self.current.real, input_ids=text)
            looks.append(look.found)
        places = tuple(place for place, fits in enumerate(zip(*looks, strict=True)) if all(fits))
        self.current.attends_at = places
        self.calls.extend(AttentionCall() for _ in places)
        if self.calls:
            self.logits_of(torch.ones_like(tokens, dtype=torch.bool), input_ids=tokens)

    def some_tokens(self) -> Tensor:
        """Return a short example text as token ids, int64 ``(1, T)``, with an end token if the model has one."""
        end = told_by(self.model.config.get_text_config()).eos_token_id
        known = isinstance(end, int) and 0 <= end < len(self.embeddings.weight)
        return torch.tensor([[*self._plain_ids, end if known else self._plain_ids[0]]], device=self.model.device)

    @property
    def embeddings(self) -> nn.Embedding:
        """Return the token embedding of the model."""
        return embeddings_of(self.model)

    @cached_property
    def _plain_ids(self) -> list[int]:
        named = {value for name, value in self.model.config.to_dict().items() if "token_id" in name and isinstance(value, int)}
        ids = range(len(self.embeddings.weight))
        return [token for token in ids if token not in named | {self.padding, self.masked}][:LENGTH] or [self.padding]

    def _where_it_decides(self) -> str:
        """Find by gradients at which token the model decides: return ``first``, ``last`` or ``all``."""
        tokens = self.some_tokens()
        last = list(attending(self))[-1]
        with in_evaluation_mode(self), _in_graph(self.embeddings), recorded(self, "weights") as weights:
            loss = self.logits_of(torch.ones_like(tokens, dtype=torch.bool), input_ids=tokens).square().sum()
            passes = loss.requires_grad and weights[last].requires_grad
            gradient = torch.autograd.grad(loss, weights[last], allow_unused=True)[0] if passes else None
        if gradient is None:
            raise AttestError(
                f"no gradient passes the layers of {type(self.model).__name__}, perhaps because it is quantised (int8), "
                "computes under torch.no_grad or keeps its answers; expected a new pass with gradients for each text. Give "
                "the model before quantisation, or leave out what ends its gradients."
            )
        rows = gradient.abs().amax(dim=(0, 1, 3)).nonzero().flatten().tolist()
        return {(0,): "first", (tokens.shape[-1] - 1,): "last"}.get(tuple(rows), "all")


@contextmanager
def _in_graph(part: nn.Module) -> Iterator[None]:
    """Let autograd track a module's parameters inside the ``with`` block, even if they are frozen."""
    before = [(parameter, parameter.requires_grad) for parameter in part.parameters()]
    try:
        with torch.enable_grad():
            part.requires_grad_()
            yield
    finally:
        for parameter, required in before:
            parameter.requires_grad_(required)


def padding_of(model: "PreTrainedModel") -> int | None:
    """Return the padding token id of a model; None if it has none."""
    return told_by(model.config.get_text_config()).pad_token_id


def embeddings_of(model: "PreTrainedModel") -> nn.Embedding:
    """Return the token embedding that a model looks its tokens up in; refuse a model without one."""
    from transformers import PreTrainedModel

    stack = dict(model.base_model.named_children()).get("encoder")  # of T5ForTokenClassification, which has a table of its own
    try:
        found: Any = (stack if isinstance(stack, PreTrainedModel) else model).get_input_embeddings()
    except NotImplementedError:
        found = None
    adapted = type(found).__module__.startswith("peft.")  # and has the table inside
    if not (isinstance(found, nn.Embedding) or adapted):
        raise AttestError(
            f"{type(model).__name__} is not supported: it does not look its tokens up in one nn.Embedding; {EXPECTED}."
        )
    return found
