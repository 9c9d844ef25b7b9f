"""The picture of several settings: shares and accuracies with the intervals that belong to them."""

import numpy as np
import pytest

from attest.core.measures.summary import share_interval
from attest.report.collection import settings_of
from attest.report.comparison import write_comparison
from attest.report.settings_strip import lines_of
from attest.runs.identity import find_runs
from tests.report.made import VERDICT, decided, made_run, tagged

LABELS, PREDICTED = [0, 1] * 20, [0, 1] * 19 + [1, 0]


def verdict(share: float) -> dict:
    return {"verdict": {"tokens": VERDICT["tokens"] | {"share": share}}, "test/accuracy": 0.95}


def lines(root):
    return lines_of(settings_of(find_runs([root])))


def test_one_seed_has_the_intervals_of_its_texts(tmp_path):
    made_run(tmp_path / "mine" / "a" / "seed0", verdict(0.62), decided(LABELS, PREDICTED))
    (line,) = lines(tmp_path)
    assert line.right == (0.62, 0.48, 0.75, "80 texts")
    assert line.random == (0.06, 0.02, 0.13, "80 texts")
    assert line.accuracy is not None
    assert line.accuracy[1:] == (*share_interval(np.array([1.0] * 38 + [0.0] * 2)), "40 texts")


def test_several_seeds_have_an_interval_over_seeds(tmp_path):
    for seed, share in enumerate((0.5, 0.6, 0.7)):
        made_run(tmp_path / "mine" / "a" / f"seed{seed}", verdict(share))
    (line,) = lines(tmp_path)
    assert line.right is not None
    assert line.right[0] == pytest.approx(0.6)
    margin = 4.302653 * 0.1 / 3**0.5
    assert line.right[1:3] == pytest.approx((0.6 - margin, 0.6 + margin)), "Student's t with two degrees of freedom"
    assert line.right.of == "3 seeds"


def test_a_seed_without_a_verdict_leaves_its_setting_without_a_share(tmp_path):
    made_run(tmp_path / "mine" / "a" / "seed0", verdict(0.5))
    made_run(tmp_path / "mine" / "a" / "seed1", {"test/accuracy": 0.9})
    made_run(tmp_path / "mine" / "b" / "seed0", verdict(0.5))
    first, second = lines(tmp_path)
    assert (first.right, second.right is None) == (None, False)
    assert not lines(tmp_path / "mine" / "a"), "no picture of nothing"


def test_the_accuracy_of_a_tagger_has_an_interval_over_sentences(tmp_path):
    made_run(tmp_path / "mine" / "a" / "seed0", verdict(0.5), tagged([[0, 1], [1]], [[0, 1], [0]]))
    accuracy = lines(tmp_path)[0].accuracy
    assert accuracy.of == "2 sentences"
    assert 0 < accuracy.low < 0.95 < accuracy.high < 1


def test_the_page_begins_with_the_picture(tmp_path):
    for name in "ab":
        made_run(tmp_path / "mine" / name / "seed0", verdict(0.62), decided(LABELS, PREDICTED))
    write_comparison(tmp_path / "comparison.html", find_runs([tmp_path]))
    page = (tmp_path / "comparison.html").read_text(encoding="utf-8")
    assert page.count("[48, 75] 80 texts") == 2
    assert page.index("How often attention is right") < page.index("The 2 settings differ")
