"""E18: which parts of its context does a decoder use for its answer?

Other methods are compared with leaving out each source by itself: a surrogate that is fitted to the answer's probability
without random sets of sources (Cohen-Wang et al. 2024, ContextCite), and weights of heads that are fitted to other answers
(Cohen-Wang et al. 2025, AT2).

Legend: U sources, M random sets, N heads of all layers.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from attest.core.randomness import random_uniforms, stream
from attest.core.sentence_ends import CLOSING, ENDS

SENTENCE = re.compile(
    rf"\s*\S.*?(?:[.!?]+[{CLOSING}]*(?=\s+[^\sa-z])|[{ENDS}](?!\d)[{ENDS}.!?…]*[{CLOSING}]*|[\n\r\x85\u2028\u2029]|$)",
    re.DOTALL,
)
PENALTY = 1.0
"""The ridge penalty in the fit of the surrogate, a linear model that predicts the answer's log-probability from which sources
(parts of the context) are kept, as 1 or 0."""
TINY = 1e-12
"""Each head's attention is divided by its standard deviation over the sources of all examples. This number is added to the
deviation, because it is 0 for a head that attends to all sources alike."""


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the start and the end of each sentence in a text, as character positions.

    A sentence ends at a new line; at a full stop, ``!`` or ``?`` before white space, unless a small letter follows, so that an
    abbreviation before a name ends one; or at a sign such as ``。``, ``।`` or ``؟``, whatever follows. A sentence includes the
    white space before it.

    Example:
        >>> [("很好。不错！"[begin:end]) for begin, end in sentences("很好。不错！")]
        ['很好。', '不错！']
    """
    found = [match.span() for match in SENTENCE.finditer(text)]
    ends = [*(begin for begin, _ in found[1:]), len(text)]
    return [(begin, end) for (begin, _), end in zip(found, ends, strict=True)]


def random_sets(seed: int, sets: int, sources: int) -> Tensor:
    """Draw M random sets of sources (parts of the context), each source with probability 0.5, bool ``(M, U)``."""
    places = torch.arange(sets).unsqueeze(-1), torch.arange(sources)
    return random_uniforms(stream(seed, "sources"), *places) < 0.5


def surrogate(kept: Tensor, outcomes: Tensor) -> Tensor:
    """Fit a ridge regression of the outcome on the kept context parts; return its weights, float64 ``(U,)``.

    Args:
        kept: bool ``(M, U)``, the sources that are kept in each of M sets.
        outcomes: float ``(M,)``, the outcome when only the sources of a set are kept.
    """
    there = kept.double() - kept.double().mean(dim=0)
    away = outcomes.double() - outcomes.double().mean()
    return torch.linalg.solve(there.mT @ there + PENALTY * torch.eye(kept.shape[1], dtype=torch.float64), there.mT @ away)


def head_weights(examples: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Fit one weight per head, ``(N,)``, to predict from attention the effect of removing each context part.

    From the attention of each head, its mean over the sources of an example is subtracted; the result is divided by the head's
    standard deviation over all examples.

    Args:
        examples: for each example, the attention of N heads on its sources, float ``(U, N)``, and the fall of the answer's
            log-probability without each source, ``(U,)``.
    """
    attention = np.concatenate([each - each.mean(axis=0) for each, _ in examples])
    falls = np.concatenate([each for _, each in examples])
    units = np.sqrt((attention**2).mean(axis=0)) + TINY
    scaled = attention / units
    penalty = len(scaled) * np.eye(scaled.shape[1])
    return np.linalg.solve(scaled.T @ scaled + penalty, scaled.T @ falls) / units


GROUPS, BEST = 4, 2
"""To save passes, neighbouring sources (parts of the context) are left out in groups. The first: how many groups each range of
sources is divided into. The second: how many of the groups, those that matter most, are divided further."""


def by_groups(falls_without: Callable[[Sequence[tuple[int, int]]], np.ndarray], sources: int) -> tuple[np.ndarray, np.ndarray]:
    """Search for the context parts that matter: remove groups of them, then divide the groups that matter most.

    It can miss two sources that change little alone but much together. It takes about 8 log₄(U) passes.

    Args:
        falls_without: takes G groups of neighbouring sources, as pairs (first source, last source + 1); returns the fall of
            the answer's log-probability without each group, float ``(G,)``.
        sources: U.
    Returns:
        The fall without each source, float64 ``(U,)``, and whether the source was removed alone, bool ``(U,)``. A source that
        was not removed alone gets an equal share of the fall of its group.
    """
    falls, alone = np.zeros(sources), np.zeros(sources, dtype=bool)
    divided = [(0, sources)]
    while divided:
        groups = [
            (int(part[0]), int(part[-1]) + 1)
            for first, last in divided
            for part in np.array_split(np.arange(first, last), min(GROUPS, last - first))
        ]
        found = falls_without(groups)
        for (first, last), fall in zip(groups, found, strict=True):
            falls[first:last], alone[first:last] = fall / (last - first), last - first == 1
        order = [groups[place] for place in np.argsort(-found, kind="stable")]
        divided = [group for group in order[:BEST] if group[1] - group[0] > 1]
    return falls, alone


def shares(drops: np.ndarray) -> np.ndarray:
    """Return each context part's share of the total fall in log-probability, ``(U,)``; 0 if it causes no fall."""
    falls = np.clip(drops, 0, None)
    return falls / falls.sum() if falls.sum() > 0 else falls


def scored(readings: Mapping[str, np.ndarray], drops: np.ndarray, truth: Collection[int] = ()) -> pd.DataFrame:
    """Compare explanations, which give each part of a context a weight, with the effect of removing each part.

    Args:
        readings: float ``(U,)`` by name, larger for a source from which more of the answer comes.
        drops: float ``(U,)``, the fall of the answer's log-probability without each source.
        truth: the n sources that the answer is known to come from, counted from 0.
    Returns:
        One row per explanation: ``tau``, Kendall's τ-b with ``drops``; ``same``, whether its first source is also the first in
        ``drops``, NaN if ``drops`` has no fall; ``drop``, the fall without its first source; and if ``truth`` is given
        ``precision``, the share of its first n sources that are in ``truth``.
    """
    from scipy.stats import kendalltau  # half a second to import

    rows = {}
    for name, reading in {"leave-one-out": drops, **readings}.items():
        order = np.argsort(-reading, kind="stable")
        tau = float(kendalltau(reading, drops).statistic) if len(drops) > 1 else np.nan
        same = float(order[0] == drops.argmax()) if drops.max() > 0 else np.nan
        rows[name] = {"tau": tau, "same": same, "drop": float(drops[order[0]])}
        if truth:
            rows[name]["precision"] = float(np.isin(order[: len(truth)], list(truth)).mean())
    return pd.DataFrame.from_dict(rows, orient="index")
