"""Texts that are tokenised once, however many recipes of one corpus begin with the same tokens."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps

import pyarrow as pa

Tokeniser = Callable[[pa.Array], pa.Array]
"""Texts, strings ``(N,)`` -> tokens, lists of strings ``(N,)``."""

_DONE: ContextVar[list[tuple[Tokeniser, pa.Array, pa.Array]] | None] = ContextVar("tokeniser, texts and tokens", default=None)


@contextmanager
def each_text_once() -> Iterator[None]:
    """In here, a tokeniser that is given the same texts again gives the same tokens again; at the end they are forgotten."""
    token = _DONE.set([])
    try:
        yield
    finally:
        _DONE.reset(token)


def remembering(tokeniser: Tokeniser) -> Tokeniser:
    """A tokeniser that heeds ``each_text_once``."""

    @wraps(tokeniser)
    def tokenise(texts: pa.Array) -> pa.Array:
        done = _DONE.get()
        if done is None:
            return tokeniser(texts)
        for by, known, tokens in done:
            if by is tokeniser and known.equals(texts):
                return tokens
        tokens = tokeniser(texts)
        done.append((tokeniser, texts, tokens))
        return tokens

    return tokenise
