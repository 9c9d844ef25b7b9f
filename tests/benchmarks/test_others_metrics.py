"""The page of others' metrics says who is better from the numbers alone."""

import pandas as pd
import pytest

from benchmarks.others_metrics import THEIRS, by_mechanism, difference, in_words, page

LEVELS = {"E14": 0.95, **dict.fromkeys(THEIRS, 0.6)}


def rows(levels):
    cells = [
        (test, defendant, rule, truth, level - 0.1 * (defendant == "b") + 0.02 * (rule == "order"))
        for test, level in levels.items()
        for defendant, truth in (("a", "wrong"), ("b", "wrong"), ("right", "right"))
        for rule in ("token", "order")
    ]
    made = pd.DataFrame(cells, columns=["test", "defendant", "rule", "truth", "auroc"])
    return made.assign(family="pooled", of="tokens", low=0.1, high=0.9, milliseconds=1.0)


def test_a_mean_is_over_mechanisms_of_means_over_rules_and_its_interval_draws_mechanisms():
    means = by_mechanism(rows(LEVELS))
    assert means.loc["a", "E14"] == pytest.approx(0.96)
    assert difference(means, "E14", "ICE: win rate") == pytest.approx((0.35, 0.35, 0.35))
    mean, low, high = difference(means.assign(none=0.0), "E14", "none")
    assert (mean, low, high) == pytest.approx((0.91, 0.86, 0.96))


@pytest.mark.parametrize(("ours", "said"), [(0.95, "is better than"), (0.5, "is worse than"), (0.6, "is not shown to differ")])
def test_who_is_better_is_said_from_the_interval(ours, said):
    assert said in in_words(by_mechanism(rows({**LEVELS, "E14": ours})))


def test_the_page_has_a_row_for_each_test_and_names_what_it_accuses():
    told = page(rows(LEVELS), 0.9, "Stated there.")
    assert "| E14 | 0.91 [0.86, 0.96] | 0.85 (b, token) | 1 of 2 | right | 1 |" in told
    assert "| ICE: win rate | 0.56 [0.51, 0.61] | 0.50 (b, token) | 0 of 2 | nobody | 1 |" in told
    assert "Stated there." in told
