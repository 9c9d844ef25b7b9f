"""Training texts of which the marked words alone tell the label."""

import random
from typing import Any

import pytest

from attest.datamodules.planted import BLAME, PRAISE
from benchmarks.deciding.marked import MarkedRationales, filled


@pytest.mark.parametrize("seed", range(20))
def test_marked_words_stay_and_no_not_comes_before_them(seed: int) -> None:
    words, marked = ["the", "plot", "is", "witty", "."], [False, False, False, True, False]
    text = filled(words, marked, ["not", "sound"], random.Random(seed))
    assert [decides for _, decides in text] == marked
    assert (text[2][0], text[3][0]) == ("sound", "witty")


def test_only_training_texts_lose_their_other_words() -> None:
    sizes: dict[str, Any] = {"train_texts": 200, "validation_texts": 20, "test_texts": 20}
    corpus, whole = MarkedRationales(**sizes).read(), super(MarkedRationales, MarkedRationales(**sizes)).read()
    assert corpus.test.table.equals(whole.test.table)
    assert corpus.validation.table.equals(whole.validation.table)
    opinions = {*PRAISE, *BLAME}
    for new, old in zip(corpus.train.table.to_pylist(), whole.train.table.to_pylist(), strict=True):
        assert (new["label"], new["rationale"]) == (old["label"], old["rationale"])
        kept = [word for word, decides in zip(new["tokens"], new["rationale"], strict=True) if decides]
        assert kept == [word for word, decides in zip(old["tokens"], old["rationale"], strict=True) if decides]
        assert not opinions & {word for word, decides in zip(new["tokens"], new["rationale"], strict=True) if not decides}
    assert sum(row["tokens"][-1] == "." for row in corpus.train.table.to_pylist()) < 100
