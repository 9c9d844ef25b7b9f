"""The rule of the verdict on made-up evidence: what it learns, when it withholds an answer, how its errors are counted."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from attest.experiments.verdict import CANNOT_TELL, IN_PART, NO, YES, Rule
from benchmarks.judges.fitting import calibrated, chosen_features, errors, fitted, networks_of, truth_of

STATED = {
    "ridge": 0.001,
    "gain": 0.005,
    "most": 2,
    "yes_from": 0.9,
    "no_below": 0.5,
    "alpha": {"yes_low": 0.1, "part_high": 0.05, "part_low": 0.05, "no_high": 0.05},
}


def evidence(mechanisms: int = 12, networks: int = 4, texts: int = 10, noise: float = 0.2) -> pd.DataFrame:
    """Return texts whose truth the feature ``E1/good`` shows up to noise, and ``E14/idle`` not at all."""
    generator = np.random.default_rng(0)
    rows = []
    for mechanism in range(mechanisms):
        share = [1.0, 0.7, 0.0, 0.0][mechanism % 4]
        for network in range(networks):
            right = (np.arange(texts) < share * texts).astype(float)
            rows.append(
                pd.DataFrame(
                    {
                        "network": f"{mechanism}/{network}",
                        "mechanism": f"m{mechanism}",
                        "side": "make",
                        "kind": "pooled",
                        "text": np.arange(texts),
                        "right": right,
                        "E1/good": right + noise * generator.standard_normal(texts),
                        "E14/idle": generator.standard_normal(texts),
                    }
                )
            )
    return pd.concat(rows, ignore_index=True)


def test_the_rule_learns_what_the_feature_says_and_orders_texts_by_it() -> None:
    rows = evidence()
    rule = fitted(rows, "right", {"E1/good": 1}, STATED)
    chance = rule.chance(rows)
    assert chance[rows.right == 1].mean() > 0.9 > 0.1 > chance[rows.right == 0].mean()


def test_no_feature_counts_against_its_sign() -> None:
    rows = evidence()
    rule = fitted(rows, "right", {"E1/good": -1}, STATED)
    assert rule.weights["E1/good"][0] == 0
    turned = fitted(rows.assign(**{"E1/good": -rows["E1/good"]}), "right", {"E1/good": -1}, STATED)
    assert turned.weights["E1/good"][0] < -1


def test_an_undefined_feature_has_a_weight_of_its_own() -> None:
    rows = evidence()
    rows.loc[rows.right == 1, "E1/good"] = np.nan
    rule = fitted(rows, "right", {"E1/good": 1}, STATED)
    assert rule.chance(rows)[rows.right == 1].min() > 0.9
    assert rule.chance(rows.drop(columns="E1/good")).min() > 0.9  # a column that is missing is undefined everywhere


def test_every_mechanism_counts_alike_however_many_networks_it_has() -> None:
    few, many = evidence(mechanisms=8, networks=1), evidence(mechanisms=8, networks=1)
    more = pd.concat([many, *(many[many.mechanism == "m0"].assign(network=f"again{i}") for i in range(30))])
    rules = [fitted(rows, "right", {"E1/good": 1}, STATED) for rows in (few, more)]
    assert rules[0].intercept == pytest.approx(rules[1].intercept, abs=1e-3)


def test_features_that_say_nothing_are_not_taken() -> None:
    assert chosen_features(evidence(), "right", {"E14/idle": 1, "E1/good": 1}, STATED) == ["E1/good"]


def test_answers_are_told_apart_where_estimates_are_and_withheld_where_they_are_not() -> None:
    rows = evidence()
    rule = fitted(rows, "right", {"E1/good": 1}, STATED)
    sharp = calibrated(rule, networks_of(rows, "right", rule), STATED)
    found = networks_of(rows, "right", sharp)
    assert {*found[found.share == 1].answer} == {YES}
    assert {*found[found.share == 0].answer} == {NO}
    noisy = evidence(noise=30)
    blind = fitted(noisy, "right", {"E14/idle": 1}, STATED)
    blind = calibrated(blind, networks_of(noisy, "right", blind), STATED)
    assert (networks_of(noisy, "right", blind).answer == CANNOT_TELL).mean() > 0.8


def test_thresholds_are_quantiles_of_networks_with_that_truth() -> None:
    networks = pd.DataFrame(
        {
            "network": range(100),
            "mechanism": [f"m{i}" for i in range(100)],
            "share": 0.0,
            "estimate": np.arange(100) / 100,
        }
    )
    rule = calibrated(Rule({}, 0.0), networks, STATED)
    assert rule.limits["no_high"] == pytest.approx(0.94, abs=0.011)  # 5 of 100, the new one counted among them
    assert rule.limits["yes_low"] == 0.0  # nothing is known of networks that are right: every estimate is compatible


def test_the_share_is_that_of_networks_with_such_an_estimate() -> None:
    networks = pd.DataFrame({"network": range(4), "mechanism": list("abcd"), "share": [0.0, 0.2, 0.1, 1.0]})
    rule = calibrated(Rule({}, 0.0), networks.assign(estimate=[0.1, 0.2, 0.3, 0.6]), STATED)
    assert [rule.share(each) for each in (0.0, 0.1, 0.2, 0.25, 0.3, 0.6, 0.9)] == pytest.approx([0, 0, 0.15, 0.15, 0.15, 1, 1])
    assert rule.share(0.45) == pytest.approx(0.575)  # between steps


def test_errors_are_rates_over_mechanisms() -> None:
    answers = [YES, NO, CANNOT_TELL, NO, YES, NO]
    networks = pd.DataFrame(
        {
            "network": range(6),
            "mechanism": ["a", "b", "c", "d", "e", "f"],
            "share": [0.0, 0.0, 0.0, 0.0, 1.0, 1.0],
            "answer": answers,
        }
    )
    found = errors(networks, STATED)
    exact = binomtest(1, 4).proportion_ci(0.95, "exact")
    assert found["false_yes"] == pytest.approx([0.25, exact.low, exact.high])
    assert found["false_no"][0] == 0.5
    assert found["answered"][0] == pytest.approx(5 / 6)
    assert found["wrong"][YES][0] == 0.5
    assert found["wrong"][IN_PART] is None
    assert found["answers"]["no"] == {"yes": 1, "in part": 0, "no": 2, "cannot tell": 1}


def test_the_truth_of_a_network_is_the_share_of_its_texts() -> None:
    assert [truth_of(share, STATED) for share in (1, 0.9, 0.89, 0.5, 0.49, 0)] == [YES, YES, IN_PART, IN_PART, NO, NO]
