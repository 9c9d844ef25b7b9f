"""The page of sparse attention: its intervals, and what a proxy would have told."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from benchmarks.sparse import (
    PROXIES,
    OnCorpus,
    answer_of_all,
    by_seed_and_text,
    over_seeds,
    over_texts,
    proxies,
    write_beside_others,
)


def test_the_interval_over_seeds_is_students():
    values = np.array([0.1, 0.2, 0.25])
    theirs = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert over_seeds(values) == pytest.approx((theirs.low, theirs.high))
    assert np.isnan(over_seeds(values[:2])).all()


def test_the_interval_over_texts_draws_a_text_with_all_its_seeds():
    """Of 100 texts 30 differ by 1, in each of three seeds alike: the seeds are no new texts."""
    one = np.where(np.arange(100) < 30, 1.0, 0.0)
    low, high = over_texts(np.stack([one] * 3))
    assert (low, high) == pytest.approx((0.21, 0.39), abs=0.02)
    with_gaps = np.concatenate([np.stack([one] * 3), np.full((3, 50), np.nan)], axis=1)
    assert over_texts(with_gaps) == pytest.approx((low, high), abs=0.02)


def test_texts_that_need_no_words_are_gaps():
    texts = pd.DataFrame({"row": ["a", "a", "b"], "seed": [0, 0, 0], "id": [1, 2, 2], "right": [1.0, 0.0, 1.0]})
    wide = by_seed_and_text(texts, "right")
    np.testing.assert_array_equal(wide["a"].to_numpy(), [[1.0, 0.0]])
    np.testing.assert_array_equal(wide["b"].to_numpy(), [[np.nan, 1.0]])


def test_a_proxy_tells_if_its_differences_order_like_those_of_the_share():
    rows = ["softmax", *"abcdefg"]
    right = np.array([0.5, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8])
    numbers = pd.DataFrame({name: np.zeros(8) for name in PROXIES} | {"right": right}, index=rows)
    numbers["support"], numbers["H̃ attention"] = right, -right
    numbers["H̃ importance"] = [0, 1, -1, 2, -2, 3, -3, 0.5]
    told = proxies(numbers, [(row, "softmax") for row in rows[1:]]).set_index("proxy")
    assert told.loc[["support", "H̃ attention"], "tau"].tolist() == pytest.approx([1, -1])
    assert told["would"].tolist() == [True, True, False, False, False, False]


def corpus(name, shares, told):
    """Settings beside softmax, over three seeds with a text each; the first is shown to be right in more texts."""
    right = {row: pd.DataFrame([[share]] * 3) for row, share in shares.items()}
    pairs = [(row, f"{row.partition(',')[0]}, softmax") for row in shares if not row.endswith("softmax")]
    verdicts = ["holds", *["perhaps"] * (len(pairs) - 1)]
    claims = pd.DataFrame({"left": [f"{row} · right" for row, _ in pairs], "expect": "greater", "verdict": verdicts})
    return OnCorpus(name, claims, right, pairs, pd.DataFrame({"proxy": ["support", "flips"], "would": told}))


def test_the_answer_names_the_networks_whose_sign_holds_on_every_corpus():
    first = {"CNN, softmax": 0.5, "CNN, a": 0.7, "CNN, b": 0.6, "average, softmax": 0.5, "average, a": 0.6}
    second = first | {"average, a": 0.4}
    said = answer_of_all([corpus("sst", first, [True, True]), corpus("imdb", second, [True, False])])
    assert "On sst and imdb, 6 settings" in said
    assert "in more texts in 2 of them, in fewer in 0," in said
    assert "under every sparse setting of: CNN; in fewer under every one of: no network;" in said
    assert "corpus or projection in: average." in said
    assert said.endswith("on each of 2 corpora: support.")


def test_runs_of_which_a_folder_knows_nothing_keep_their_rows(tmp_path):
    file = tmp_path / "runs.parquet"
    for rows in ([("a", 0, 0.5), ("b", 0, 0.6), ("a", 1, 0.7)], [("a", 0, 0.8)]):
        write_beside_others(file, pd.DataFrame(rows, columns=["row", "seed", "accuracy"]))
    assert pd.read_parquet(file).to_numpy().tolist() == [["a", 0, 0.8], ["b", 0, 0.6], ["a", 1, 0.7]]
