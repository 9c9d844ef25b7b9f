"""The base of every experiment: the right batches, one row an instance."""

from types import SimpleNamespace

import numpy as np
import torch

from attest.callbacks.evidence import Evidence, _rows


def part_of(ranks: int, batches: int, instances: int) -> list[int]:
    """Global batches that all ranks together choose, in order."""
    data = SimpleNamespace(validation_batches=batches, batch_size=32)
    chosen = []
    for rank in range(ranks):
        trainer = SimpleNamespace(datamodule=data, world_size=ranks, global_rank=rank)
        evidence = Evidence(validation_instances=instances)
        mine = range(len(range(rank, batches, ranks)))
        chosen += [index * ranks + rank for index in mine if evidence._in_validation_part(trainer, index)]
    return sorted(chosen)


def test_the_validation_part_does_not_depend_on_the_number_of_ranks():
    alone = part_of(1, 26, 256)
    assert len(alone) == 8
    assert (alone[0], alone[-1]) == (0, 25), "spread over all lengths"
    assert part_of(2, 26, 256) == part_of(3, 26, 256) == alone


def test_the_part_is_never_larger_than_the_split():
    assert part_of(2, 3, 10_000) == [0, 1, 2]


def test_columns_with_a_value_a_token_become_lists_as_long_as_the_text():
    mask = torch.tensor([[True, True, True], [True, False, False]])
    rows = _rows({"id": torch.tensor([4, 2]), "weight": torch.tensor([[0.1, 0.2, 0.7], [1.0, 0.0, 0.0]])}, mask)
    assert rows["id"].tolist() == [4, 2]
    assert [len(weights) for weights in rows["weight"]] == [3, 1]
    np.testing.assert_allclose(rows["weight"][0], [0.1, 0.2, 0.7])


def test_a_sample_of_which_no_text_was_run_is_an_empty_table():
    assert Evidence()._gather().empty
