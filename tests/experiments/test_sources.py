"""The search for the sources that matter, by groups first."""

import numpy as np
import pytest

from attest.experiments.sources import by_groups


@pytest.mark.parametrize("sources", [1, 2, 5, 16, 61, 300])
def test_the_source_that_matters_is_left_out_alone_after_few_groups(sources):
    asked = []
    for place in {0, sources // 3, sources - 1}:
        own = np.where(np.arange(sources) == place, 5.0, 0.01)

        def without(groups, own=own):
            asked.extend(groups)
            return np.array([own[first:last].sum() for first, last in groups])

        asked.clear()
        falls, alone = by_groups(without, sources)
        assert falls.argmax() == place
        assert falls[place] == 5.0
        assert alone[place]
        assert falls.sum() == pytest.approx(own.sum()), "what is not left out alone has its share of its group"
        assert len(asked) <= 8 * max(1, np.ceil(np.log(sources) / np.log(4)))


def test_all_of_few_sources_are_left_out_alone():
    falls, alone = by_groups(lambda groups: np.array([float(first) for first, _ in groups]), 4)
    assert alone.all()
    assert falls.tolist() == [0, 1, 2, 3]
