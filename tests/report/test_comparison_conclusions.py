"""What the page of several settings begins with: every word is decided by a number."""

import numpy as np
import pandas as pd
import pytest

from attest.core.measures import Paired
from attest.report.collection import Pairing, settings_of
from attest.report.comparison import Decision, apart, conclusions, named_by_choices, write_comparison
from attest.runs.identity import find_runs
from tests.report.made import decided, made_run

TAU, FLIPPED, ACCURACY = "E1/tau_gradient_inputs", "E2/flipped", "test/accuracy"


def measured(mean: float, wide: float = 0.1, key: str = TAU) -> dict[str, float]:
    """A number of one run with its interval over texts."""
    return {f"{key}/mean": mean, f"{key}/ci_low": mean - wide, f"{key}/ci_high": mean + wide}


def settings(root, *summaries, **choices):
    """One run each, called a, b, c, …"""
    for name, summary in zip("abcdefghijklmnopqr", summaries, strict=False):
        made_run(root / "mine" / name / "seed0", {ACCURACY: 0.5} | summary, **choices)
    return settings_of(find_runs([root]))


def decision(p_value: float, favours: int = 1, seed: int = 0) -> Decision:
    return Decision(("a", "b"), seed, Pairing(True, 100, False, Paired(30, 10, p_value, favours)))


@pytest.mark.parametrize(("second", "differs"), [(0.21, True), (0.19, False), (-0.21, True), (-0.19, False)])
def test_a_number_differs_where_its_intervals_lie_apart(tmp_path, second, differs):
    found = apart(settings(tmp_path, measured(0.0), measured(second)), [TAU])
    assert len(found) == differs
    if differs:
        lower, higher = ("a", "b") if second > 0 else ("b", "a")
        assert found[TAU].partition("with ")[2].startswith(f"{lower}, ")
        assert found[TAU].endswith(f"with {higher}")


def test_of_many_settings_intervals_are_wider(tmp_path):
    two = [measured(0.0), measured(0.21)]
    assert apart(settings(tmp_path / "two", *two), [TAU])
    assert not apart(settings(tmp_path / "many", *two, *[measured(0.1)] * 16), [TAU])


def test_gaps_are_measured_on_the_scale_of_the_number(tmp_path):
    """τ-b has two units from end to end, a share one."""
    first = measured(0.0) | measured(0.2, 0.01, FLIPPED)
    second = measured(0.6) | measured(0.5, 0.01, FLIPPED)
    found = apart(settings(tmp_path, first, second), [TAU, FLIPPED])
    assert [*found] == [FLIPPED, TAU], "0.28 of its scale, and 0.4 of a scale of two units"


def test_over_several_seeds_texts_do_not_count(tmp_path):
    for name, accuracies in (("a", (0.1, 0.2, 0.15)), ("b", (0.8, 0.9, 0.85))):
        for seed, accuracy in enumerate(accuracies):
            made_run(tmp_path / "mine" / name / f"seed{seed}", {ACCURACY: accuracy} | measured(accuracy * seed))
    found = settings_of(find_runs([tmp_path]))
    assert [*apart(found, [ACCURACY, TAU])] == [ACCURACY], "τ-b is another with every seed"
    assert "Intervals are over seeds." in conclusions(found, [ACCURACY], [], True)[1].figures


def test_numbers_that_differ_are_counted_and_the_widest_gaps_named(tmp_path, snapshot):
    found = settings(tmp_path, measured(0.0) | measured(0.3, key=FLIPPED), measured(0.6) | measured(0.3, key=FLIPPED))
    _, numbers = conclusions(found, [ACCURACY, TAU, FLIPPED], [], True)
    assert numbers.said == snapshot, "of the accuracy no interval is known"
    assert numbers.figures.startswith(
        "E1 τ-b of attention and gradient × input: 0.000 [−0.100, 0.100] with a, 0.600 [0.500, 0.700] with b. Intervals are "
        "over the texts of one seed, and say nothing about another seed."
    )


def test_where_nothing_differs_or_nothing_is_known_that_is_said(tmp_path, snapshot):
    alike = settings(tmp_path, measured(0.0), measured(0.1))
    assert conclusions(alike, [TAU], [], True)[1].said == snapshot
    assert conclusions(alike, [ACCURACY], [], True)[1].said == snapshot


def test_numbers_over_different_texts_are_not_compared(tmp_path):
    found = settings(tmp_path, measured(0.0), measured(0.6))
    assert len(conclusions(found, [TAU], [], same_texts=False)) == 1


def test_settings_are_told_apart_by_their_choices(tmp_path, snapshot):
    made_run(tmp_path / "mine" / "z" / "seed0", {}, projection="sparsemax")
    (first, *_) = conclusions(settings(tmp_path, {}), [], [], True)
    assert first.said == snapshot
    assert first.figures == "Projection: softmax, sparsemax."
    copies = conclusions(settings(tmp_path / "other", {}, {}), [], [], True)[0]
    assert copies.said == snapshot


def test_one_setting_is_not_compared(tmp_path, snapshot):
    for seed in (0, 1):
        made_run(tmp_path / "mine" / "a" / f"seed{seed}", measured(seed))
    (only,) = conclusions(settings_of(find_runs([tmp_path])), [TAU], [], True)
    assert only.said == snapshot


@pytest.mark.parametrize(("p_value", "favours"), [(0.049, 1), (0.049, -1), (0.05, 1)])
def test_of_one_pair_of_runs_the_test_says_which_decides_better(tmp_path, p_value, favours, snapshot):
    last = conclusions(settings(tmp_path, {}, {}), [], [decision(p_value, favours)], True)[-1]
    assert (last.said, last.figures) == snapshot


@pytest.mark.parametrize(("p_value", "count"), [(0.02, 1), (0.03, 0)])
def test_of_several_pairs_the_p_values_are_corrected(tmp_path, p_value, count):
    several = [decision(0.9), decision(p_value, seed=1)]
    last = conclusions(settings(tmp_path, {}, {}), [], several, True)[-1]
    assert last.said == f"{count} of 2 pairs of runs differ in their decisions by more than chance."
    assert last.figures.startswith("With seed 1, ")
    assert last.figures.endswith(f"(p = {2 * p_value}, corrected for 2 tests).")


def test_settings_are_named_by_the_choices_that_others_do_not_share(tmp_path):
    for name, projection in (("a", "softmax"), ("b", "sparsemax")):
        made_run(tmp_path / "mine" / name / "seed0", {ACCURACY: 0.5}, model="cnn", projection=projection)
    found = settings_of(find_runs([tmp_path]))
    assert [each.name for each in named_by_choices(found)] == ["softmax", "sparsemax"]
    made_run(tmp_path / "mine" / "c" / "seed0", {ACCURACY: 0.5}, model="cnn", projection="softmax")
    found = settings_of(find_runs([tmp_path]))
    assert [each.name for each in named_by_choices(found)] == ["a", "sparsemax", "c"], "two names would be the same"


def test_verdicts_are_told_by_setting_and_by_seed_where_seeds_differ(tmp_path, snapshot):
    for name, answers in (("a", ("no", "no")), ("b", ("no", "cannot tell"))):
        for seed, answer in enumerate(answers):
            summary = {ACCURACY: 0.5, "verdict": {"tokens": {"answer": answer, "sentence": "It."}}}
            made_run(tmp_path / "mine" / name / f"seed{seed}", summary)
    found = settings_of(find_runs([tmp_path]))
    assert conclusions(found, [ACCURACY], [], True)[1] == snapshot
    made_run(tmp_path / "mine" / "c" / "seed0", {ACCURACY: 0.5})
    found = settings_of(find_runs([tmp_path]))
    assert "erdict" not in conclusions(found, [ACCURACY], [], True)[1].said, "one of them has none"


def test_each_number_stands_with_its_interval_and_what_it_is_a_mean_over(tmp_path):
    labels = [0, 1] * 10
    root = tmp_path / "mine"
    for name, projection, seed, accuracy in (("a", "softmax", 0, 0.5), ("a", "softmax", 1, 0.7), ("b", "sparsemax", 0, 0.8)):
        right = round(20 * accuracy)
        rows = decided(labels, [*labels[:right], *(1 - each for each in labels[right:])])
        run = made_run(
            root / name / f"seed{seed}", {ACCURACY: accuracy} | measured(0.3, key=FLIPPED), rows, projection=projection
        )
        run.write_evidence("E2", pd.DataFrame({"id": range(20), "flipped": [np.nan] + [0.3] * 19}))
    write_comparison(tmp_path / "page.html", find_runs([root]))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<td>0.600 [0.000, 1.000] <small>2 seeds</small></td><td>0.800 [0.563, 0.943] <small>20 texts</small></td>" in page
    assert "<td>0.300 [0.200, 0.400] <small>19 texts</small></td>" in page
