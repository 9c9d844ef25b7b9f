"""Tests over texts go one way, the way of the claim."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from attest.core.measures import OverSeeds
from attest.replication.comparison import judge_claim
from attest.replication.table import in_pairs, paired_test


def test_decisions_are_tested_by_the_sign_test_on_those_that_differ():
    draw = np.random.default_rng(0)
    left, right = (pd.Series(draw.integers(0, 2, 200).astype(float)) for _ in range(2))
    only_left, only_right = int((left > right).sum()), int((left < right).sum())
    differing = only_left + only_right
    greater, less = (paired_test(in_pairs(left, right), expect) for expect in ("greater", "less"))
    assert greater["p"] == pytest.approx(stats.binom.sf(only_left - 1, differing, 0.5))
    assert less["p"] == pytest.approx(stats.binom.cdf(only_left, differing, 0.5))
    assert (greater["test"], greater["pairs"], greater["above"], greater["below"]) == ("McNemar", 200, only_left, only_right)
    assert greater["statistic"] == only_left


def test_values_are_paired_by_text_and_undefined_ones_left_out():
    draw = np.random.default_rng(1)
    left = pd.Series(draw.normal(size=60), index=range(60))
    right = left + draw.normal(0.4, 0.5, size=60)
    both = paired_test(in_pairs(left, right), "less")
    assert (both["test"], both["expect"], both["pairs"]) == ("Wilcoxon", "less", 60)
    assert both["p"] == pytest.approx(stats.wilcoxon(left, right, alternative="less").pvalue)
    ranks = stats.rankdata((left - right).abs())
    assert both["statistic"] == pytest.approx(ranks[(left > right).to_numpy()].sum())
    beyond = pd.concat([right.sample(frac=1, random_state=0), pd.Series([5.0, 6.0], index=[98, 99])])
    assert paired_test(in_pairs(pd.concat([left, pd.Series([np.nan], index=[98])]), beyond), "less") == both
    assert paired_test(in_pairs(left, left), "less")["p"] == 1.0
    assert np.isnan(paired_test(in_pairs(left, right.set_axis(range(100, 160))), "less")["p"])


def test_a_mean_that_a_few_texts_make_does_not_hold_over_the_texts(snapshot):
    """90 % of the differences are negative, their mean is +0.019, and the two-sided p is tiny: no evidence for *greater*."""
    draw = np.random.default_rng(2)
    differences = np.where(np.arange(1000) % 10 > 0, -0.04, 0.55) + draw.normal(0, 0.001, 1000)
    assert differences.mean() == pytest.approx(0.019, abs=5e-4)
    pairs = in_pairs(pd.Series(differences), pd.Series(np.zeros(1000)))
    assert stats.wilcoxon(differences).pvalue < 1e-60
    tests = [paired_test(pairs, "greater")] * 3
    assert tests[0]["p"] > 0.99
    verdict = judge_claim("greater", OverSeeds(0.019, 0.001, 3), [test["p"] for test in tests], 0.0)
    assert verdict == snapshot
