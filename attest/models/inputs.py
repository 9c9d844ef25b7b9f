"""What a network reads of a batch of texts: token ids, a mask, and named columns beside them.

Legend: B texts, T tokens, N rows, P places.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

import torch
from torch import Tensor

Result = TypeVar("Result")


@dataclass(frozen=True)
class Inputs:
    """The texts of a batch as a network reads them; a text, or a token, moves with all that is said of it.

    Args:
        tokens: int64 ``(B, T)``, or ``(B, T, W)`` for sentences of W words.
        mask: bool ``(B, T)``, True at real tokens.
        beside: what else the network reads, by the name of its parameter: ``(B, T)`` of each token, as ``token_type_ids``,
            or ``(B,)`` of each text, as the label that is ``asked`` about. Only wrappers of other people's models read any.

    Examples:
        >>> import torch
        >>> types = {"token_type_ids": torch.tensor([[0, 0, 0, 1]])}
        >>> pair = Inputs(torch.tensor([[2, 7, 3, 8]]), torch.ones(1, 4).bool(), types)
        >>> left = pair.only(torch.tensor([[True, False, True, True]]))
        >>> left.tokens, left.beside["token_type_ids"]
        (tensor([[2, 3, 8, 7]]), tensor([[0, 0, 1, 0]]))
    """

    tokens: Tensor
    mask: Tensor
    beside: Mapping[str, Tensor] = field(default_factory=dict)

    @property
    def columns(self) -> Tensor:
        """Return all that is said of each token, int64 ``(B, T, C)``: its id and the columns beside, in the order of names."""
        named = {"tokens": self.tokens} | {name: each for name, each in self.beside.items() if each.ndim > 1}
        return torch.stack([named[name] for name in sorted(named)], dim=-1)

    def read_by(self, read: Callable[..., Result], *first: object) -> Result:
        """Call a network, or a method of it: ``read(*first, tokens, mask)``, with the columns beside them by their names."""
        return read(*first, self.tokens, self.mask, **self.beside)

    def to(self, device: torch.device) -> "Inputs":
        """Return the same texts on a device."""
        return self._of_each(lambda column: column.to(device), lambda column: column.to(device))

    def rows(self, index: Tensor | slice) -> "Inputs":
        """Return the texts at the positions ``index``, int64 ``(N,)``, which may repeat."""
        return self._of_each(lambda column: column[index], lambda column: column[index])

    def repeated(self, times: int) -> "Inputs":
        """Return each text ``times`` times, its copies one after another."""
        return self.rows(torch.arange(len(self.mask), device=self.mask.device).repeat_interleave(times))

    def replaced(self, tokens: Tensor) -> "Inputs":
        """Return the texts with other token ids at the same places."""
        return replace(self, tokens=tokens)

    def of_tokens(self, change: Callable[[Tensor], Tensor]) -> "Inputs":
        """Change the token ids, the mask and every column with an entry for each token; what is said of a text stays."""
        return self._of_each(change, lambda column: column)

    def at(self, places: Tensor) -> "Inputs":
        """Return the tokens at P places of each text, int64 ``(B, P)``."""
        return self.of_tokens(lambda column: column.gather(1, like(places, column).expand(-1, -1, *column.shape[2:])))

    def only(self, kept: Tensor) -> "Inputs":
        """Return the texts with the kept tokens alone, bool ``(B, T)``: they move to the front, and become the mask."""
        return replace(self, mask=kept).at(kept.to(torch.uint8).argsort(dim=-1, descending=True, stable=True))

    def blank(self, kept: Tensor) -> "Inputs":
        """Return the texts with 0 in the place of all tokens but those kept, bool ``(B, T)``."""
        return self.of_tokens(lambda column: column * like(kept, column))

    def _of_each(self, of_token: Callable[[Tensor], Tensor], of_text: Callable[[Tensor], Tensor]) -> "Inputs":
        beside = {name: of_text(each) if each.ndim == 1 else of_token(each) for name, each in self.beside.items()}
        return Inputs(of_token(self.tokens), of_token(self.mask), beside)


def like(values: Tensor, tokens: Tensor) -> Tensor:
    """Return ``values (…, T)`` with added dimensions of size 1, to match ``tokens (…, T, …)``."""
    return values.view(*values.shape, *(1,) * (tokens.ndim - values.ndim))
