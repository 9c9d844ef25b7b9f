"""The check of every attention distribution: a text needs at least one token to attend to."""

from torch import Tensor


def require_real_tokens(mask: Tensor) -> None:
    """Refuse a batch in which some text is nothing but padding.

    Args:
        mask: bool ``(..., T)``, True at real tokens.
    Raises:
        ValueError: a row of the mask has no True; attention over nothing is undefined (softmax gives NaN, sparse
            projections an index error for the whole batch).
    """
    if not bool(mask.any(dim=-1).all()):
        empty = (~mask.any(dim=-1)).nonzero().tolist()
        raise ValueError(
            f"mask: rows {empty} of {tuple(mask.shape)} are all padding, expected at least one real token each; "
            "drop empty texts in the DataModule before batching."
        )
