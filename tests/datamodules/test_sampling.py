"""A sample of a file: random whatever the order of the file, with every class where there is room."""

import numpy as np
import pyarrow as pa
import pytest

from attest.datamodules import FilesDataModule
from attest.datamodules.corpus import missing, sample
from attest.datamodules.labelled import labelled


def write(path, labels):
    path.write_text("text,label\n" + "".join(f"film number {row},{label}\n" for row, label in enumerate(labels)))
    return str(path)


def test_labels_that_alternate_do_not_make_a_sample_of_one_class(tmp_path):
    source = write(tmp_path / "a.csv", ["neg", "pos"] * 199 + ["neg"])
    drawn = labelled(source, "test", 200)
    assert len(drawn.texts) == len(set(drawn.texts)) == 200
    assert 80 < drawn.labels.count("pos") < 120
    test = write(tmp_path / "b.csv", ["neg", "pos"])
    train = FilesDataModule(train=source, test=test, validation_share=0.01, texts=200).corpus.train
    assert 80 < train.labels.sum() < 120, "a cut of the training split is the same kind of sample"


@pytest.mark.parametrize("period", [2, 3, 4, 5, 7])
def test_no_period_of_a_file_shows_in_a_sample(period):
    labels = pa.array(np.arange(6000) % period)
    drawn = np.bincount(labels.take(sample(np.arange(6000), labels, 1000)), minlength=period)
    assert abs(drawn - 1000 / period).max() < 4 * (1000 / period) ** 0.5


def test_a_smaller_sample_lies_in_a_larger_one_and_rows_are_ascending():
    ids, labels = np.arange(500), pa.array([0, 1] * 250)
    few, many = sample(ids, labels, 50), sample(ids, labels, 100)
    assert set(few) < set(many)
    assert (np.diff(many) > 0).all()
    assert sample(ids, labels, 500).tolist() == sample(ids, labels, 9999).tolist() == ids.tolist()


def test_a_text_is_drawn_by_its_id_whoever_its_neighbours_are():
    ids = np.arange(1000)
    whole = set(sample(ids, pa.array([0] * 1000), 100))
    kept = ids[ids % 3 > 0]
    assert {*kept} & whole <= set(kept[sample(kept, pa.array([0] * len(kept)), 100)])


def test_a_class_of_one_text_in_a_thousand_is_in_the_sample_and_the_rest_stay_as_they_were():
    ids, plain = np.arange(1000), pa.array([0] * 1000)
    for rare in range(0, 1000, 97):
        labels = pa.array([int(row == rare) for row in range(1000)])
        drawn = set(sample(ids, labels, 10))
        assert rare in drawn
        assert len(drawn - set(sample(ids, plain, 10))) <= 1


def test_of_words_with_tags_every_tag_is_in_the_sample():
    tags = [["O", "O"]] * 400
    tags[123], tags[321] = ["O", "B-PER"], ["B-ORG", "O", "I-ORG"]
    drawn = sample(np.arange(400), pa.array(tags), 5)
    assert {123, 321} < set(drawn)
    assert len(drawn) == 5


def test_a_sample_with_less_room_than_classes_says_which_are_missing(tmp_path, capsys):
    labels = [f"c{row % 10}" for row in range(100)]
    drawn = labelled(write(tmp_path / "a.csv", labels), "test", 7)
    assert len(set(drawn.labels)) == 7
    assert "None of the 7 texts drawn from the 100 in" in (said := capsys.readouterr().out)
    lacking = sorted({*labels} - {*drawn.labels})
    assert f"is of the class {', '.join(lacking)}. For more texts, type --texts" in said
    data = FilesDataModule(train=str(tmp_path / "a.csv"), test=write(tmp_path / "b.csv", labels[:20]), texts=7)
    _ = data.corpus
    assert "texts=7: None of the 7 texts drawn from the 20 in the test split is of the class c" in capsys.readouterr().out


def test_nothing_is_missing_from_a_sample_with_all_classes():
    labels = pa.array(["a", "b", "b"])
    assert missing(labels, labels.take([0, 1]), "x") is None
