"""The hash behind every random draw: uniform, and blind to batch, rank and order."""

import torch
from scipy import stats

from attest.core.randomness import _mix_, random_bits, random_permutations, stream


def test_bits_are_uniform_and_counters_independent():
    bits = random_bits(7, torch.arange(2000)[:, None], torch.arange(50))
    assert bits.unique().numel() == bits.numel()
    ones = sum(((bits >> place) & 1).sum().item() for place in range(64))
    assert stats.binomtest(ones, bits.numel() * 64).pvalue > 1e-3
    leading = (bits[:-1] >> 60 & 15) * 16 + (bits[1:] >> 60 & 15)  # neighbouring counters, jointly
    assert stats.chisquare(torch.bincount(leading.flatten(), minlength=256).numpy()).pvalue > 1e-3


def test_the_hash_is_splitmix64():
    """Against whole numbers of any size, for patterns of either sign, in one tensor and alone."""

    def mixed(bits):
        bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        bits = (bits ^ bits >> 27) * 0x94D049BB133111EB % 2**64
        return bits ^ bits >> 31

    patterns = [0, 1, -1, 2**63 - 1, -(2**63), 123456789, -987654321]
    expected = torch.tensor([mixed(each % 2**64) for each in patterns], dtype=torch.uint64).view(torch.int64)
    assert torch.equal(_mix_(torch.tensor(patterns)), expected)
    assert [int(_mix_(torch.tensor(each))) for each in patterns] == expected.tolist()


def test_a_draw_depends_on_seed_and_instance_alone():
    ids = torch.tensor([5, 9, 2])
    mask = torch.arange(6) < torch.tensor([[6], [4], [3]])
    together = random_permutations(1, ids, 10, mask)
    for row, length in enumerate((6, 4, 3)):
        alone = random_permutations(1, ids[row : row + 1], 10, mask[row : row + 1, :length])
        assert torch.equal(together[row, :, :length], alone[0])
    assert not torch.equal(together, random_permutations(2, ids, 10, mask))


def test_permutations_permute_real_positions_and_leave_padding():
    mask = torch.arange(7) < torch.tensor([[7], [3], [1]])
    order = random_permutations(0, torch.arange(3), 50, mask)
    assert torch.equal(order.sort(dim=-1).values, torch.arange(7).expand_as(order))
    assert torch.equal(order[1, :, 3:], torch.arange(3, 7).expand(50, 4))
    assert (order[1, :, :3] < 3).all()


def test_every_permutation_is_equally_likely():
    order = random_permutations(3, torch.arange(6000), 1, torch.ones(6000, 3, dtype=torch.bool))[:, 0]
    counts = torch.bincount(order[:, 0] * 9 + order[:, 1] * 3 + order[:, 2])
    counts = counts[counts > 0]
    assert len(counts) == 6
    assert stats.chisquare(counts.numpy()).pvalue > 1e-3


def test_no_purpose_of_a_seed_draws_as_another_one_of_any_seed():
    purposes = ("", "ties", "random sets", "replacements", "one token", "places of masks")
    streams = [*range(-20, 200), *(stream(seed, each) for each in purposes for seed in range(-20, 200))]
    assert len({*streams}) == len(streams)
    assert stream(7, "ties") == stream(7, "ties")
