"""Sequential comparison with random sets: drawing stops for a text as soon as the winner is clear.

Legend: B batch, D sets, K sizes, T tokens.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
import torch
from torch import Tensor

from attest.core.rounding import compared
from attest.experiments.erasure.operators import Operator
from attest.experiments.erasure.outcomes import outcomes_of
from attest.models.observation import Observation


def until_clear(
    observation: Observation, own: Tensor, random: Tensor, counts: Tensor, draws: Sequence[Operator], lead: int
) -> tuple[Tensor, Tensor]:
    """Compare an explanation with random token sets; stop early when it is ``lead`` wins ahead or behind.

    Args:
        own: ``(B, 2, draws)``, the predicted class's probability for each draw of the operator, as a mean over sizes: without
            the explanation's first tokens (row 0), and with these tokens alone (row 1).
        random: int64 ``(B, D, T)``, the ranks of the tokens in D random orders; set d is erased by draw d modulo the number of
            draws.
        counts: int64 ``(B, K)``, sizes of the sets.
        lead: at least 1.
    Returns:
        The mean probability for the first ``lead`` sets, ``(B, 2)``, and the win rate, ``(B, 2)``: an unbiased estimate
        (``unbiased``) of the share of all random sets that the explanation beats; ties count half.
    """
    sets = random.shape[1]
    first = min(lead, sets)
    blocks = [range(first), *(range(place, place + 1) for place in range(first, sets))]  # each text needs the first block
    estimates = torch.as_tensor(unbiased(sets, lead))
    left, rates = (own.new_zeros(own.shape[:2], dtype=torch.float64) for _ in range(2))
    for kind, sign in enumerate((1, -1)):  # beaten: more probability is left by the others, or less with them alone
        rows = torch.arange(len(own), device=own.device)
        wins, losses = (torch.zeros_like(rows) for _ in range(2))
        for block in blocks:
            part, kinds = observation.part(rows), slice(kind, kind + 1)
            found = own.new_zeros(len(rows), len(block))
            for draw, operator in enumerate(draws):
                of_draw = [place for place in block if place % len(draws) == draw]
                if of_draw:
                    ranks = random[rows][:, of_draw, : part.mask.shape[-1]]
                    outcomes = outcomes_of(part, ranks, counts[rows], operator, kinds)[:, 0].double().mean(dim=-1)
                    found[:, [place - block.start for place in of_draw]] = outcomes
            asked = [place % len(draws) for place in block]
            better = sign * compared(found, own[rows, kind][:, asked], observation.within)
            wins[rows] += (better > 0).sum(dim=-1)
            losses[rows] += (better < 0).sum(dim=-1)
            if block is blocks[0]:
                left[:, kind] = found.mean(dim=-1)
            clear = ((wins - losses)[rows].abs() >= lead) | (block.stop == sets)
            done = rows[clear]
            rates[done, kind] = estimates[block.stop - 1, wins[done].cpu(), losses[done].cpu()].to(rates)
            rows = rows[~clear]
            if not len(rows):
                break
    return left, rates


@cache
def unbiased(sets: int, lead: int) -> np.ndarray:
    """Return an unbiased estimate of the win rate for each number of wins and losses at which comparisons can stop.

    All orders of wins, losses and ties that end at a point without stopping before are equally likely. The estimate is the
    share of these orders in which the first comparison is a win; a tie counts half. Its expectation is the win rate (Girshick,
    Mosteller & Savage 1946).

    Returns:
        float64 ``(D, D + 1, D + 1)`` in [0, 1], indexed by the number of comparisons minus 1, the number of wins and the
        number of losses; NaN where comparisons cannot stop.
    """
    first = np.zeros((3, sets + 1, sets + 1))  # how many orders lead to so many wins and losses, by their first comparison
    first[0, 1, 0] = first[1, 0, 1] = first[2, 0, 0] = 1
    wins, losses = np.indices(first.shape[1:])
    stops = np.abs(wins - losses) >= lead
    found = np.full((sets, sets + 1, sets + 1), np.nan)
    for place in range(sets):
        total = first.sum(axis=0)
        ends = (total > 0) & (stops | (place + 1 == sets))
        found[place, ends] = ((first[0] + first[2] / 2)[ends]) / total[ends]
        first[:, stops] = 0
        first = first + np.roll(first, 1, axis=1) + np.roll(first, 1, axis=2)  # none is at the edge before the last set
    return found
