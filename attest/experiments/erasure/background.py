"""Replacements of a token: tokens of other texts, from the same relative position."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from attest.core.errors import AttestError
from attest.core.randomness import random_uniforms, stream


@dataclass(frozen=True)
class Background:
    """Texts of the corpus, stored flat."""

    tokens: Tensor
    """int64 ``(N,)``, all texts one after the other."""
    starts: Tensor
    """int64 ``(M,)``, where each text begins."""
    lengths: Tensor
    """int64 ``(M,)``, at least 1."""

    @classmethod
    def of(cls, texts: Sequence[Tensor]) -> "Background":
        """From the token ids of each text, int64 ``(T,)``; texts without tokens are left out.

        Raises:
            AttestError: none has any.
        """
        lengths = torch.tensor([len(text) for text in texts if len(text)])
        if not len(lengths):
            raise AttestError("the background has no tokens; expected texts that the model was trained on, or similar ones.")
        return cls(torch.cat([text for text in texts if len(text)]), lengths.cumsum(dim=0) - lengths, lengths)

    def to(self, device: torch.device) -> "Background":
        """The same on a device."""
        return Background(self.tokens.to(device), self.starts.to(device), self.lengths.to(device))

    def __str__(self) -> str:
        return f"{len(self.lengths)} texts"

    def drawn(self, seed: int, ids: Tensor, lengths: Tensor, draws: int, size: int) -> Tensor:
        """For every position a token that a text of the corpus, drawn anew, has at the same relative position.

        Args:
            seed: with an instance's id it fixes the draws.
            ids, lengths: int64 ``(B,)``, of the texts in which tokens are replaced.
            draws: D, how many of each.
            size: T.
        Returns:
            int64 ``(B, D, T)``.
        """
        draw_D11 = torch.arange(draws, device=ids.device)[:, None, None]
        position_T1 = torch.arange(size, device=ids.device).unsqueeze(-1)
        two = torch.arange(2, device=ids.device)
        replaced = stream(seed, "replacements")
        which, where = random_uniforms(replaced, ids[:, None, None, None], draw_D11, position_T1, two).unbind(dim=-1)
        text = (which * len(self.starts)).long()
        relative = (position_T1.squeeze(-1) + where) / lengths[:, None, None]  # a random point within the token's own span
        place = (relative.clamp(max=1 - 1e-12) * self.lengths[text]).long()
        return self.tokens[self.starts[text] + place]
