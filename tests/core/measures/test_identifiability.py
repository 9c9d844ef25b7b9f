"""Ranks of matrices made to have them, and effective attention against a pseudo-inverse."""

import itertools

import numpy as np
import pytest
import torch
from scipy import linalg, stats
from scipy.spatial.distance import jensenshannon

from attest.core.measures.identifiability import agreement, column_space, effective_attention, with_ones

GENERATOR = torch.Generator().manual_seed(0)


def of_rank(rank: int, rows: int, columns: int, dtype=torch.float64) -> torch.Tensor:
    """A matrix of exactly that rank, its columns of scales from 1 to 1000."""
    factors = (torch.randn(shape, generator=GENERATOR, dtype=torch.float64) for shape in ((rows, rank), (rank, columns)))
    left, right = factors
    return (left @ right * torch.logspace(0, 3, columns)).to(dtype)


def strict_space(matrix, mask):
    return with_ones(column_space(matrix, mask), mask, matrix.dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("rank", "rows", "columns"), [(1, 7, 5), (3, 7, 5), (5, 7, 5), (7, 7, 40), (4, 40, 16), (16, 200, 16)]
)
def test_the_rank_is_that_of_construction(rank, rows, columns, dtype):
    matrix = of_rank(rank, rows, columns, dtype)
    assert column_space(matrix, torch.ones(rows, dtype=torch.bool)).rank == rank


def test_float32_noise_is_no_direction():
    """The same matrix in float64 has full rank if rounding counts; that of the dtype it comes in does not."""
    matrix = of_rank(4, 30, 16, torch.float32)
    everyone = torch.ones(30, dtype=torch.bool)
    assert column_space(matrix, everyone).rank == 4
    assert column_space(matrix.double(), everyone).rank == 16


def test_ones_may_add_a_direction_or_none():
    everyone = torch.ones(9, dtype=torch.bool)
    more = strict_space(of_rank(3, 9, 5), everyone)
    assert more.rank == 4
    assert with_ones(more, everyone, torch.float64).rank == 4


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("rank", "columns"), [(3, 5), (5, 5), (9, 20)])
def test_the_space_with_ones_is_that_of_the_matrix_beside_ones(rank, columns, dtype):
    """As a decomposition of [T, 1] finds it, in one text of 7 tokens and one of 9."""
    mask = torch.arange(9) < torch.tensor([[7], [9]])
    matrix = torch.stack([of_rank(min(rank, 7), 9, columns, dtype) for _ in mask])
    space = strict_space(matrix, mask)
    for row, length in enumerate((7, 9)):
        beside = np.hstack([matrix[row, :length].double().numpy(), np.ones((length, 1))])
        expected = linalg.orth(beside, rcond=1e-6 if dtype is torch.float32 else 1e-12)
        assert space.rank[row] == expected.shape[1]
        projector = space.basis[row] @ space.basis[row].mT
        np.testing.assert_allclose(projector[:length, :length], expected @ expected.T, atol=1e-6)
        assert (projector[length:] == 0).all()


def test_the_scale_of_the_matrix_does_not_hide_a_direction_behind_the_ones():
    everyone = torch.ones(9, dtype=torch.bool)
    assert strict_space(1e-20 * of_rank(3, 9, 5), everyone).rank == 4


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("features", [3, 6, 20])
def test_the_space_is_that_of_the_singular_vectors_whatever_the_text(features, dtype):
    """Texts longer and shorter than there are features, with holes, empty, of low rank and of zeros, in one batch."""
    mask = torch.rand(40, 12, generator=GENERATOR) < torch.linspace(0, 1.1, 40).unsqueeze(-1)
    matrix = torch.stack([of_rank(1 + row % features, 12, features, dtype) for row in range(40)])
    matrix[7] = 0
    space = column_space(matrix, mask)
    for row, real in enumerate(mask):
        left, values, _ = np.linalg.svd(matrix[row, real].double().numpy(), full_matrices=False)
        noise = max(int(real.sum()), features) * torch.finfo(dtype).eps
        kept = left[:, values > noise * values.max(initial=0)]
        assert space.rank[row] == kept.shape[1]
        projector = space.basis[row] @ space.basis[row].mT
        np.testing.assert_allclose(projector[real][:, real], kept @ kept.T, atol=1e-6)
        assert (projector[~real] == 0).all()


@pytest.mark.parametrize("rows", [5, 9])
@pytest.mark.parametrize(("times", "rank"), [(0.3, 4), (3, 5), (1e3, 5)])
def test_a_direction_counts_from_the_noise_on(rows, times, rank):
    """Of a matrix whose least singular value is so many times the noise; at a thousand times no SVD is asked."""
    left, right = (torch.linalg.qr(torch.randn(n, 5, generator=GENERATOR, dtype=torch.float64)).Q for n in (rows, 5))
    least = times * rows * torch.finfo(torch.float64).eps
    matrix = left @ torch.diag(torch.tensor([1, 1, 1, 1, least], dtype=torch.float64)) @ right.mT
    assert column_space(matrix, torch.ones(rows, dtype=torch.bool)).rank == rank


def test_padding_and_neighbours_change_nothing():
    lengths = [9, 1, 4]
    mask = torch.arange(9) < torch.tensor(lengths).unsqueeze(-1)
    matrix = torch.stack([of_rank(3, 9, 5) for _ in lengths])
    spoiled = torch.where(mask.unsqueeze(-1), matrix, 1e9)
    space = column_space(spoiled, mask)
    for row, length in enumerate(lengths):
        expected = linalg.orth(matrix[row, :length].numpy())
        assert space.rank[row] == expected.shape[1]
        projector = space.basis[row] @ space.basis[row].mT
        np.testing.assert_allclose(projector[:length, :length], expected @ expected.T, atol=1e-9)
        assert (projector[length:] == 0).all()


def test_a_matrix_of_zeros_determines_nothing():
    space = column_space(torch.zeros(4, 3), torch.ones(4, dtype=torch.bool))
    assert space.rank == 0
    raw = torch.full((1, 4), 0.25)
    effective = effective_attention(raw, space)
    compared = agreement(raw, effective.unsqueeze(-2), torch.ones(4, dtype=torch.bool))
    assert (effective == 0).all()
    assert compared.l1 == 1
    assert compared.tau.isnan()
    assert compared.cosine.isnan()
    assert compared.jsd.isnan()


def test_effective_attention_gives_the_same_outcome_and_lacks_its_null_space():
    matrix, raw = of_rank(3, 9, 5), torch.randn(6, 9, generator=GENERATOR, dtype=torch.float64).softmax(dim=-1)
    effective = effective_attention(raw, column_space(matrix, torch.ones(9, dtype=torch.bool)))
    torch.testing.assert_close(effective @ matrix, raw @ matrix)
    expected = raw.numpy() @ matrix.numpy() @ np.linalg.pinv(matrix.numpy(), rcond=1e-10)
    np.testing.assert_allclose(effective, expected, atol=1e-9)
    null = linalg.null_space(matrix.numpy().T, rcond=1e-10)
    assert null.shape == (9, 6)
    np.testing.assert_allclose(effective.numpy() @ null, 0, atol=1e-9)


def test_knowing_the_sum_keeps_the_sum():
    raw = torch.randn(6, 9, generator=GENERATOR, dtype=torch.float64).softmax(dim=-1)
    everyone, matrix = torch.ones(9, dtype=torch.bool), of_rank(3, 9, 5)
    kept = effective_attention(raw, strict_space(matrix, everyone)).sum(dim=-1)
    lost = effective_attention(raw, column_space(matrix, everyone)).sum(dim=-1)
    np.testing.assert_allclose(kept, 1, atol=1e-9)
    assert (lost - 1).abs().min() > 1e-6


def test_agreement_against_scipy():
    raw = torch.randn(4, 9, generator=GENERATOR, dtype=torch.float64).softmax(dim=-1)
    mask = torch.arange(9) < 7
    raw = raw * mask / (raw * mask).sum(dim=-1, keepdim=True)
    effective = effective_attention(raw, column_space(of_rank(3, 9, 5), mask))
    halves = torch.stack([effective, effective / 2 - raw], dim=-2)
    compared = agreement(raw, halves, mask)
    for row, which in itertools.product(range(4), range(2)):
        p, e = raw[row, :7].numpy(), halves[row, which, :7].numpy()
        np.testing.assert_allclose(compared.tau[row, which], stats.kendalltau(p, e).statistic)
        np.testing.assert_allclose(compared.cosine[row, which], p @ e / np.linalg.norm(p) / np.linalg.norm(e))
        np.testing.assert_allclose(compared.l1[row, which], np.abs(p - e).sum())
        np.testing.assert_allclose(compared.jsd[row, which], jensenshannon(p, e.clip(min=0)) ** 2)
    np.testing.assert_allclose(compared.cosine[:, 0], effective.norm(dim=-1) / raw.norm(dim=-1))
