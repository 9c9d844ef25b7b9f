"""A check that a network with known attention decides only by the tokens and states that should decide.

Legend: B texts, T tokens, F fillers.
"""

from typing import Any

import torch
from torch import Tensor

from attest.core.errors import AttestError
from attest.core.measures import probabilities, total_variation
from attest.judges.texts import EVERY_WORD_NEEDED, FILLERS, Texts
from attest.models.contract import decided
from attest.models.traits import traits_of

DELTA = 0.01
"""A network with known attention is refused if its prediction moves by a larger TVD than this when tokens or states that
should not decide are replaced."""
RIGHT, WRONG = 0.9, 0.1


def masses(texts: Texts, attention: Tensor, carrying: Tensor) -> tuple[Tensor, Tensor]:
    """Compute the attention on the deciding tokens and on the states that contain the decision, ``(B,)`` in [0, 1] each.

    If every deciding word is needed, the mass is their number times the smallest weight: one of two is not enough.
    """
    on_tokens = (attention * texts.deciding).sum(dim=-1)
    if texts.rule in EVERY_WORD_NEEDED:
        least = attention.masked_fill(~texts.deciding, torch.inf).amin(dim=-1)
        on_tokens = texts.deciding.sum(dim=-1) * least
    return on_tokens, (attention * carrying).sum(dim=-1)


def verdict(mass: Tensor) -> str:
    """Return ``right`` if every attention mass ``(B,)`` is at least 0.9, ``wrong`` if at most 0.1, else ``mixed``."""
    if (mass >= RIGHT - 1e-6).all():
        return "right"
    return "wrong" if (mass <= WRONG + 1e-6).all() else "mixed"


@torch.no_grad()
def require_truth(name: str, network: Any, texts: Texts, sample: int = 6) -> None:
    """Raise an ``AttestError`` if a network predicts a wrong label, or uses tokens or states that must not matter."""
    told = f"the defendant {name!r} with the rule {texts.rule!r}"
    if (wrong := int((network(texts.tokens, texts.mask).argmax(dim=-1) != texts.labels).sum())) > 0:
        raise AttestError(
            f"{told} decides {wrong} of {len(texts.ids)} texts wrongly; expected no wrong decision. Correct how it decides."
        )
    same = int((network(texts.exchanged, texts.mask).argmax(dim=-1) == texts.labels).sum())
    by_tokens, (by_states, kept) = moved_by_fillers(network, texts, sample), moved_by_states(network, texts, sample)
    for refused, why in (
        (same, f"keeps {same} decisions when the deciding words are exchanged; expected that all decisions change"),
        (
            by_tokens > DELTA,
            f"changes its prediction by {by_tokens:.3g} when only other tokens are replaced; expected at most {DELTA}",
        ),
        (
            by_states > DELTA,
            f"changes its prediction by {by_states:.3g} when only other states are replaced; expected at most {DELTA}",
        ),
        (kept, f"keeps {kept} decisions when the deciding states are exchanged; expected that all decisions change"),
    ):
        if refused:
            raise AttestError(f"{told} {why}. Correct how it decides.")


def moved_by_fillers(network: Any, texts: Texts, sample: int) -> float:
    """Return the largest TVD of the prediction if one token that should not decide is replaced by a filler word."""
    tokens, mask, deciding = texts.tokens[:sample], texts.mask[:sample], texts.deciding[:sample]
    text, place = (mask & ~deciding).nonzero(as_tuple=True)
    replaced = tokens[text].unsqueeze(1).repeat(1, len(FILLERS), 1)
    index = place[:, None, None].expand(-1, len(FILLERS), 1)
    replaced = replaced.scatter(-1, index, torch.tensor(FILLERS).view(1, -1, 1).expand_as(index)).flatten(0, 1)
    row = text.repeat_interleave(len(FILLERS))
    return _farthest(network(replaced, mask[row]), network(tokens, mask)[row])


def moved_by_states(network: Any, texts: Texts, sample: int) -> tuple[float, int]:
    """Replace non-deciding states and return the largest TVD; replace deciding states and count unchanged decisions."""
    tokens, mask = texts.tokens[:sample], texts.mask[:sample]
    states, decide, carrying = _states(network, tokens, mask)
    others = mask & ~carrying
    clean = decide(states, torch.arange(len(tokens)))
    text, place = others.nonzero(as_tuple=True)
    donors = states[others][: 2 * len(FILLERS)]
    moved = 0.0
    if len(text):
        row, position = (each.repeat_interleave(len(donors)) for each in (text, place))
        donor = torch.arange(len(donors)).repeat(len(text))
        replaced = states[row]
        replaced[torch.arange(len(row)), position] = donors[donor]
        moved = _farthest(decide(replaced, row), clean[row])
    twin, _, carrying_there = _states(network, texts.exchanged[:sample], mask)
    exchanged = torch.where((carrying | carrying_there).unsqueeze(-1), twin, states)
    kept = decide(exchanged, torch.arange(len(tokens))).argmax(dim=-1) == clean.argmax(dim=-1)
    return moved, int(kept.sum())


def _states(network: Any, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Any, Tensor]:
    """Return the hidden states, a function that maps states to logits, and a mask of the states that should decide."""
    carrying = network.carrying_states(tokens, mask)
    if traits_of(network).attends_within:
        below = network.states(tokens, mask)

        def through_layers(states: Tensor, rows: Tensor) -> Tensor:
            held = torch.cat([states[..., :1], below[rows][..., 1:]], dim=-1)
            hidden = network.above(held, mask[rows])
            return decided(network, hidden, mask[rows])

        return network.states(tokens, mask), through_layers, carrying
    hidden = network.encode(tokens, mask)
    weights = network.project(network.score(hidden, mask), mask)
    return hidden, lambda states, rows: network.decode(states, weights[rows]), carrying


def _farthest(logits: Tensor, clean: Tensor) -> float:
    return float(total_variation(probabilities(logits), probabilities(clean)).max())
