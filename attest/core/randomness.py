"""Random numbers that depend only on a seed and an instance's id, never on its batch, process or neighbours.

Each number is a hash of (seed, instance, draw, position), computed for a whole batch at once.
"""

from zlib import crc32

import torch
from torch import Tensor

from attest.core.memory import CACHE, by_rows, sort_rows

# SplitMix64 (Steele, Lea & Flood 2014), its constants read as signed 64-bit integers.
_INCREMENT = 0x9E3779B97F4A7C15 - 2**64
_SHIFTS, _LAST_SHIFT = (30, 27), 31
_MULTIPLIERS = (0xBF58476D1CE4E5B9 - 2**64, 0x94D049BB133111EB - 2**64)


def _shift_right(bits: Tensor, places: int) -> Tensor:
    return (bits >> places).bitwise_and_((1 << (64 - places)) - 1)  # int64 shifts copy the sign bit; the hash wants zeros


def _mix_(bits: Tensor) -> Tensor:
    for places, multiplier in zip(_SHIFTS, _MULTIPLIERS, strict=True):
        bits.bitwise_xor_(_shift_right(bits, places)).mul_(multiplier)
    return bits.bitwise_xor_(_shift_right(bits, _LAST_SHIFT))


def random_bits(seed: int, *counters: Tensor) -> Tensor:
    """Hash a seed and integer counters into random 64-bit integers; the counters are broadcast to one shape.

    Args:
        seed: any integer that fits 64 bits.
        counters: int64 tensors that broadcast against one another, for example instance ids ``(B, 1, 1)``, draws
            ``(D, 1)`` and positions ``(T,)``.
    Returns:
        int64 of the broadcast shape, uniform over all 64-bit patterns.
    """
    state: Tensor | int = int(_mix_(torch.tensor(seed) + _INCREMENT))  # a number, which no accelerator is asked for
    for counter in counters:
        state = _mix_((counter ^ state).add_(_INCREMENT))
    assert isinstance(state, Tensor)
    return state


def stream(seed: int, purpose: str) -> int:
    """Return a separate 64-bit seed for one purpose (such as breaking ties), computed from the run's seed.

    Args:
        purpose: one or two words; each purpose needs words that no other purpose has.
    """
    return int(random_bits(seed, torch.tensor(crc32(purpose.encode()))))


def random_permutations(seed: int, ids: Tensor, draws: int, mask: Tensor) -> Tensor:
    """Draw random permutations of the real positions of each text; padding stays in its place.

    Args:
        ids: int64 ``(B,)``, of the instances.
        draws: D, permutations per instance.
        mask: bool ``(B, T)``, True at real tokens, which come first in each row.
    Returns:
        int64 ``(B, D, T)``: indices to gather with.
    """
    places = mask.shape[-1].bit_length()
    position_T = torch.arange(mask.shape[-1], device=ids.device)
    draw_D1 = torch.arange(draws, device=ids.device).unsqueeze(-1)

    def shuffled(ids: Tensor, mask: Tensor) -> Tensor:
        keys_BDT = random_bits(seed, ids[:, None, None], draw_D1, position_T)
        kept_B1T = torch.where(mask, (1 << 62) - (1 << places), 0).unsqueeze(1)
        place_B1T = torch.where(mask, position_T, position_T + (1 << 62)).unsqueeze(1)  # padding beyond all others
        keys_BDT.bitwise_and_(kept_B1T).bitwise_or_(place_B1T)  # the position rides in the low bits
        return sort_rows(keys_BDT).bitwise_and_((1 << places) - 1)

    return by_rows(shuffled, 3 * draws * position_T.nbytes, ids, mask, budget=CACHE)


def random_uniforms(seed: int, *counters: Tensor) -> Tensor:
    """Hash a seed and counters into float64 numbers between 0 and 1, both excluded."""
    return (_shift_right(random_bits(seed, *counters), 11).double() + 0.5) * 2.0**-53


def random_pairs(seed: int, ids: Tensor, draws: int, size: int) -> tuple[Tensor, Tensor]:
    """Draw two independent numbers in (0, 1) for each instance, draw and position, float64 ``(B, draws, size)`` each."""
    draw_D11 = torch.arange(draws, device=ids.device)[:, None, None]
    position_T1 = torch.arange(size, device=ids.device).unsqueeze(-1)
    two = torch.arange(2, device=ids.device)
    first, second = random_uniforms(seed, ids[:, None, None, None], draw_D11, position_T1, two).unbind(dim=-1)
    return first, second


def random_normals(seed: int, ids: Tensor, draws: int, size: int, dtype: torch.dtype) -> Tensor:
    """Draw a standard normal number for each instance, draw and position, ``(B, D, T)``.

    Args:
        ids: int64 ``(B,)``, the ids of the instances.
        draws, size: D and T.
        dtype: the dtype of the result; the computation is in float64.
    Returns:
        float ``(B, D, T)``; the numbers of an instance do not depend on the other instances.
    """
    radius, turn = random_pairs(seed, ids, draws, size)
    return ((-2 * radius.log()).sqrt() * (2 * torch.pi * turn).cos()).to(dtype)


def random_order(seed: int, ids: Tensor, draws: int, mask: Tensor) -> Tensor:
    """Draw a random number for each token; sorting by these numbers shuffles a text.

    Args:
        seed, ids, draws: as in ``random_permutations``.
        mask: bool ``(B, T)``, True where a position may be chosen.
    Returns:
        int64 ``(B, D, T)``, at least 0 where it may be chosen and -1 where it may not.
    """
    draw_D1 = torch.arange(draws, device=ids.device).unsqueeze(-1)
    position_T = torch.arange(mask.shape[-1], device=ids.device)
    keys_BDT = _shift_right(random_bits(seed, ids[:, None, None], draw_D1, position_T), 1)
    return keys_BDT.masked_fill(~mask.unsqueeze(1), -1)
