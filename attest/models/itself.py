"""Whether a network that is looked at decides as it does when its owner runs it.

Legend: B batch, T tokens, C logits, K classes.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from attest.core.errors import AttestError
from attest.core.measures import probabilities
from attest.models.contract import offers_forward

CLOSE, CLOSE_IN_HALF = 1e-5, 1e-2
"""How far apart probabilities may be that should be the same; the second in half precision."""
SHOWN = 5


@torch.no_grad()
def require_itself(network: Any, ids: Tensor, tokens: Tensor, mask: Tensor, given: Mapping[str, Tensor] | None = None) -> None:
    """Refuse a network whose steps decide otherwise than it does itself, or otherwise beside a longer text than alone.

    Args:
        network: with the four steps, in evaluation mode. What it does itself is its method ``itself(tokens, mask, **given)``,
            if it has one, else its ``forward(tokens, mask)``, if it has one.
        ids: int64 ``(B,)``: names of the texts.
        tokens, mask: of the texts, ``(B, T)``; they are read together, and the shortest and the longest of them alone.
        given: what else ``itself`` is told of the tokens, ``(B, T)`` each.
    Raises:
        AttestError: probabilities are further apart than ``CLOSE``.
    """
    together = _decided(network, ids, tokens, mask, given or {})
    if getattr(network, "reads_questions", False):
        return
    lengths = mask.sum(dim=-1)
    for row in sorted({int(lengths.argmin()), int(lengths.argmax())}):
        text, length = slice(row, row + 1), slice(int(lengths[row]))
        told = {name: values[text, length] for name, values in (given or {}).items()}
        alone = _decided(network, ids[text], tokens[text, length], mask[text, length], told)
        beside = together[text, length] if together.ndim == 3 else together[text]
        _require_close(
            f"{_name(network)} decides otherwise where a text is padded than where it is alone", alone, beside, ids[text],
            "Its decision would hang on the texts beside it. Leave padding out of all that tokens are mixed by.",
        )  # fmt: skip


def _decided(network: Any, ids: Tensor, tokens: Tensor, mask: Tensor, given: Mapping[str, Tensor]) -> Tensor:
    """Probabilities of the network itself, ``(B, K)``, of a tagger ``(B, T, K)`` and 0 at padding; those of all ways into it
    are the same."""
    ways = {"its four steps": _by_steps(network, tokens, mask)}
    if offers_forward(network):
        ways["its forward"] = network(tokens, mask)
    own = (
        network.itself(tokens, mask, **given)
        if hasattr(network, "itself")
        else ways.get("its forward", ways["its four steps"])
    )
    found, others = _without_padding(own, mask), {name: _without_padding(each, mask) for name, each in ways.items()}
    for name, other in others.items():
        what = f"{_name(network)} decides otherwise by {name} than it does itself"
        _require_close(what, found, other, ids, _why(network, tokens, mask))
    return found


def _why(network: Any, tokens: Tensor, mask: Tensor) -> str:
    if (found := mask & (tokens == getattr(network, "padding", None))).any():
        return f"The token of padding, {network.padding}, stands in {int(found.any(dim=-1).sum())} of them. Leave these out."
    return "Evidence would be of another model. SDPA leaves out soft caps: model.set_attn_implementation('eager') keeps them."


def _by_steps(network: Any, tokens: Tensor, mask: Tensor) -> Tensor:
    hidden = network.encode(tokens, mask)
    return network.decode(hidden, network.project(network.score(hidden, mask), mask))


def _without_padding(logits: Tensor, mask: Tensor) -> Tensor:
    found = probabilities(logits)
    return found if found.ndim < 3 else found.where(mask.unsqueeze(-1), 0)


def _require_close(what: str, own: Tensor, other: Tensor, ids: Tensor, why: str) -> None:
    """Refuse probabilities that differ; NaN is like NaN, and is refused elsewhere."""
    close = CLOSE_IN_HALF if own.dtype in (torch.float16, torch.bfloat16) else CLOSE
    apart = (own - other).abs().masked_fill(own.isnan() & other.isnan(), 0).nan_to_num(nan=torch.inf).flatten(1).amax(dim=-1)
    if (apart > close).any():
        raise AttestError(
            f"{what}: probabilities are up to {apart.max():.2g} apart, in the texts with the ids "
            f"{ids[apart > close][:SHOWN].tolist()}; expected the same to {close:g}. {why}"
        )


def _name(network: Any) -> str:
    return type(network.model if getattr(network, "holds_a_model", False) else network).__name__
