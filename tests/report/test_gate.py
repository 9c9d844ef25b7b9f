"""A bound passes where the whole interval is on its right side, and wrongly in at most one case of twenty."""

import numpy as np
import pandas as pd
import pytest
import torch

from attest.experiments.stopping import reading_order
from attest.report.findings import Findings
from attest.report.gate import Ruling, Sample, overall, requirement, rule
from attest.runs.belonging import finished
from attest.runs.folder import RunFolder, Stopped, write_json, write_table
from benchmarks.gate import false_passes, passes_of_student
from tests.report.made import VERDICT, decided, made_run

TEXTS = 300
VALUES = np.random.default_rng(0).beta(2, 5, TEXTS)


@pytest.fixture
def run(tmp_path) -> RunFolder:
    """A run of 300 texts: E2 is 2/7 on average, 0.9 of the classes are right, E14 read a sample of 100."""
    labels = [row % 2 for row in range(TEXTS)]
    predicted = [label if row % 10 else 1 - label for row, label in enumerate(labels)]
    run = made_run(tmp_path / "run", {"verdict": VERDICT}, decided(labels, predicted))
    known = {"id": np.arange(TEXTS), "predicted": predicted}
    write_table(run.evidence("E2"), pd.DataFrame(known | {"tvd_median": VALUES, "js_divergences": 0.0, "of_nothing": np.nan}))
    sampled = np.where(np.arange(TEXTS) < 100, VALUES, np.nan)
    write_table(run.evidence("E14"), pd.DataFrame(known | {"win_comprehensiveness_delete": sampled, "naopc_sufficiency": 0.0}))
    return run


def ruled(run: RunFolder, typed: str) -> Ruling:
    return rule(Findings(finished(run)), requirement(typed))


@pytest.mark.parametrize(
    ("typed", "outcome"),
    [
        ("E2/tvd_median>0.2", "pass"),
        ("E2/tvd_median/mean >= 0.2", "pass"),
        ("E2/tvd_median<0.2", "fail"),
        ("E2/tvd_median<=0.4", "pass"),
        ("E2/tvd_median>0.4", "fail"),
        ("E2/tvd_median>0.28", "undecided"),
        ("E2/tvd_median<0.28", "undecided"),
        ("test/accuracy>0.8", "pass"),
        ("test/accuracy>0.95", "fail"),
        ("tokens=in part", "pass"),
        ("tokens = yes|in part", "pass"),
        ("tokens=yes", "fail"),
    ],
)
def test_a_requirement_holds_or_not_or_is_undecided(run, typed, outcome):
    found = ruled(run, typed)
    assert (found.require, found.outcome) == (typed, outcome)


@pytest.mark.parametrize(("given", "outcome"), [("cannot tell", "undecided"), ("not learned", "fail"), ("no", "fail")])
def test_an_answer_that_cannot_be_given_is_undecided_and_every_other_one_fails(run, given, outcome):
    write_json(run.summary, {"verdict": {"tokens": VERDICT["tokens"] | {"answer": given}}})
    assert ruled(run, "tokens=yes").outcome == outcome
    assert ruled(run, f"tokens=yes|{given}").outcome == "pass"


def test_what_is_said_of_a_requirement(run, snapshot):
    assert [
        ruled(run, typed).said for typed in ("E2/tvd_median>0.28", "E14/win_comprehensiveness_delete>0.1", "tokens=yes")
    ] == snapshot


def test_undefined_texts_are_left_out_and_a_measure_that_none_has_is_undecided(run):
    sampled = ruled(run, "E14/win_comprehensiveness_delete>0.1")
    assert (sampled.outcome, sampled.found["texts"], sampled.found["of"]) == ("pass", 100, TEXTS)
    assert sampled.found["mean"] == pytest.approx(VALUES[:100].mean())


def test_texts_come_in_the_order_of_reading_however_the_table_is_sorted(run):
    found = ruled(run, "E2/tvd_median>0.28").found
    order = reading_order(torch.arange(TEXTS), 0)
    assert (found["low"], found["high"]) == Sample(VALUES[order], 0.0, 1.0, TEXTS, TEXTS).interval()
    assert (found["low"], found["high"]) != Sample(VALUES, 0.0, 1.0, TEXTS, TEXTS).interval()
    write_table(run.evidence("E2"), pd.read_parquet(run.evidence("E2")).sample(frac=1, random_state=1))
    assert ruled(run, "E2/tvd_median>0.28").found == found


def test_further_texts_take_nothing_back(run):
    """Evidence that stopped after fewer texts has the interval that all texts have narrowed since then."""
    order = reading_order(torch.arange(TEXTS), 0).tolist()
    table, widths = pd.read_parquet(run.evidence("E2")), []
    last = (0.0, 1.0)
    for read in (50, 150, TEXTS):
        stopped = Stopped(0.1, {"E2/texts_read/count": float(read), "E2/texts/count": float(TEXTS)}) if read < TEXTS else None
        run.write_evidence("E2", table[table["id"].isin(order[:read])], stopped)
        found = ruled(run, "E2/tvd_median>0.28").found
        assert (found["texts"], found["of"]) == (read, TEXTS)
        assert last[0] <= found["low"] < VALUES.mean() < found["high"] <= last[1]
        last = (found["low"], found["high"])
        widths.append(last[1] - last[0])
    assert widths[2] < widths[1] < widths[0] < 1


@pytest.mark.whole("many repetitions")
def test_a_pass_is_wrong_in_at_most_one_of_twenty_corpora_after_whatever_text():
    gate, often, once = false_passes("yes or no, even", 200, 150)
    assert gate <= 10
    assert often > 20, "an ordinary test that is asked again and again passes what it must not pass"
    assert once < often


def test_the_ordinary_test_is_that_of_student():
    from scipy.stats import ttest_1samp

    values = np.random.default_rng(3).normal(0.55, 0.2, 100)
    expected = [ttest_1samp(values[:read], 0.5, alternative="greater").pvalue < 0.05 for read in (25, 50, 75, 100)]
    assert passes_of_student(values, 0.5).tolist() == expected
    assert {*expected} == {True, False}


@pytest.mark.parametrize(
    "typed",
    [
        "tokens=maybe",
        "states=yes",
        "tokens",
        "E2/tvd_median",
        "E2/tvd_median>much",
        "E2/tvd_median>nan",
        "E2/tvd_median>80",
        "E2/tvd_median>=1",
        "E2/tvd_medium>0.1",
        "E2/predicted>0.5",
        "E2/id>0",
        "E3/jsd_max>0.1",
        "E99/x>0.1",
        "test/f1>0.8",
        "E14/naopc_sufficiency>0.1",
    ],
)
def test_what_cannot_be_decided_is_refused(run, typed, refusal):
    with refusal():
        ruled(run, typed)


def test_a_run_without_verdict_is_told_how_it_gets_one(run, refusal):
    write_json(run.summary, {"version": 1})
    with refusal():
        ruled(run, "tokens=yes")


def test_values_outside_their_range_are_no_evidence(run, refusal):
    table = pd.read_parquet(run.evidence("E2")).assign(tvd_median=3.0)
    write_table(run.evidence("E2"), table)
    with refusal():
        ruled(run, "E2/tvd_median>0.1")


def test_several_rows_a_text_have_no_interval(run, refusal):
    for name in ("instances", "E2"):
        write_table(run.evidence(name), pd.read_parquet(run.evidence(name)).assign(asked="good"))
    with refusal():
        ruled(run, "E2/tvd_median>0.1")


def test_copies_of_a_text_count_once(run):
    once = ruled(run, "E2/tvd_median>0.2")
    five = np.repeat(np.arange(TEXTS), 5)
    for name in ("instances", "E2"):
        rows = pd.read_parquet(run.evidence(name)).iloc[five].assign(id=np.arange(5 * TEXTS))
        if name == "instances":
            rows["tokens"] = [["the", "plot", str(text)] for text in five]
        write_table(run.evidence(name), rows)
    found = ruled(run, "E2/tvd_median>0.2")
    assert (found.found["texts"], found.found["copies"], once.found["copies"]) == (TEXTS, 4 * TEXTS, 0)
    assert found.found["mean"] == pytest.approx(once.found["mean"])
    assert found.said.endswith("1,200 copies of these texts do not count.")
    assert ruled(run, "test/accuracy>0.8").found["texts"] == TEXTS


def test_texts_without_labels_have_no_accuracy(run, refusal):
    write_table(run.evidence("instances"), pd.read_parquet(run.evidence("instances")).drop(columns="label"))
    with refusal():
        ruled(run, "test/accuracy>0.5")


@pytest.mark.parametrize(
    ("outcomes", "together"),
    [
        (["pass", "pass"], "pass"),
        (["pass", "undecided"], "undecided"),
        (["undecided", "fail", "pass"], "fail"),
    ],
)
def test_one_that_fails_outweighs_one_that_is_undecided(outcomes, together):
    assert overall([Ruling("", outcome, "", {}) for outcome in outcomes]) == together
