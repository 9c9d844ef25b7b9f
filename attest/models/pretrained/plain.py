"""The wrapper of any module that maps token ids to logits and computes attention by a softmax.

Legend: B batch, T tokens, H hidden, C logits, K classes.
"""

import inspect
from collections.abc import Callable
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from attest.core.errors import AttestError, refusing, said_by
from attest.core.kinds import CLASSES, KINDS, TAGS, Kind
from attest.core.memory import in_evaluation_mode
from attest.models.contract import require_no_chance
from attest.models.observation import hooked
from attest.models.prediction import OneNumber, kind_of
from attest.models.pretrained.heads import MULTI_LABEL, REGRESSION, is_of_texts
from attest.models.pretrained.network import EXPECTED, LENGTH, UNREACHED, PretrainedNetwork
from attest.models.pretrained.told import config_of, told_by

GUIDE = "“Your own model” in the documentation shows one that works"
SEVERAL = 8
"""The number of copies of one text in a batch. The model reads this batch twice to find out whether its logits are random."""
MASKS: tuple[Callable[[Tensor], Tensor], ...] = (lambda mask: mask, lambda mask: ~mask, lambda mask: mask.long())
"""The forms of mask that a module may expect, tried one after the other. Each is a function from a mask that is True at real
tokens to this form: True at real tokens, True at padding, or 1 at real tokens."""


class PlainNetwork(PretrainedNetwork):
    """A wrapper of any module that maps token ids, and a mask if it takes one, to logits.

    Args:
        model: maps token ids int64 ``(B, T)`` and, if one of its parameters has ``mask`` in its name, a mask ``(B, T)`` to
            logits ``(B, C)`` or, for every token, ``(B, T, K)``; or returns an object whose attribute ``logits`` has this
            shape. Its mask may be True at real tokens or at padding. If its attribute ``kind`` is ``NUMBER``, the one logit
            is a number; else it is that of a sigmoid.
        padding, masked: as in ``PretrainedNetwork``.
        typed: whether it takes the types of tokens as ``token_type_ids``.
    Raises:
        AttestError: the module cannot be called in this way, its attention cannot be reached, or padding changes its logits.
    """

    def itself(self, tokens: Tensor, mask: Tensor, **given: Tensor) -> Tensor:
        beside = {name: given[name] for name in self.reads_beside if name in given}
        return self._own_logits(mask, **self._with_types(input_ids=tokens.where(mask, self.padding), **beside))

    def _has_padding(self, mask: Tensor) -> Tensor:
        return ~mask  # some modules find padding by token id

    def forward(self, tokens: Tensor, mask: Tensor, **beside: Tensor) -> Tensor:
        return self.logits_of(mask, input_ids=tokens.where(mask, self.padding), **beside)

    def _own_logits(self, mask: Tensor, **inputs: Tensor) -> Tensor:
        tokens = inputs.pop("input_ids")
        options = inputs if self._mask_name is None else inputs | {self._mask_name: self._mask_as(mask)}
        found = self.model(tokens, **options)
        logits = getattr(found, "logits", found)
        if not isinstance(logits, Tensor) or logits.ndim not in (2, 3) or logits.shape[:-1] != tokens.shape[: logits.ndim - 1]:
            shape = f"a tensor {tuple(logits.shape)}" if isinstance(logits, Tensor) else f"a {type(logits).__name__}"
            raise AttestError(
                f"{type(self.model).__name__} returned {shape} for tokens {tuple(tokens.shape)}; expected logits (B, C), or "
                f"(B, T, K) for one class of each token. {GUIDE}."
            )
        return logits

    @torch.no_grad()
    def _explore(self) -> None:
        name = type(self.model).__name__
        _require_one_class(self.model)
        _require_known_kind(self.model)
        self._mask_name, self._mask_as = _mask_parameter(self.model), MASKS[0]
        with in_evaluation_mode(self.model):
            for self._mask_as in MASKS:  # some modules fail with one of them: 1 - mask with bool, for example
                try:
                    tokens = self.some_tokens()
                    of_tokens = self._own_logits(_half(tokens), input_ids=tokens).ndim == 3
                    break
                except AttestError:
                    if self._mask_as is MASKS[-1]:
                        raise
            said = kind_of(self.model)
            if of_tokens and said not in (TAGS, CLASSES):
                raise AttestError(
                    f"the attribute `kind` of {name} is {said!r}, and it returned logits (B, T, K), which decide about each "
                    f"token; expected logits (B, C). {GUIDE}."
                )
            self.kind = TAGS if of_tokens else CLASSES if said == TAGS else said
            self.number = None if self.kind.chooses else OneNumber()
            several = tokens.repeat(SEVERAL, 1)
            require_no_chance(name, lambda: self._own_logits(torch.ones_like(several).bool(), input_ids=several))
            self._find_out_mask(tokens)
            self._find_softmaxes(tokens)
        if not self.calls:
            raise AttestError(f"{name} is not supported: {UNREACHED}; {EXPECTED}. {GUIDE}.")

    def _find_out_mask(self, tokens: Tensor) -> None:
        """Find out which mask the module expects: True at real tokens, 1 at real tokens, or True at padding."""
        length = tokens.shape[-1] - 2
        mask = (torch.arange(tokens.shape[-1], device=tokens.device) < length).unsqueeze(0)
        alone, apart = tokens[:, :length], []
        for meaning in MASKS if self._mask_name else MASKS[:1]:
            self._mask_as = meaning
            try:
                padded, bare = self.itself(tokens, mask), self.itself(alone, mask[:, :length])
            except Exception as error:  # whatever somebody's module says of another kind of mask
                apart.append(said_by(error))
                continue
            padded = padded[:, :length] if self.kind == TAGS else padded
            if padded.shape != bare.shape:
                apart.append(f"of {padded.shape[-1]} and {bare.shape[-1]} classes")
            elif torch.allclose(padded, bare, rtol=1e-4, atol=1e-5):
                return
            else:
                apart.append(f"{float((padded - bare).abs().max()):.2g} apart")
        wanted = f"its mask {self._mask_name!r} True at real tokens or at padding" if self._mask_name else "a parameter mask"
        raise AttestError(
            f"{type(self.model).__name__} decides differently when a text is padded (logits: {'; '.join(apart)}); expected "
            f"{wanted}, and the token id {self.padding} at padding. {GUIDE}."
        )

    def some_tokens(self) -> Tensor:
        return torch.tensor([[*self._plain_ids, self._plain_ids[0]]], device=_device(self.model))

    @cached_property
    def embeddings(self) -> nn.Embedding:
        tokens = torch.full((1, LENGTH), self.padding + 1, device=_device(self.model))
        return _token_embedding(self.model, tokens, self._own_logits)

    @cached_property
    def _plain_ids(self) -> list[int]:
        known = (token for token in range(len(self.embeddings.weight)) if token not in (self.padding, self.masked))
        return [token for _, token in zip(range(LENGTH), known, strict=False)]


def _device(model: nn.Module) -> torch.device:
    return next((parameter.device for parameter in model.parameters()), torch.device("cpu"))


def _half(tokens: Tensor) -> Tensor:
    """Return a mask ``(B, T)`` that is True in the first half of each text."""
    return (torch.arange(tokens.shape[-1], device=tokens.device) < tokens.shape[-1] // 2).expand(tokens.shape)


def _require_one_class(model: nn.Module) -> None:
    for part in model.modules():
        name, told = type(part).__name__, told_by(config_of(part))
        problem = told.problem_type
        if (is_of_texts(name) and told.num_labels == 1) or problem in (MULTI_LABEL, REGRESSION):
            raise AttestError(
                f"{type(model).__name__} contains a {name} that returns a number or several labels (problem_type {problem}), "
                "which Attest can test only without the module around it; expected the inner model itself."
            )


def _require_known_kind(model: nn.Module) -> None:
    """Refuse a module that says that it decides something else than a class, a tag or a number, or says it by a word."""
    said = getattr(model, "kind", None)
    kind = KINDS.get(said) if isinstance(said, str) else said
    if isinstance(kind, Kind) and not (kind in (CLASSES, TAGS) if isinstance(said, str) else kind.own):
        raise AttestError(
            f"the attribute `kind` of {type(model).__name__} is {said!r}, but its logits would be read as those of classes; "
            "expected attest.core.kinds.NUMBER for a module that returns one number, and no such `kind` for a module that "
            f"chooses a class. {GUIDE}."
        )


def _mask_parameter(model: nn.Module) -> str | None:
    _, *others = inspect.signature(model.forward).parameters.values()
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    mask = next((each.name for each in others if "mask" in each.name), None)
    if other := [each.name for each in others if each.default is each.empty and each.name != mask and each.kind not in kinds]:
        raise AttestError(
            f"{type(model).__name__}.forward needs {', '.join(other)} beside the tokens; expected forward(tokens, mask). "
            f"{GUIDE}."
        )
    return mask


@torch.no_grad()
def _token_embedding(model: nn.Module, tokens: Tensor, called: Callable[..., Tensor]) -> nn.Embedding:
    """Return the one ``nn.Embedding`` by which a module embeds its tokens."""
    used: dict[nn.Embedding, None] = {}

    def note(module: Any, inputs: tuple[Any, ...]) -> None:
        if inputs and isinstance(inputs[0], Tensor) and inputs[0].shape == tokens.shape and torch.equal(inputs[0], tokens):
            used[module] = None

    unread = f"{type(model).__name__} cannot read token ids int64 (1, {tokens.shape[-1]})"
    refuse = refusing(lambda said: f"{unread} ({said}); expected forward(tokens, mask). {GUIDE}.")
    tables = (part for part in model.modules() if isinstance(part, nn.Embedding))
    with refuse, hooked(tables, note, before=True), in_evaluation_mode(model):
        called(_half(tokens), input_ids=tokens)
    if len(used) != 1:
        raise AttestError(
            f"{type(model).__name__} reads its tokens with {len(used)} nn.Embedding layers; expected one such layer, because "
            f"gradients need a single embedded input. {GUIDE}."
        )
    return next(iter(used))
