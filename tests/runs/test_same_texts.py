"""Runs on the same texts are told from runs on others: by fingerprint, else by ids, lengths and labels, else not at all."""

import pytest

from attest.core.errors import AttestError
from attest.runs.comparison import compare_runs
from attest.runs.contents import RunContents
from attest.runs.folder import write_json
from attest.runs.identity import TextsOfRun
from tests.report.made import decided, made_run, tagged


def same(one, other):
    return TextsOfRun(RunContents(one)).same_as(TextsOfRun(RunContents(other)))


def with_fingerprint(run, fingerprint):
    write_json(run.path / "data.json", {"fingerprints": {"train": "aa", "test": fingerprint}})
    return run


def test_tables_tell_by_ids_lengths_and_labels(tmp_path):
    rows = decided([0, 1, 1], [0, 0, 0])
    run = made_run(tmp_path / "run", {}, rows)
    assert same(run, made_run(tmp_path / "same", {}, rows.assign(predicted=1))) is True
    for column, values in {"id": [0, 1, 3], "length": [3, 3, 4], "label": [0, 1, 0]}.items():
        assert same(run, made_run(tmp_path / column, {}, rows.assign(**{column: values}))) is False
    assert same(run, made_run(tmp_path / "fewer", {}, rows.iloc[:2])) is False


def test_tables_of_taggers_tell_by_tags(tmp_path):
    run = made_run(tmp_path / "run", {}, tagged([[0, 1], [1]], [[0, 0], [0]]))
    assert same(run, made_run(tmp_path / "same", {}, tagged([[0, 1], [1]], [[1, 1], [1]]))) is True
    assert same(run, made_run(tmp_path / "other", {}, tagged([[1, 1], [1]], [[0, 0], [0]]))) is False


def test_fingerprints_are_believed_before_tables_where_both_have_them(tmp_path):
    rows = decided([0, 1, 1], [0, 0, 0])
    runs = [made_run(tmp_path / str(number), {}, rows) for number in range(3)]
    with_fingerprint(runs[0], "0123")
    assert same(runs[0], runs[1]) is True, "one has none"
    assert same(runs[0], with_fingerprint(runs[1], "4567")) is False
    assert same(runs[0], with_fingerprint(runs[2], "0123")) is True


def test_names_of_corpora_tell_different_ones_apart_and_no_more(tmp_path):
    runs = [made_run(tmp_path / str(number), {}, data=data) for number, data in enumerate(("sst", "sst", "imdb"))]
    assert same(runs[0], runs[1]) is None
    assert same(runs[0], runs[2]) is False
    found = TextsOfRun(RunContents(runs[0]))
    assert (found.corpus, found.fingerprint, found.instances) == ("sst", None, None)


def test_runs_on_other_labels_are_not_compared(tmp_path):
    rows = decided([0, 1, 1], [0, 0, 0])
    with pytest.raises(AttestError, match="were tested on different texts"):
        compare_runs(
            RunContents(made_run(tmp_path / "a", {}, rows)),
            RunContents(made_run(tmp_path / "b", {}, rows.assign(label=[1, 1, 1]))),
        )
