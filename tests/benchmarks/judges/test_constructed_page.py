"""What the page of the judges says, from made-up numbers whose sentences are known."""

import pandas as pd

from benchmarks.judges.constructed_page import CONSTRUCTED, heat_map, in_words, write_judges

ADVICE = "A wrong attention that is not on the list may escape them all."


def cells(*listed):
    names = ["test", "defendant", "truth", "auroc"]
    made = pd.DataFrame(listed, columns=names).assign(family="pooled", of="tokens", rule="token", low=0.1, high=0.95)
    return made.assign(mass=0.05, undefined=0.25, milliseconds=1.5, tau=0.3)


BLIND_TO_Y = [("a", "x", "wrong", 1.0), ("a", "y", "wrong", 0.2), ("a", "h", "right", 0.5)]
SEES = [("b", "x", "wrong", 0.9), ("b", "y", "wrong", 0.95)]


def test_a_test_that_sees_all_and_accuses_nobody_is_named():
    said = in_words(cells(*BLIND_TO_Y, *SEES, ("b", "h", "right", 0.5)), 0.9)
    assert said.startswith(
        "About tokens: b alone sees all 2 wrong attentions of our list (x and y) on every rule. "
        "Without accusing a right one: b."
    )
    assert "The smallest set that sees all of them that any test sees has 1: b." in said
    assert "Most misled: a by y." in said
    assert "No test sees" not in said
    assert "About states" not in said, "no test of the table speaks of them"
    assert said.endswith(ADVICE)


def test_a_test_that_accuses_a_right_one_is_not_trusted():
    assert "Each also accuses a right one." in in_words(cells(*SEES, ("b", "h", "right", 0.9)), 0.9)


def test_what_no_test_sees_is_named():
    said = in_words(cells(*BLIND_TO_Y), 0.9)
    assert "About tokens: no test alone sees all 2 wrong attentions of our list (x and y)" in said
    assert "No test sees y/token." in said


def test_every_smallest_set_is_named():
    said = in_words(cells(*BLIND_TO_Y, ("b", "x", "wrong", 0.1), ("b", "y", "wrong", 0.95), ("c", "y", "wrong", 1.0)), 0.9)
    assert "2 smallest sets see all of them that any test sees, with 2 each: a and b; a and c." in said


def test_calibrations_are_no_tests():
    assert "oracle" not in in_words(cells(("oracle of tokens", "x", "wrong", 1.0), *BLIND_TO_Y), 0.9)


def test_heat_map_shows_the_worst_rule_of_wrong_ones_beside_right_ones():
    other = cells(*BLIND_TO_Y).assign(rule="order", auroc=[0.7, 0.6, 0.8])
    wrong, right = heat_map(pd.concat([cells(*BLIND_TO_Y), other], ignore_index=True)).axes[:2]
    assert [each.get_text() for each in wrong.get_xticklabels()] == ["x", "y"]
    assert [each.get_text() for each in wrong.texts] == ["0.70", "0.20"]
    assert [each.get_text() for each in right.texts] == ["0.80"]


def test_page_has_undefined_shares_cost_limits_and_stamp(tmp_path):
    judged = cells(*BLIND_TO_Y, *SEES, ("a", "m", "mixed", 0.6))
    judged.loc[judged.test == "b", "undefined"] = 0.75
    words = write_judges(tmp_path, judged, {"sees": 0.9}, "Stated there.")
    page = (tmp_path / "judges.md").read_text()
    assert words in page
    assert "Stated there." in page
    assert all(limit in page for limit in CONSTRUCTED.limits)
    assert "| a | tokens | 1 of 2 | 1 of 2 | 0 of 1 | 25% | 1.5 |" in page
    assert "| b | tokens |" in page
    every = (tmp_path / "judges.html").read_text()
    assert words in every
    assert all(number in every for number in ("0.10 to 0.95", "0.75", "0.30")), "intervals, undefined texts, mixtures"
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "judges.parquet"), judged)
