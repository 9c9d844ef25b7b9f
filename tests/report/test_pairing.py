"""Two runs text by text, against plain loops and scipy."""

import numpy as np
import pytest
from scipy import stats

from attest.report.collection import Decided, Pairing, paired
from attest.runs.contents import RunContents
from tests.report.made import decided, made_run, tagged

LABELS = [0, 1, 2, 0, 1, 2, 0]


def pairing(first, second) -> Pairing:
    return paired(Decided.by(RunContents(first)), Decided.by(RunContents(second)))


def test_decisions_are_paired_by_text(tmp_path):
    first = made_run(tmp_path / "a", {}, decided(LABELS, [0, 1, 2, 0, 1, 0, 0]))
    second = made_run(tmp_path / "b", {}, decided(LABELS, [1, 1, 0, 1, 0, 2, 0]))
    found = pairing(first, second)
    assert (found.same, found.instances, found.tagging) == (True, 7, False)
    assert (found.test.only_first, found.test.only_second) == (4, 1)
    assert found.test.p_value == pytest.approx(stats.binomtest(1, 5).pvalue)
    assert Decided.by(RunContents(first)).rightly.tolist() == [True] * 5 + [False, True]


def test_sentences_of_taggers_are_paired_by_the_share_of_their_tokens(tmp_path):
    generator = np.random.default_rng(0)
    tags = [generator.integers(0, 2, length).tolist() for length in (1, 4, 2, 5, 3, 6, 2, 7, 4)]
    ours, theirs = ([[int(t ^ (generator.random() < p)) for t in each] for each in tags] for p in (0.2, 0.5))
    first, second = made_run(tmp_path / "a", {}, tagged(tags, ours)), made_run(tmp_path / "b", {}, tagged(tags, theirs))
    shares = [[np.mean(np.equal(p, t)) for p, t in zip(predicted, tags, strict=True)] for predicted in (ours, theirs)]
    found = pairing(first, second)
    np.testing.assert_allclose(Decided.by(RunContents(first)).rightly, shares[0])
    assert (found.instances, found.tagging) == (9, True)
    assert found.test.p_value == pytest.approx(stats.wilcoxon(*shares).pvalue)
    assert found.test.only_first == np.greater(*shares).sum()


def test_what_cannot_be_paired_is_not(tmp_path):
    rows = decided(LABELS, LABELS)
    run, bare = made_run(tmp_path / "a", {}, rows), made_run(tmp_path / "b", {})
    assert pairing(run, made_run(tmp_path / "c", {}, rows.iloc[:-1])) == Pairing(False)
    assert pairing(run, bare) == Pairing(None)
    assert Decided.by(RunContents(bare)).rightly is None
