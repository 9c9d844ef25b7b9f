"""The least that each kind of evidence can cost on this machine: its unavoidable operations, timed here one by one.

``python -m benchmarks.floors`` prints them, and the product by both libraries for few rows and for many. To see another
processor's instructions: ``ATEN_CPU_CAPABILITY=avx2 MKL_ENABLE_INSTRUCTIONS=AVX2 ONEDNN_MAX_CPU_ISA=AVX2`` before it.

An operation is timed on as many numbers as a core's cache holds, without the bookkeeping around it. So a floor is below what
any code can reach; evidence within twice its floor leaves little to gain.

Legend: B batch, n tokens of a text, E embedding, H hidden units a direction, A features of the score.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from torch import Tensor

from attest.models.networks.recurrent_without_each import by_onednn, by_torch
from benchmarks.measuring import timed

E, H, A = 300, 128, 128
ROWS, NUMBERS = 512, 2**16
ROUNDS = 7


def floors(lengths: Tensor, permutations: int, restarts: int, steps: int) -> dict[str, float]:
    """CPU seconds of a batch of texts, a stage.

    Args:
        lengths: int64 ``(B,)``.
        permutations: of E2.
        restarts, steps: of E3's search.
    """
    tokens, squares = int(lengths.sum()), int((lengths**2).sum())
    read = 2 * (_product(E, 4 * H) + _product(H, 4 * H))
    pairs = restarts * (restarts + 1) // 2
    state = _product(H, 4 * H) + _product(H, A) + (5 * H + A) * _sigmoid()
    return {
        "evaluation": tokens * (read + _product(2 * H, A) + (2 * 5 * H + A) * _sigmoid()),
        "gradients": tokens * read,
        "permutation × 100": tokens * permutations * (_hash() + _sorting(int(lengths.max())) + _gathering()),
        "leave-one-out": (squares - tokens) * state,
        "search": tokens * steps * (restarts * (_exponential() + _adam()) + pairs * _logarithm(torch.float32)),
        "exact adversary": squares * 4 * _logarithm(torch.float64),
        "τ": 2 * tokens * 2 * _ranking(int(lengths.max())),
    }


def _best(work: Callable[[], object], count: int) -> float:
    """CPU seconds of one of ``count`` things that the work does, the best of some rounds."""
    work()
    return min(timed(work)[1] for _ in range(ROUNDS)) / count


@cache
def _product(inputs: int, outputs: int) -> float:
    """One row times a matrix, by the library that is faster."""
    return min(products(inputs, outputs, ROWS).values())


def products(inputs: int, outputs: int, rows: int) -> dict[str, float]:
    """CPU seconds of one of many rows times a matrix, by library."""
    given, weight = torch.randn(rows, inputs), torch.randn(outputs, inputs)
    own, others = by_onednn(weight), by_torch(weight)
    return {
        "oneDNN": _best(lambda: [own(given) for _ in range(20)], 20 * rows),
        "MKL": _best(lambda: [others(given) for _ in range(20)], 20 * rows),
    }


@cache
def _sigmoid() -> float:
    numbers = torch.randn(NUMBERS)
    return _best(lambda: [torch.sigmoid(numbers, out=numbers) for _ in range(20)], 20 * NUMBERS)


@cache
def _exponential() -> float:
    numbers, result = torch.randn(NUMBERS), torch.empty(NUMBERS)
    return _best(lambda: [torch.exp(numbers, out=result) for _ in range(20)], 20 * NUMBERS)


@cache
def _logarithm(dtype: torch.dtype) -> float:
    numbers, result = torch.rand(NUMBERS, dtype=dtype), torch.empty(NUMBERS, dtype=dtype)
    return _best(lambda: [torch.log(numbers, out=result) for _ in range(20)], 20 * NUMBERS)


@cache
def _adam() -> float:
    """A step of torch's fused Adam, a number."""
    numbers = torch.zeros(NUMBERS, requires_grad=True)
    numbers.grad = torch.ones(NUMBERS)
    optimizer = torch.optim.Adam([numbers], amsgrad=True, fused=True)
    return _best(lambda: [optimizer.step() for _ in range(5)], 5 * NUMBERS)


@cache
def _hash() -> float:
    """A 64-bit hash of a counter: three shifts and two products (SplitMix64)."""
    words = np.arange(NUMBERS // 4, dtype=np.uint64)
    shifted = np.empty_like(words)

    def mix() -> None:
        for places in (30, 27, 31):
            np.right_shift(words, np.uint64(places), out=shifted)
            np.bitwise_xor(words, shifted, out=words)
        for _ in range(2):
            np.multiply(words, np.uint64(0xBF58476D1CE4E5B9), out=words)

    return _best(lambda: [mix() for _ in range(20)], 20 * len(words))


@cache
def _sorting(length: int) -> float:
    """Sorting rows of 64-bit integers, a number."""
    rows = _rows(length).astype(np.int64)
    return _best(lambda: np.sort(rows, axis=-1), rows.size)


@cache
def _gathering() -> float:
    """Taking a weight by its index and multiplying it, a number."""
    weights, order = torch.rand(NUMBERS), torch.randperm(NUMBERS)
    return _best(lambda: torch.dot(weights[order], weights), NUMBERS)


@cache
def _ranking(length: int) -> float:
    """Finding the order of rows of scores, a number: what Kendall's τ cannot do without."""
    rows = _rows(length)
    return _best(lambda: np.argsort(rows, axis=-1), rows.size)


@torch.no_grad()
def main() -> None:
    """Print the speed of products by library and number of rows, and what the other operations take."""
    torch.set_num_threads(1)
    for outputs in (4 * H, A):
        for rows in (32, 128, 512, 1024):
            seconds = products(H, outputs, rows)
            speeds = (f"{name} {2 * H * outputs / taken / 1e9:.0f} GFLOP/s" for name, taken in seconds.items())
            print(f"{rows} rows of {H} times {H} × {outputs}: {', '.join(speeds)}")
    others = {"sigmoid": _sigmoid(), "exponential": _exponential(), "logarithm": _logarithm(torch.float32), "hash": _hash()}
    others |= {"sort 18": _sorting(18), "gather": _gathering(), "Adam": _adam(), "rank 18": _ranking(18)}
    print(", ".join(f"{name} {seconds * 1e9:.2f} ns" for name, seconds in others.items()))


def _rows(length: int) -> np.ndarray:
    return np.random.default_rng(0).random((max(1, NUMBERS // 4 // length), length)) * 2**52


if __name__ == "__main__":
    main()
