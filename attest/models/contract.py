"""The checks that a network and a batch must pass before an experiment; each refusal says what is wrong.

Shapes and the mask are checked in every batch. For each network, two batches show whether attention sums to 1 and is 0 at
padding: the first one, and the first one with padding.

Legend: B batch, T tokens, H hidden, C logits, K classes.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from attest.core.errors import AttestError, DisagreementError
from attest.models.inputs import Inputs
from attest.models.offers import offers_of
from attest.models.prediction import predictions_of
from attest.models.pretrained.told import config_of, told_by
from attest.models.traits import traits_of

STEPS = {
    "encode": ("(tokens, mask)", "hidden states (B, T, H)"),
    "score": ("(hidden, mask)", "scores (B, T)"),
    "project": ("(scores, mask)", "attention (B, T)"),
    "decode": ("(hidden, weights)", "logits (B, C)"),
}
GUIDE = "“Your own model” in the documentation shows a network that works"
ROWS_SHOWN = 5
_PADDING_SEEN: WeakKeyDictionary[nn.Module, bool] = WeakKeyDictionary()
"""The networks whose attention has been checked (rows sum to 1, padding gets 0), so that no network is checked twice. The
value is True if the checked batch contained padding, and False if a batch with padding has yet to be checked."""


def decided(network: Any, hidden: Tensor, mask: Tensor, **beside: Tensor) -> Tensor:
    """Compute logits ``(B, C)`` from hidden states ``(B, T, H)`` by the steps ``score``, ``project`` and ``decode``."""
    return network.decode(hidden, network.project(network.score(hidden, mask), mask), **beside)


def require_steps(network: Any) -> None:
    """Refuse a network that does not offer the four steps ``encode``, ``score``, ``project`` and ``decode``."""
    name = type(network).__name__
    if not isinstance(network, nn.Module):
        found = f"the class {network.__name__}" if isinstance(network, type) else f"a {name}"
        raise AttestError(f"the network is {found}; expected an instance of nn.Module. {GUIDE}.")
    if network in _PADDING_SEEN:
        return
    missing = [step for step in STEPS if not callable(getattr(network, step, None))]
    if missing:
        expected = ", ".join(f"{step}{STEPS[step][0]} -> {STEPS[step][1]}" for step in missing)
        raise AttestError(f"the network {name} lacks methods: {', '.join(missing)}; expected {expected}. {GUIDE}.")
    for step, (arguments, _) in STEPS.items():
        try:
            inspect.signature(getattr(network, step)).bind(None, None)
        except TypeError:
            expected = "expected a method with these two arguments"
            raise AttestError(f"{name}.{step} cannot be called with {arguments}; {expected}. {GUIDE}.") from None


def require_forward(network: nn.Module) -> None:
    """Refuse a network without ``forward``, because it cannot be trained."""
    if type(network).forward is nn.Module.forward:
        name = type(network).__name__
        raise AttestError(
            f"the network {name} has no method forward; expected forward(tokens, mask) -> logits, which calls the four steps. "
            f"{GUIDE}."
        )


def offers_forward(network: nn.Module) -> bool:
    """Return whether a network defines ``forward(tokens, mask)``; a wrapper may take columns beside them."""
    return [*inspect.signature(network.forward).parameters][1:] in (["mask"], ["mask", "beside"])


def require_batch(ids: Any, tokens: Any, mask: Any) -> None:
    """Refuse a batch whose tensors do not have the types, shapes and values that ``Observation`` describes."""
    named = {"tokens": tokens} if ids is None else {"ids": ids, "tokens": tokens}
    for name, given in (*named.items(), ("mask", mask)):
        if not isinstance(given, Tensor):
            raise AttestError(f"`{name}` is a {type(given).__name__}; expected a tensor. Use torch.as_tensor({name}).")
    if mask.dtype != torch.bool:
        kind = str(mask.dtype).removeprefix("torch.")
        raise AttestError(f"`mask` has the dtype {kind}; expected bool, True at real tokens. Use mask.bool().")
    if mask.ndim != 2 or tokens.shape[:2] != mask.shape or not len(mask):
        shapes = f"`tokens` has the shape {tuple(tokens.shape)} and `mask` the shape {tuple(mask.shape)}"
        raise AttestError(f"{shapes}; expected the shape (B, T) for both, with at least one text.")
    for name, given in named.items():
        if given.is_floating_point() or given.is_complex() or given.dtype == torch.bool:
            kind = str(given.dtype).removeprefix("torch.")
            raise AttestError(f"`{name}` has the dtype {kind}; expected whole numbers. Use {name}.long().")
    if ids is not None and ids.shape != mask.shape[:1]:
        raise AttestError(
            f"`ids` has the shape {tuple(ids.shape)} for {len(mask)} texts; expected the shape ({len(mask)},), one id for "
            "each text."
        )
    if empty := _rows_where(~mask.any(dim=-1)):
        raise AttestError(
            f"the rows {empty} of the mask have no real token; expected at least one real token in each text. Leave empty "
            "texts out of the batch."
        )
    if late := _rows_where((mask[:, 1:] > mask[:, :-1]).any(dim=-1)):
        raise AttestError(
            f"the rows {late} of the mask have padding before real tokens; expected padding only at the end. Pad texts on the "
            "right."
        )


def require_columns(words: Any, special: Any, mask: Tensor) -> None:
    """Refuse what is known of the tokens of a batch unless it is a tensor with one entry for each token."""
    for name, given in {"words": words, "special": special}.items():
        if given is not None and not isinstance(given, Tensor):
            raise AttestError(f"`{name}` is a {type(given).__name__}; expected a tensor. Use torch.as_tensor({name}).")
        if given is not None and given.shape[: mask.ndim] != mask.shape:
            raise AttestError(
                f"`{name}` has the shape {tuple(given.shape)}; expected one entry for each token, {tuple(mask.shape)}."
            )


def require_shape(network: nn.Module, step: str, returned: Any, batch: tuple[int, ...], dimensions: int) -> None:
    """Refuse a method's result unless it is a tensor with ``dimensions`` axes whose first sizes are ``batch``."""
    if isinstance(returned, Tensor) and returned.ndim == dimensions and returned.shape[: len(batch)] == batch:
        return
    found = (
        f"a tensor of the shape {tuple(returned.shape)}" if isinstance(returned, Tensor) else f"a {type(returned).__name__}"
    )
    sizes = " and ".join(f"{name} = {size}" for name, size in zip("BT", batch, strict=False))
    raise AttestError(f"{type(network).__name__}.{step} returned {found}; expected {STEPS[step][1]} with {sizes}. {GUIDE}.")


def require_known_tokens(network: nn.Module, tokens: Tensor) -> None:
    """Refuse token ids that are outside the embedding table of a network."""
    sizes = [module.num_embeddings for module in network.modules() if isinstance(module, nn.Embedding)]
    least, most = int(tokens.min()), int(tokens.max())
    if sizes and (least < 0 or most >= max(sizes)):
        raise AttestError(
            f"the token ids go from {least} to {most}; expected ids from 0 to {max(sizes) - 1}, because the nn.Embedding has "
            f"{max(sizes)} rows. Create the network with the size of the vocabulary."
        )


def require_repeatable(network: nn.Module, logits: Tensor, again: Callable[[], Tensor]) -> None:
    """Refuse a network in training mode whose logits change from pass to pass, for example because of dropout."""
    if network in _PADDING_SEEN and not network.training:
        return
    training = [part for part in network.modules() if part.training]
    normalises = any(isinstance(part, nn.modules.batchnorm._BatchNorm) for part in training)
    if training and (normalises or _apart(again(), logits)):
        part = "" if network.training else f" in its part {type(training[0]).__name__}"
        raise AttestError(
            f"the network {type(network).__name__} is in training mode{part}, so two forward passes on one "
            "text give different logits; expected evaluation mode, without dropout. Call network.eval() first."
        )


def require_no_chance(name: str, logits: Callable[[], Tensor]) -> None:
    """Refuse a model in evaluation mode whose logits, returned by ``logits()``, differ from pass to pass."""
    if not torch.allclose(logits(), logits(), rtol=1e-4, atol=1e-5, equal_nan=True):
        raise AttestError(
            f"{name} gives other logits for the same text in each pass, also in evaluation mode, perhaps because of dropout "
            "with training=True; expected one decision for each text. Let dropout end in evaluation mode: nn.Dropout, or "
            "dropout(…, training=self.training)."
        )


def require_finite_weights(model: nn.Module) -> None:
    """Refuse a model with a parameter that is NaN, infinite or without values, by the name of the first."""
    for name, parameter in model.named_parameters():
        values = parameter.detach()
        if values.is_meta:
            raise AttestError(
                f"the weight {name} has no values (its device is meta), as of a model that is offloaded or was never loaded; "
                "expected a model whose weights are in memory. Load it again without offloading: device_map=None"
            )
        values = values.float() if values.is_floating_point() and values.itemsize == 1 else values  # of eight bits
        if not values.isfinite().all():
            raise AttestError(
                f"the weights of the model contain NaN or infinity ({name}); expected finite numbers. Load the model again "
                "from a whole file, or train it again with a smaller learning rate."
            )


def require_finite_logits(logits: Tensor, ids: Tensor, mask: Tensor) -> None:
    """Refuse logits ``(B, C)`` or ``(B, T, C)`` that are NaN or infinite at real tokens; the error names the texts."""
    finite = logits.isfinite().all(dim=-1)
    finite = finite if finite.ndim == 1 else (finite | ~mask).all(dim=-1)
    if not finite.all():
        raise AttestError(
            f"the logits of the model are not finite for the texts with the ids {ids[~finite][:ROWS_SHOWN].tolist()}; "
            "expected finite numbers. Look at these texts and at the parameters of the model."
        )


def require_attention(
    network: nn.Module, hidden: Tensor, scores: Tensor, weights: Tensor, logits: Tensor, texts: Inputs
) -> None:
    """Check once for each network that attention sums to 1, and that ``forward`` and ``decode`` return equal logits."""
    seen, mask = _PADDING_SEEN.get(network), texts.mask
    if seen or (seen is False and mask.all()) or not scores.isfinite()[mask].all():
        return
    weights, logits = weights.detach(), logits.detach()
    name = type(network).__name__
    _require_distribution(f"{name}.project returned attention", weights, mask)
    one = (logits.sum(dim=-1) - 1).abs() <= _tolerance(logits)
    if logits.shape[-1] > 1 and (one & (logits >= 0).all(dim=-1)).all():
        raise AttestError(
            f"{name}.decode returned probabilities, which sum to 1 in every row; expected logits. Leave the softmax in decode "
            "out."
        )
    _require_linear(network, hidden, weights, logits)
    with torch.no_grad():
        apart = _apart(texts.read_by(network), logits) if offers_forward(network) else 0
    if apart:
        raise AttestError(
            f"the logits of {name}.forward differ by {apart:.3g} from those of encode, score, project and decode; "
            "expected equal logits. Let forward call these four steps."
        )
    _PADDING_SEEN[network] = not bool(mask.all())


def _require_distribution(found: str, weights: Tensor, mask: Tensor) -> None:
    if undefined := _rows_where(~weights.isfinite().all(dim=-1)):
        raise AttestError(f"{found} that is not finite in the rows {undefined}; expected finite numbers. Look at the scores.")
    if padded := _rows_where((weights.masked_fill(mask, 0) != 0).any(dim=-1)):
        raise AttestError(
            f"{found} to padding in the rows {padded}; expected exactly 0 at padding. Fill scores with -inf where mask is "
            "False, before the softmax."
        )
    if negative := _rows_where((weights < 0).any(dim=-1)):
        raise AttestError(f"{found} below 0 in the rows {negative}; expected numbers from 0. Use a softmax.")
    sums = weights.sum(dim=-1)
    if other := _rows_where((sums - 1).abs() > _tolerance(weights)):
        shown = ", ".join(f"{total:.4g}" for total in sums[other].tolist())
        raise AttestError(
            f"{found} that sums to {shown} in the rows {other}; expected the sum 1 in each row. Use a softmax, or divide by "
            "the sum."
        )


def _require_linear(network: nn.Module, hidden: Tensor, weights: Tensor, logits: Tensor) -> None:
    token_logits = offers_of(network).token_logits
    if token_logits is None:
        return
    apart = _apart((weights.unsqueeze(1) @ token_logits(hidden)).squeeze(1), logits)
    if apart:
        raise AttestError(
            f"{type(network).__name__}: the logits of decode and the attention-weighted sum of token_logits differ by "
            f"{apart:.3g}; expected equal logits, because token_logits is only for a linear decoder. Leave token_logits out "
            "if decode is not linear."
        )


def _apart(found: Tensor, logits: Tensor) -> float:
    apart = (found.detach() - logits).abs().max()
    return float(apart) if apart > _tolerance(logits) * (1 + logits.abs().max()) else 0.0


def _tolerance(values: Tensor) -> float:
    """Return the largest rounding error expected in a sum of thousands of values: 3e-4 in single precision, 1e-8 in double."""
    return torch.finfo(values.dtype).eps ** 0.5


def _rows_where(wrong: Tensor) -> list[int]:
    return wrong.nonzero().flatten().tolist()[:ROWS_SHOWN]


CLOSE, CLOSE_IN_HALF = 1e-5, 1e-2
"""How far two computations of the same prediction may lie apart, in single and in half precision: the largest absolute
difference of probabilities. For predicted numbers above 1 it is relative to the largest number."""


@torch.no_grad()
def require_itself(network: Any, ids: Tensor, texts: Inputs, **given: Tensor) -> None:
    """Refuse a network whose predictions change with padding or with the method that computes them.

    Args:
        network: a network with the four steps, in evaluation mode. Its own predictions are those of ``itself(tokens, mask,
            **given)`` if it has this method, else those of ``forward(tokens, mask)`` if it has this method.
        ids: int64 ``(B,)``: names of the texts.
        texts: the network reads all texts in one batch, then the shortest and the longest text alone.
        given: the further inputs of ``itself``, ``(B, T)`` each, by name.
    """
    together = _predictions_of(network, ids, texts, given)
    if traits_of(network).reads_questions:
        return
    lengths = texts.mask.sum(dim=-1)
    for row in sorted({int(lengths.argmin()), int(lengths.argmax())}):
        text, length = slice(row, row + 1), slice(int(lengths[row]))
        told = {name: values[text, length] for name, values in given.items()}
        read = texts.rows(text).at(torch.arange(int(lengths[row]), device=lengths.device).unsqueeze(0))
        alone = _predictions_of(network, ids[text], read, told)
        beside = together[text, length] if together.ndim == 3 else together[text]
        _require_close(
            f"{shown_class(network).__name__} decides differently when a text is padded", alone, beside, ids[text],
            "Then a decision depends on other texts of the batch. Apply the mask wherever tokens are mixed.",
        )  # fmt: skip


def _predictions_of(network: Any, ids: Tensor, texts: Inputs, given: Mapping[str, Tensor]) -> Tensor:
    """Return predictions ``(B, K)`` or ``(B, T, K)``; refuse a network whose methods give different predictions."""
    mask = texts.mask
    ways = {"its four steps": decided(network, texts.read_by(network.encode), mask, **texts.beside)}
    if offers_forward(network):
        ways["its forward"] = texts.read_by(network)
    itself = offers_of(network).itself
    own = [*ways.values()][-1] if itself is None else itself(texts.tokens, mask, **{**texts.beside, **given})
    found, *rest = (predictions_of(network, each) for each in (own, *ways.values()))
    if found.ndim == 3:  # what is decided about padding is arbitrary
        found, *rest = (each.where(mask.unsqueeze(-1), 0) for each in (found, *rest))
    for name, other in zip(ways, rest, strict=True):
        what = f"{shown_class(network).__name__} decides differently when it is computed by {name}"
        _require_close(what, found, other, ids, _why(network, texts.tokens, mask))
    return found


def _why(network: Any, tokens: Tensor, mask: Tensor) -> str:
    padding = offers_of(network).padding
    if (found := mask & (tokens == padding)).any():
        return (
            f"The padding token {padding} occurs as a real token in texts (count: {found.any(dim=-1).sum()}). Leave "
            "these texts out."
        )
    different = "The evidence would be about a different model."
    if told_by(config_of(_wrapped(network))).attn_logit_softcapping is None:
        return different
    return f"{different} SDPA ignores soft caps: model.set_attn_implementation('eager') keeps them."


def _require_close(what: str, own: Tensor, other: Tensor, ids: Tensor, why: str) -> None:
    """Refuse two predictions that differ by more than rounding; two NaN count as equal."""
    close = CLOSE_IN_HALF if own.dtype in (torch.float16, torch.bfloat16) else CLOSE
    close *= max(1.0, float(own.nan_to_num().abs().max()))  # numbers may be large
    apart = (own - other).abs().masked_fill(own.isnan() & other.isnan(), 0).nan_to_num(nan=torch.inf).flatten(1).amax(dim=-1)
    if (apart > close).any():
        kind = "numbers" if own.shape[-1] == 1 else "probabilities"
        raise DisagreementError(
            f"{what}: {kind} differ by up to {apart.max():.2g} for the texts with the ids "
            f"{ids[apart > close][:ROWS_SHOWN].tolist()}; expected a difference of at most {close:g}. {why}"
        )


def shown_class(network: Any) -> type:
    """Return the class that messages name: the class of the wrapped model, or of the network if it wraps none."""
    return type(_wrapped(network))


def _wrapped(network: Any) -> Any:
    """Return the model that a network wraps, or the network if it wraps none."""
    return network.model if traits_of(network).holds_a_model else network
