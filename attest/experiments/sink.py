"""The sink: the first token, on which many decoders park attention, whatever it says (Xiao et al. 2024)."""

from torch import Tensor

FIRST = 0
"""Its place in every text."""


def parks_attention(network: object) -> bool:
    """Whether it is a decoder, where much attention may lie on the first token, so that evidence is also given without it."""
    return getattr(network, "looks_back", False)


def without_sink(allowed: Tensor) -> Tensor:
    """All places but the first token's, bool ``(..., T)``: those that stay to be ranked, or whose weight may be moved."""
    kept = allowed.clone()
    kept[..., FIRST] = False
    return kept
