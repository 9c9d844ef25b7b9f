"""The training on texts with masked tokens, so that the model knows such texts.

Legend: B batch.
"""

from typing import Literal

import torch
from torch import Tensor

from attest.core.randomness import random_uniforms, stream
from attest.datamodules.vocabulary import PADDING
from attest.experiments.erasure.operators import UNKNOWN

Masking = Literal["uniform"]
"""How training texts are masked."""


def masked_uniformly(tokens: Tensor, ids: Tensor, seed: int, epoch: int) -> Tensor:
    """Return the token ids with a share of each text masked; the share is uniform in (0, 1) and new in every epoch.

    Masked means the unknown token in a token's place, as under ``mask`` of E14. Madsen et al. (2024) leave half the texts of
    a batch whole; here each text has a rate of its own.

    Args:
        tokens: int64 ``(B, T)``, or ``(B, S, T)`` of texts as sentences; 0 is padding, which stays.
        ids: int64 ``(B,)``. What happens to a token depends on seed, epoch, its text and its place, on no batch or process.
    Returns:
        int64, of the shape of ``tokens``.
    """
    rates = random_uniforms(stream(seed, "rates of masking"), ids, torch.tensor(epoch, device=ids.device))
    places = torch.meshgrid(*(torch.arange(size, device=tokens.device) for size in tokens.shape[1:]), indexing="ij")
    masked = stream(seed, "places of masks")
    each = random_uniforms(masked, _wide(ids, tokens), torch.tensor(epoch, device=ids.device), *places)
    return tokens.masked_fill((each < _wide(rates, tokens)) & (tokens != PADDING), UNKNOWN)


def _wide(values: Tensor, tokens: Tensor) -> Tensor:
    return values.view(-1, *(1,) * (tokens.ndim - 1))
