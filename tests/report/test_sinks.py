"""Tokens that are named because they get the most attention where it is wrong, and never decide."""

import numpy as np
import pandas as pd

from attest.report.readings import sink_sentence

TEXTS = 16


def tables(first=0, decides=2, right=4):
    """Texts of four tokens, which attention reads from the place ``first``; of most it is wrong."""
    attention = [np.eye(4)[first].tolist() for _ in range(TEXTS)]
    tokens = [[".", f"a{row}", f"b{row}", "[SEP]"] for row in range(TEXTS)]
    special = [[False, False, False, True] for _ in range(TEXTS)]
    instances = pd.DataFrame({"id": range(TEXTS), "tokens": tokens, "attention": attention, "special": special})
    found = {"id": range(TEXTS), "right": [1.0] * right + [0.0] * (TEXTS - right)}
    return instances, pd.DataFrame(found | {"decides": [np.eye(4)[decides].tolist() for _ in range(TEXTS)]})


def test_a_full_stop_that_never_decides_is_named():
    said = sink_sentence(*tables())
    assert said.startswith(
        "In 12 of the 12 texts in which attention is wrong, “.” has the most weight, and “.” decides in no text"
    )


def test_a_token_that_decides_somewhere_is_no_sink():
    assert sink_sentence(*tables(decides=0)) is None


def test_different_tokens_special_ones_and_few_texts_are_not_named():
    assert sink_sentence(*tables(first=1)) is None, "a different token in each text"
    assert sink_sentence(*tables(first=3)).startswith("In 12 of the 12 texts in which attention is wrong, “.”"), (
        "[SEP] is left out"
    )
    assert sink_sentence(*tables(right=8)) is None
    assert sink_sentence(None, None) is None
    assert sink_sentence(tables()[0], pd.DataFrame({"id": [1]})) is None


def judged_again(place, right=12):
    """E19 has found the token at a place to be a sink, and without it attention is right in some texts."""
    instances, decided = tables()
    places = np.where(np.arange(TEXTS) < 2, np.nan, float(place))  # two texts lack it
    without = [1.0] * right + [0.0] * (TEXTS - right)
    return instances, decided.assign(right_without_sink=without, sink=places)


def test_the_sink_is_named_with_the_share_without_it():
    said = sink_sentence(*judged_again(0), "attention").replace("\xa0", " ")
    assert said.endswith(
        " Without this sink, attention points at the words that decide in 75 % [41 %, 95 %] of the 16 texts that have such "
        "words."
    )
    assert sink_sentence(*judged_again(3), "attention") == sink_sentence(*tables()), "another token was set aside"
