"""The race is fair: both sides give the same numbers, and every row of the table is there."""

import torch

from benchmarks.evidence import STAGES, race, table


def test_both_sides_agree_and_the_table_is_complete():
    generator = torch.Generator().manual_seed(0)
    texts = []
    for lengths in ([2, 3, 5], [7, 12, 12]):
        lengths = torch.tensor(lengths)
        tokens = torch.randint(2, 60, (3, int(lengths.max())), generator=generator)
        texts.append((tokens * (torch.arange(tokens.shape[1]) < lengths[:, None]), lengths))
    stages = race(texts, vocabulary=60, steps=15)
    for name in ("evaluation", "gradients", "permutation × 100", "leave-one-out"):
        assert stages[name].apart < 1e-5
    assert stages["τ"].apart < 1e-12
    assert stages["search"].apart < 1e-3
    assert stages["exact adversary"].apart <= 1e-6  # the search is never above it
    printed = table(stages)
    assert all(name in printed for name in (*STAGES, "everything"))
