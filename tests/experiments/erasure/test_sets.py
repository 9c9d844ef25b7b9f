"""Which tokens are erased, by hand."""

import torch

from attest.experiments.erasure.outcomes import kept_sets, random_ranks, ranks_of, sizes


def test_shares_are_rounded_up_to_at_least_one():
    assert sizes(torch.tensor([2, 19, 30, 100])).tolist() == [
        [1, 1, 1, 1, 1],
        [1, 1, 2, 4, 10],
        [1, 2, 3, 6, 15],
        [1, 5, 10, 20, 50],
    ]


def test_the_heaviest_stands_first_and_padding_last():
    weights, mask = torch.tensor([[[0.1, 0.5, 0.2, 9.0]]]), torch.tensor([[True, True, True, False]])
    assert ranks_of(weights, torch.tensor([3]), mask, 0).tolist() == [[[2, 0, 1, 3]]]


def test_ties_are_broken_by_the_texts_own_draw():
    ids, mask = torch.arange(200), torch.ones(200, 3, dtype=torch.bool)
    ranks = ranks_of(torch.ones(200, 1, 3), ids, mask, 0)[:, 0]
    assert torch.equal(ranks.sort(dim=-1).values, torch.arange(3).expand(200, 3))
    first = (ranks == 0).double().mean(dim=0)
    assert (first - 1 / 3).abs().max() < 0.1
    alone = ranks_of(torch.ones(1, 1, 3), ids[7:8], mask[:1], 0)[0, 0]
    assert torch.equal(ranks[7], alone)


def test_what_is_kept_and_what_is_kept_alone():
    ranks, mask = torch.tensor([[[2, 0, 1, 3]]]), torch.tensor([[True, True, True, False]])
    kept = kept_sets(ranks, torch.tensor([[1, 2]]), mask)[0, :, 0]
    assert kept[0].tolist() == [[True, False, True, False], [True, False, False, False]]
    assert kept[1].tolist() == [[False, True, False, False], [False, True, True, False]]


def test_random_sets_are_as_large_and_every_token_is_as_likely():
    ids, mask = torch.arange(300), torch.arange(6).expand(300, 6) < 5
    kept = kept_sets(random_ranks(ids, mask, 20, 0), torch.full((300, 1), 2), mask)
    assert (kept[:, 1].sum(dim=-1) == 2).all()
    assert (kept[:, 0].sum(dim=-1) == 3).all()
    assert (kept[:, 1].double().mean(dim=(0, 1, 2))[:5] - 0.4).abs().max() < 0.02


def test_no_random_set_of_one_seed_is_the_order_of_ties_of_another():
    ids, mask = torch.arange(4), torch.ones(4, 30, dtype=torch.bool)
    for seed in range(4):
        drawn = random_ranks(ids, mask, 3, seed)
        for other in range(7):
            tied = ranks_of(torch.ones(4, 1, 30), ids, mask, other)
            assert not (drawn == tied).all(dim=-1).any()
