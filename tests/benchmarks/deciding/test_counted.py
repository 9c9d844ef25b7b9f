"""Errors of the measure over networks, counted by hand."""

import math

import pandas as pd
import pytest

from attest.core.measures.summary import share_interval
from benchmarks.deciding import page
from benchmarks.deciding.counted import answered, crossed, false

NETWORKS = [  # value, kind, texts that need words, measured, truth
    ("a", "pooled", 32, 1.0, 1.0),
    ("a", "pooled", 32, 1.0, 0.7),  # false yes
    ("b", "pooled", 32, 0.0, 0.0),
    ("b", "layered", 32, 0.0, 0.5),  # false no
    ("b", "layered", 8, 1.0, 0.0),  # false yes by the share
    ("c", "layered", 32, 0.875, 0.7),
    ("c", "layered", 0, math.nan, 0.0),
    ("c", "layered", 19, 0.0, 0.0),  # one text too few for a verdict
    ("c", "layered", 32, 0.0, math.nan),  # nothing decides in truth
]


def rows():
    table = pd.DataFrame(NETWORKS, columns=["value", "kind", "needs", "measured", "truth"])
    return table.assign(look="words", refused=math.nan, both=table.needs, agree=table.needs, false_right=0)


def test_answers_are_those_of_the_shares():
    found = answered(rows())
    assert [*found["is"]] == ["yes", "in part", "no", "in part", "no", "in part", "no", "no"]
    assert [*found["measured"]] == ["yes", "yes", "no", "no", "yes", "in part", "cannot tell", "no"]
    assert [*found["verdict"]] == ["yes", "yes", "no", "no", "cannot tell", "cannot tell", "cannot tell", "cannot tell"]


@pytest.mark.parametrize(
    ("answer", "by", "wrong", "networks"),
    [("yes", "measured", 2, 7), ("yes", "verdict", 1, 7), ("no", "measured", 1, 4), ("no", "verdict", 1, 4)],
)
def test_an_error_is_an_answer_to_networks_whose_truth_is_another(answer, by, wrong, networks):
    found = false(answer, answered(rows()), by)
    assert (found.wrong, found.networks, found.mechanisms) == (wrong, networks, 3)
    assert 0 <= found.low < wrong / networks < found.high <= 1


def test_networks_of_a_mechanism_count_together():
    """Twenty networks of two mechanisms without an error say no more than two."""
    alike = pd.concat([rows().iloc[[2]].assign(value=value) for value in "ab" for _ in range(10)])
    assert false("yes", answered(alike), "measured").high == pytest.approx(share_interval(pd.Series([0.0, 0.0]).to_numpy())[1])


def test_every_network_stands_once_in_each_half_of_the_table():
    table = pd.DataFrame(crossed(answered(rows()))[1:]).set_index(0).astype(int)
    assert table[1].to_dict() == {"yes": 1, "in part": 3, "no": 4}
    assert table.loc["in part", [2, 3, 4]].tolist() == [1, 1, 1]
    assert table.loc["no", [5, 6, 7, 8]].tolist() == [0, 0, 1, 3]


def test_the_page_says_how_many_networks_count_and_why_others_do_not():
    left_out = rows().iloc[[0]].assign(refused="it moves", truth=math.nan)
    said = "\n".join(page._constructed(pd.concat([rows(), left_out])))
    assert "9 of 10 networks count" in said
    assert "it moves, 1" in said
    assert "| all | 8 | 3 | 2 of 7 [" in said
