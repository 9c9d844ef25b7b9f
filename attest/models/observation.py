"""The observation of one forward pass: the results from which every experiment computes its columns.

Legend: B batch, T tokens, E embedding, H hidden, C logits, K classes, D draws.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import torch
from torch import Tensor, nn

from attest.core.errors import AttestError
from attest.core.measures import class_logits, probabilities
from attest.core.memory import by_rows, longest_quadratic
from attest.core.modes import without_cudnn
from attest.models.contract import (
    require_attention,
    require_batch,
    require_columns,
    require_known_tokens,
    require_repeatable,
    require_shape,
    require_steps,
)
from attest.models.inputs import Inputs
from attest.models.offers import offers_of
from attest.models.prediction import predictions_of, rounding_of, says_number
from attest.models.traits import traits_of

Result = TypeVar("Result")
Measured = TypeVar("Measured", Tensor, dict[str, Tensor])


class Network(Protocol):
    """An ``nn.Module`` with the four steps ``encode``, ``score``, ``project`` and ``decode``, which Attest can evaluate.

    A network may also offer the methods of ``attest.models.offers.Offers``, which experiments then use, and

    * ``read_without_each(tokens, mask) -> (B, T, T), (B, T, T, C)``, if ``decode`` is linear in weights that sum to 1: at
      ``[b, v, t]``, the score and the logits of token t in text b without its token v; arbitrary but finite at t = v and at
      padding. Without this method, each shortened text is encoded anew; so it is on an accelerator that has room for all of
      them. It may be a property, which raises an ``AttributeError`` where scores are being changed.
    """

    def encode(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Map tokens and mask ``(B, T)`` to hidden states ``(B, T, H)``."""

    def score(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Map hidden states ``(B, T, H)`` and mask ``(B, T)`` to scores ``(B, T)``."""

    def project(self, scores: Tensor, mask: Tensor) -> Tensor:
        """Map scores and mask ``(B, T)`` to attention ``(B, T)``."""

    def decode(self, hidden: Tensor, weights: Tensor) -> Tensor:
        """Map hidden states ``(B, T, H)`` and weights ``(B, T)`` to logits ``(B, C)``."""


class GivenReading(NamedTuple):
    """An explanation that was computed outside Attest: one number for each token."""

    values: Tensor
    """float ``(B, T)``, finite: the importance of each token according to this explanation; 0 at padding."""
    signed: bool
    """Whether the explanation has numbers below 0 in any text of the corpus. Tokens with such numbers speak against the
    predicted class."""


@dataclass(frozen=True)
class Observation:
    """The results of all steps in one forward pass of a batch, with their autograd graph.

    All experiments share it, so they must backpropagate with ``retain_graph``.

    Examples:
        >>> import attest, torch
        >>> from attest.models.networks.pooling import PoolingClassifier
        >>> network = PoolingClassifier(vocab_size=10, outputs=2).eval()
        >>> tokens = torch.tensor([[1, 2, 3], [4, 5, 0]])
        >>> seen = attest.observe(network, None, tokens, tokens > 0)
        >>> seen.attention.shape, seen.prediction.shape
        (torch.Size([2, 3]), torch.Size([2, 2]))
        >>> shuffled = seen.attention[:, [1, 0, 2]]  # the same model under another attention
        >>> seen.probabilities_under(shuffled.unsqueeze(1)).shape
        torch.Size([2, 1, 2])
    """

    network: Network
    ids: Tensor
    """int64 ``(B,)``: the number that identifies each text in all tables, and that seeds its random draws."""
    tokens: Tensor
    """int64 ``(B, T)``: token ids; ``(B, T, W)`` for a network that reads T sentences of W words."""
    mask: Tensor
    """bool ``(B, T)``: True at real tokens, which come first in each row; False at padding and at the tokens of a question."""
    embedded: Tensor
    """float ``(B, T, E)``: the embeddings of the tokens, a leaf of the autograd graph, with respect to which gradients are
    computed."""
    hidden: Tensor
    """float ``(B, T, H)``: the hidden states that attention weights, as part of the autograd graph."""
    scores: Tensor
    """float ``(B, T)``: the attention scores, from which a projection such as softmax computes ``weights``; part of the
    autograd graph."""
    weights: Tensor
    """float ``(B, T)``: the attention weights of the tokens of each text (pooled attention: one weight for each token), in [0,
    1], 0 at padding, in the autograd graph; rows sum to 1."""
    logits: Tensor
    """float ``(B, C)``: the logits of the prediction, as part of the autograd graph; C is 1 for a single sigmoid and for a
    predicted number."""
    read_instead: Tensor | None = None
    """float ``(B, T)``, at least 0: another explanation, one weight for each token, that experiments test in place of the
    attention, as set by ``explained_by``. None to test the attention itself."""
    cache: dict[Callable[..., Any], Any] = field(default_factory=dict, repr=False)
    """The results of functions that are decorated with ``cached_per_batch``; the keys are the functions. So each of them is
    computed only once for a batch, however many experiments need it."""
    labels: Tensor | None = None
    """int64 ``(B,)``: the true class of each text, below 0 for texts without one; None if no classes are known."""
    words: Tensor | None = None
    """int64 ``(B, T)``: if texts are split into subwords, the index of the word that each token belongs to, below 0 for
    special tokens and padding; else None."""
    ids_given: bool = True
    """Whether the user gave the ids of the texts; if not, ``ids`` are the row numbers of this batch."""
    spared: Tensor | None = None
    """bool ``(B, T)``: True at the tokens that experiments neither rank nor erase: special tokens, and the token at which the
    model decides, as ``spared_by`` finds them. None if there are none."""
    given: Mapping[str, GivenReading] = field(default_factory=dict)
    """Explanations that the user computed with other software, such as SHAP values, by their names."""
    marks: Tensor | None = None
    """float ``(B, T, A)``: what each of A annotators marked: 1 at the tokens that, in their opinion, decide the label, 0 at
    others, and NaN in a text that the annotator did not mark. None if nobody marked tokens."""
    beside: Mapping[str, Tensor] = field(default_factory=dict)
    """Further inputs of the network's forward pass, by the name of the parameter: ``(B, T)``, one value for each token, such
    as ``token_type_ids``, or ``(B,)``, one for each text."""

    @property
    def module(self) -> nn.Module:
        """Return the network, which is an ``nn.Module`` with the four steps, as the ``nn.Module`` that it is."""
        return cast(nn.Module, self.network)

    @property
    def texts(self) -> Inputs:
        """Return the texts as the network reads them."""
        return Inputs(self.tokens, self.mask, self.beside)

    @cached_property
    def attention(self) -> Tensor:
        """Return the attention weights without the autograd graph, ``(B, T)``."""
        return self.weights.detach()

    @property
    def explanation(self) -> Tensor:
        """Return the weights that experiments test, ``(B, T)``: those given to ``explained_by``, else attention."""
        return self.attention if self.read_instead is None else self.read_instead

    def explained_by(self, explanation: Tensor) -> "Observation":
        """Return a copy of this observation in which experiments test another explanation, float ``(B, T)`` not below 0."""
        return replace(self, read_instead=explanation)

    @cached_property
    def probabilities(self) -> Tensor:
        """Return the predicted class probabilities without the autograd graph, ``(B, K)``."""
        return probabilities(self.logits.detach())

    @cached_property
    def prediction(self) -> Tensor:
        """Return class probabilities ``(B, K)``, or one predicted number for each text, ``(B, 1)``; both are detached."""
        return predictions_of(self.network, self.logits.detach())

    def of_predicted(self, values: Tensor) -> Tensor:
        """Return the entries of ``values (B, ..., K)`` for each text's predicted class, ``(B, ...)``."""
        index = self.predicted.view(-1, *(1,) * (values.ndim - 1)).expand(*values.shape[:-1], 1)
        return values.gather(-1, index).squeeze(-1)

    def left_of_prediction(self, outcomes: Tensor) -> Tensor:
        """Return the probability that ``outcomes (B, ..., K)`` give to each text's predicted class, ``(B, ...)``.

        For a network that predicts one number, return minus the distance from its prediction.
        """
        found = self.of_predicted(outcomes)
        if not says_number(self.network):
            return found
        return -(found - self.of_predicted(self.prediction).view(-1, *(1,) * (found.ndim - 1))).abs()

    @cached_property
    def confidence(self) -> Tensor:
        """Return the probability of the predicted class, ``(B,)`` in [0, 1]; 0 if the network predicts one number."""
        return self.left_of_prediction(self.prediction)

    @property
    def within(self) -> float:
        """Return the largest difference between two predictions of this batch that rounding alone can cause."""
        return rounding_of(self.network, self.logits.dtype)

    @cached_property
    def lengths(self) -> Tensor:
        """Return the number of real tokens of each text, int64 ``(B,)``."""
        return self.mask.sum(dim=-1)

    @cached_property
    def reach(self) -> int:
        """Return the number of token columns before the questions; these columns contain texts and padding."""
        asks = traits_of(self.network).reads_questions
        return int(self.lengths.max()) if asks else self.mask.shape[-1]

    def narrowed(self, values: Tensor, size: int) -> Tensor:
        """Return the first ``size`` columns of values ``(N, T, …)``, followed by the columns of questions."""
        if self.reach == values.shape[1]:
            return values[:, :size]
        return torch.cat([values[:, :size], values[:, self.reach :]], dim=1)

    @cached_property
    def ranked(self) -> Tensor:
        """Return which tokens may be ranked and erased, bool ``(B, T)``: all real tokens except those in ``spared``."""
        return self.mask if self.spared is None else self.mask & ~self.spared

    @cached_property
    def erasable(self) -> Tensor:
        """Return the number of tokens of each text that may be erased, int64 ``(B,)``."""
        return self.ranked.sum(dim=-1)

    @cached_property
    def several(self) -> Tensor:
        """Return for each text whether a token can be erased so that at least one token remains, bool ``(B,)``."""
        return (self.erasable > 0) & (self.lengths > 1)

    @cached_property
    def predicted(self) -> Tensor:
        """Return the predicted classes, int64 ``(B,)``, the lower one in a tie; all 0 if the network predicts one number."""
        return self.prediction.argmax(dim=-1)

    def part(self, rows: Tensor) -> "Observation":
        """Return the observation of the texts in ``rows``, without autograd graph and without unneeded padding."""
        size = int(self.lengths[rows].max())

        def cut(values: Tensor) -> Tensor:
            return self.narrowed(values.detach()[rows], size)

        by_token = ("tokens", "mask", "embedded", "hidden", "scores", "weights", "read_instead", "words", "spared", "marks")
        known: dict[str, Any] = {name: cut(values) for name in by_token if (values := getattr(self, name)) is not None}
        return replace(
            self,
            ids=self.ids[rows],
            logits=self.logits.detach()[rows],
            labels=None if self.labels is None else self.labels[rows],
            given={name: each._replace(values=cut(each.values)) for name, each in self.given.items()},
            beside=self.texts.rows(rows).of_tokens(lambda column: self.narrowed(column, size)).beside,
            cache={},
            **known,
        )

    def decode(self, weights: Tensor) -> Tensor:
        """Return the logits ``(B, C)`` under other attention weights, ``(B, T)``."""
        return self.network.decode(self.hidden, weights, **self.beside)

    @torch.no_grad()
    def probabilities_under(self, weights: Tensor) -> Tensor:
        """Return class probabilities for other attention weights: ``(B, T) -> (B, K)`` or ``(B, D, T) -> (B, D, K)``."""
        if self.class_logits is None and weights.ndim == 2:
            return probabilities(self.decode(weights))
        if self.class_logits is None:
            return by_rows(self._decode_draws, weights.shape[1] * self.hidden[0].nbytes, self.hidden.detach(), weights)
        draws = weights.to(self.class_logits) if weights.ndim == 3 else weights.to(self.class_logits).unsqueeze(1)
        if self.class_logits.shape[-1] == 2:  # one sigmoid costs a tenth of a softmax over two
            margin = draws @ (self.class_logits[..., 1:] - self.class_logits[..., :1])
            outcomes = torch.cat([-margin, margin], dim=-1).sigmoid_()
        else:
            outcomes = (draws @ self.class_logits).softmax(dim=-1)
        return outcomes if weights.ndim == 3 else outcomes.squeeze(1)

    def _decode_draws(self, hidden: Tensor, weights: Tensor) -> Tensor:
        draws = weights.shape[1]
        logits = self.network.decode(hidden.repeat_interleave(draws, dim=0), weights.flatten(0, 1))
        return probabilities(logits).unflatten(0, (-1, draws))

    @cached_property
    def class_logits(self) -> Tensor | None:
        """Return, for each token, the class logits ``(B, T, K)`` if this token has the attention weight 1, detached.

        Return None if the decoder is not linear. ``weights @ class_logits`` are the logits of K classes under any weights that
        sum to 1.
        """
        token_logits = offers_of(self.network).token_logits
        return None if token_logits is None else class_logits(token_logits(self.hidden).detach())

    @cached_property
    def margins(self) -> Tensor | None:
        """Return each token's logit of class 1 minus that of class 0, float64 ``(B, T)``, for a linear binary decoder.

        Return None for other decoders. The prediction is ``sigmoid(weights @ margins)``.
        """
        if self.class_logits is None or self.class_logits.shape[-1] != 2:
            return None
        return self.class_logits[..., 1].double() - self.class_logits[..., 0].double()


def rightly(predicted: Tensor, labels: Tensor) -> Tensor:
    """Return whether each predicted class is the gold label, ``(B,)``; NaN where the label is missing (below 0)."""
    right = predicted == labels
    return right if (labels >= 0).all() else torch.where(labels >= 0, right.double(), torch.nan)


def cached_per_batch(measurement: Callable[[Observation], Result]) -> Callable[[Observation], Result]:
    """Decorate a function so that its result for an observation is computed once and shared by all experiments."""

    @wraps(measurement)
    def remembering(observation: Observation) -> Result:
        if measurement not in observation.cache:
            observation.cache[measurement] = measurement(observation)
        return observation.cache[measurement]

    return remembering


def skips_long_texts(measurement: Callable[..., Measured]) -> Callable[..., Measured]:
    """Decorate a function that compares all pairs of tokens, so that it returns NaN for texts that are too long.

    Args:
        measurement: takes an observation and any further arguments; returns a tensor ``(B,)``, or ``(B, T)`` with 0 at
            padding, or a dictionary of these tensors. It does not use the autograd graph of the observation.
    """

    @wraps(measurement)
    def sparing(observation: Observation, *arguments: Any) -> Measured:
        short = observation.lengths <= longest_quadratic()
        if short.all():
            return measurement(observation, *arguments)
        if short.any():
            part = observation.part(short)
        else:  # a single token stands in for all, so that there are the same columns
            first = torch.zeros_like(observation.mask)
            first[:, 0] = True
            part = replace(observation, mask=first).part(torch.tensor([0], device=first.device))
        measured = measurement(part, *arguments)
        if isinstance(measured, Tensor):
            return _spread(measured, short, observation.mask)
        return {name: _spread(column, short, observation.mask) for name, column in measured.items()}

    return sparing


def _spread(column: Tensor, short: Tensor, mask: Tensor) -> Tensor:
    everyone, rows = column.new_full(mask.shape[: column.ndim], torch.nan), short.nonzero().flatten()
    if column.ndim == 1:
        everyone[rows] = column[: len(rows)]
        return everyone
    everyone = everyone.masked_fill(~mask, 0)
    everyone[rows, : column.shape[1]] = column[: len(rows)]
    return everyone


def observe(
    network: Network,
    ids: Tensor | None,
    tokens: Tensor,
    mask: Tensor,
    labels: Tensor | None = None,
    words: Tensor | None = None,
    special: Tensor | None = None,
    beside: Mapping[str, Tensor] | None = None,
) -> Observation:
    """Run a network once; return the result of every step with its autograd graph.

    Args:
        network: any ``nn.Module`` with the four steps, in evaluation mode.
        ids: as in ``Observation``; None to count the rows from 0.
        tokens, mask, labels, words: as in ``Observation``.
        special: bool ``(B, T)``, True at special tokens, such as ``[CLS]`` and ``[SEP]``, which are neither ranked nor erased;
            if it is None and ``words`` are given, the special tokens are those that belong to no word.
        beside: as in ``Inputs``.
    Raises:
        AttestError: the network or the batch is not as described (see ``contract.py``), or the network does not look its
            tokens up in exactly one ``nn.Embedding``.

    Examples:
        >>> import attest, torch
        >>> from attest.models.networks.pooling import PoolingClassifier
        >>> network = PoolingClassifier(vocab_size=10, outputs=2).eval()
        >>> tokens = torch.tensor([[1, 2, 3], [4, 5, 0]])
        >>> seen = attest.observe(network, None, tokens, tokens > 0)
        >>> seen.lengths.tolist(), seen.ids.tolist()
        ([3, 2], [0, 1])
    """
    require_steps(network)
    module = cast(nn.Module, network)
    require_batch(ids, tokens, mask)
    require_columns(words, special, mask)
    # Evidence compares outputs that differ by less than half precision resolves, so a network trained in it is put on trial
    # in its own.
    with (
        torch.inference_mode(False),
        torch.enable_grad(),
        without_cudnn(),
        torch.autocast(tokens.device.type, enabled=False),
    ):
        inputs = Inputs(outside_inference(tokens), outside_inference(mask), beside or {})
        tokens, mask = inputs.tokens, inputs.mask
        embedded, hidden = _encoded(network, inputs)
        scores = network.score(hidden, mask)
        require_shape(module, "score", scores, mask.shape, 2)
        weights = network.project(scores, mask)
        require_shape(module, "project", weights, mask.shape, 2)
        logits = network.decode(hidden, weights, **inputs.beside)
        require_shape(module, "decode", logits, mask.shape[:1], 2)
        require_repeatable(
            module, logits.detach(), lambda: network.decode(inputs.read_by(network.encode), weights, **inputs.beside)
        )
        require_attention(module, hidden, scores, weights, logits, inputs)
    steps = (tokens, mask, embedded, hidden, scores, weights, logits)
    spared = spared_by(network, mask, special if words is None or special is not None else words < 0)
    return Observation(
        network, numbered(ids, mask), *steps, labels=labels, words=words, ids_given=ids is not None, spared=spared,
        beside=inputs.beside,
    )  # fmt: skip


def observe_again(part: Observation) -> Observation:
    """Return a new observation of texts that were observed, with an autograd graph of their own."""
    texts = part.ids, part.tokens, part.mask, part.labels, part.words, part.spared, part.beside
    return replace(observe(part.network, *texts), given=part.given, marks=part.marks)


def spared_by(network: object, mask: Tensor, special: Tensor | None = None) -> Tensor | None:
    """Return the tokens that are never ranked or erased: special tokens, and the token at which the network decides.

    Args:
        network: if one token alone decides, the first or the last, ``network.deciding(mask)`` returns 1 at this token.
        mask: bool ``(B, T)``.
        special: bool ``(B, T)``, if known.
    Returns:
        bool ``(B, T)``; None if there is no such token.
    """
    spared = torch.zeros_like(mask) if special is None else special & mask
    deciding = offers_of(network).deciding
    if deciding is not None:
        spared = spared | (deciding(mask) == 1)
    return spared if spared.any() else None


def _encoded(network: Network, inputs: Inputs) -> tuple[Tensor, Tensor]:
    module, tokens, mask = cast(nn.Module, network), inputs.tokens, inputs.mask
    embedded: list[Tensor] = []

    def begin_graph(_module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> Tensor | None:
        if inputs[0].shape != tokens.shape:  # a lookup of something else: positions, say
            return None
        embedded.append(output.detach().requires_grad_())
        return embedded[-1]

    try:
        with hooked(_token_lookups(network, inputs), begin_graph):
            hidden = inputs.read_by(network.encode)
    except IndexError:
        require_known_tokens(module, tokens)
        raise
    if len(embedded) != 1:
        raise AttestError(
            f"{type(network).__name__}.encode reads its tokens with {len(embedded)} nn.Embedding layers; expected exactly "
            "one such layer, because gradients with respect to the input need a single embedded input."
        )
    require_shape(module, "encode", hidden, mask.shape, 3)
    if not hidden.requires_grad:
        raise AttestError(
            f"{type(network).__name__}.encode returned hidden states without a gradient; expected a gradient that reaches "
            "the embedding. Leave detach() and torch.no_grad() out of encode."
        )
    return embedded[0], hidden


def numbered(ids: Tensor | None, mask: Tensor) -> Tensor:
    """Return the given ids, int64 ``(B,)``, or the row numbers of the batch if there are no ids."""
    return torch.arange(len(mask), device=mask.device) if ids is None else ids


def outside_inference(values: Tensor) -> Tensor:
    """Return a tensor that autograd accepts: a copy if the tensor was made in inference mode, else the tensor itself."""
    return values.clone() if values.is_inference() else values


@contextmanager
def hooked(modules: Iterable[nn.Module], hook: Callable[..., Any], before: bool = False) -> Iterator[None]:
    """Call ``hook`` after (or ``before``) each forward pass of the given modules, while the ``with`` block runs."""
    with ExitStack() as hooks:
        for module in modules:
            hooks.enter_context(module.register_forward_pre_hook(hook) if before else module.register_forward_hook(hook))
        yield


def tables_of(network: Network) -> list[nn.Module]:
    """Return the ``nn.Embedding`` layers of a network, or the token embedding of a wrapped model."""
    if traits_of(network).holds_a_model:
        return [cast(Any, network).embeddings]
    return [each for each in cast(nn.Module, network).modules() if isinstance(each, nn.Embedding)]


def _token_lookups(network: Network, inputs: Inputs) -> list[nn.Module]:
    """Return the embedding layers that look up token ids; exclude, for example, embeddings of positions."""
    lookups = tables_of(network)
    if len(inputs.mask) > 1 or len(lookups) < 2:
        return lookups
    twice = inputs.repeated(2)
    used: list[nn.Module] = []

    def note(module: nn.Module, inputs: tuple[Tensor], _output: Tensor) -> None:
        if inputs[0].shape == twice.tokens.shape:
            used.append(module)

    with hooked(lookups, note), torch.no_grad():
        twice.read_by(network.encode)
    return list(dict.fromkeys(used))
