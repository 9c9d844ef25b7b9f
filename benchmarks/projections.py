"""Sparse projections against the ``entmax`` package, forward and backward, in one run: ``python -m benchmarks.projections``.

Rows are as a Transformer of 8 heads makes them from 32 texts (SST and IMDb lengths), scores normal with the standard deviation
that the second column names: near 0 as training begins, where supports are wide. The package sorts everything, or the 32
largest scores first (its ``k``), whichever is faster. Weights must be bit-equal before anything is timed.
"""

import argparse
from collections.abc import Callable
from functools import partial

import entmax
import torch
from torch import Tensor

from attest.core.attention import thresholds
from benchmarks.measuring import Cost

PAIRS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[..., Tensor]]] = {
    "sparsemax": (thresholds.sparsemax, entmax.sparsemax),
    "entmax15": (thresholds.entmax15, entmax.entmax15),
}
LENGTHS, SPREADS, LARGEST = (20, 150, 400), (0.1, 1.0, 3.0), 32
HEADS, TEXTS, MOST_SCORES = 8, 32, 6_000_000


def main() -> None:
    """Print a line for each projection, length and spread."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="of each side")
    repeats = parser.parse_args().repeats
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, CPU, one thread; milliseconds forward and backward, ours beside the package\n")
    print(f"{'projection':<12}{'tokens':>8}{'spread':>8}{'ours':>9}{'package':>9}{'ratio':>8}")
    for name, (ours, package) in PAIRS.items():
        for length in LENGTHS:
            for spread in SPREADS:
                scores = rows(length, spread)
                assert torch.equal(ours(scores), package(scores, dim=-1)), f"{name}: the sides disagree"
                mine = milliseconds(ours, scores, repeats)
                theirs = min(milliseconds(partial(package, dim=-1, k=k), scores, repeats) for k in (None, LARGEST))
                print(f"{name:<12}{length:>8}{spread:>8}{mine:>9.1f}{theirs:>9.1f}{theirs / mine:>7.1f} ×")


def rows(length: int, spread: float) -> Tensor:
    """Normal scores ``(rows, length)``, the same in every run."""
    generator = torch.Generator().manual_seed(0)
    count = min(TEXTS * HEADS * length, MOST_SCORES // length)
    return (torch.randn(count, length, generator=generator) * spread).requires_grad_()


def milliseconds(project: Callable[..., Tensor], scores: Tensor, repeats: int) -> float:
    """CPU time of projecting and of going back, the mean of ``repeats`` after one that is not counted."""
    upstream = torch.ones_like(scores)

    def there_and_back() -> None:
        torch.autograd.grad(project(scores), scores, upstream)

    there_and_back()
    cost = Cost()
    for _ in range(repeats):
        cost.of(there_and_back)
    return 1000 * cost.seconds / repeats


if __name__ == "__main__":
    main()
