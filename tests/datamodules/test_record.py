"""What a trained model keeps of its data: enough to read new texts, and to notice that the old ones have changed."""

import json

import numpy as np
import pyarrow as pa
import pytest

from attest.core.errors import AttestError
from attest.datamodules import FilesDataModule, PlantedDataModule
from attest.datamodules.corpus import Documents
from attest.datamodules.record import DataRecord, expecting, fingerprint_of

ROWS = [("a fine film", "pos"), ("a dull film", "neg"), ("fine acting", "pos"), ("dull acting", "neg")] * 5


def write(path, rows=ROWS):
    path.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
    return path


def module(folder, **options):
    return FilesDataModule(train=str(folder / "train.csv"), test=str(folder / "test.csv"), **options)


@pytest.fixture
def files(tmp_path):
    write(tmp_path / "train.csv")
    write(tmp_path / "test.csv", ROWS[:4])
    return tmp_path


@pytest.fixture
def record(files):
    return module(files).record


def documents(tokens=(("a", "b"), ("c",)), ids=(0, 1), label=(0, 1)):
    return Documents.of(list(ids), [list(words) for words in tokens], label=list(label))


def test_equal_content_has_equal_fingerprints_however_it_lies_in_memory():
    chunked = pa.chunked_array([pa.array([["x"], ["a", "b"]]), pa.array([["c"]])])[1:]
    assert fingerprint_of(documents()) == fingerprint_of(Documents.of(np.arange(2), chunked, label=[0, 1]))


@pytest.mark.parametrize(
    "other",
    [
        documents(tokens=(("a", "c"), ("b",))),
        documents(tokens=(("a",), ("b", "c"))),
        documents(tokens=(("ab",), ("c",))),
        documents(ids=(0, 2)),
        documents(label=(1, 0)),
        documents(tokens=(("c",), ("a", "b")), ids=(1, 0), label=(1, 0)),
        Documents.of([0, 1], [["a", "b"], ["c"]], tags=[[0, 1], [1]]),
        Documents.of([0, 1], [["a", "b"], ["c"]], label=[0, 1], rationale=[[True, False], [False]]),
    ],
    ids=["other words", "cut elsewhere", "joined", "other ids", "other labels", "other order", "tags", "with rationale"],
)
def test_other_content_has_another_fingerprint(other):
    assert fingerprint_of(documents()) != fingerprint_of(other)


def test_words_with_blanks_and_line_ends_are_not_mixed_up():
    assert fingerprint_of(documents((("a b",), ("c",)))) != fingerprint_of(documents((("a", "b"), ("c",))))


def test_it_survives_json(record):
    assert DataRecord.from_plain(json.loads(json.dumps(record.plain()))) == record


def test_new_texts_are_read_by_the_record_alone(files, record):
    (files / "train.csv").unlink()
    with expecting(record, "the run"):
        data = module(files)
    assert (data.vocab_size, data.label_names, data.positive_weight) == (len(record.words) + 2, ("neg", "pos"), 1.0)
    ids = data.encode(data.documents_of(["a fine unseen film"])).__getitems__([0])["token_ids"]
    assert ids.tolist() == [[*data.vocabulary.encode(["a", "fine"]), 1, *data.vocabulary.encode(["film"])]]


def test_texts_in_words_are_told_apart_as_they_were(tmp_path):
    lines = [json.dumps({"words": text.split(), "label": label}) for text, label in ROWS]
    for name in ("train.jsonl", "test.jsonl"):
        (tmp_path / name).write_text("\n".join(lines))
    options = {"train": str(tmp_path / "train.jsonl"), "test": str(tmp_path / "test.jsonl")}
    with expecting(FilesDataModule(**options).record, "the run"):
        again = FilesDataModule(**options)
    assert again.documents_of(["Don't stop"]).tokens == [["Don't", "stop"]]


def test_the_same_data_is_taken(files, record):
    with expecting(record, "the run"):
        module(files).require_expected()


def test_a_moved_file_is_the_same_data(files, record, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for name in ("train.csv", "test.csv"):
        (files / name).rename(elsewhere / name)
    with expecting(record, "the run"):
        module(elsewhere).require_expected()


def test_a_renamed_word_is_refused_by_the_name_of_the_file(files, record):
    write(files / "train.csv", [(text.replace("fine", "zest"), label) for text, label in ROWS])
    with expecting(record, "the run"), pytest.raises(AttestError, match="the data differ from those of the run") as refused:
        module(files).require_expected()
    said = str(refused.value)
    assert f"the train split ({files / 'train.csv'}) has 18 texts as before, but some texts or labels differ" in said
    assert "the test split" not in said


def test_a_test_file_that_grew_is_refused_with_both_counts(files, record, refusal):
    write(files / "test.csv", ROWS[:6])
    with expecting(record, "the run"), refusal():
        module(files).require_expected()


def test_a_flipped_label_is_refused(files, record, refusal):
    write(files / "test.csv", [(text, {"pos": "neg", "neg": "pos"}[label]) for text, label in ROWS[:4]])
    with expecting(record, "the run"), refusal():
        module(files).require_expected()


def test_a_checkpoint_brings_its_record_and_refuses_other_data(files):
    kept = module(files).state_dict()
    module(files).load_state_dict(kept)
    write(files / "train.csv", ROWS[:16])
    with pytest.raises(AttestError, match="the model of this checkpoint"):
        module(files).load_state_dict(kept)


def test_touched_files_are_noticed_without_reading_them_as_texts(files, record):
    assert record.touched() == []
    (files / "test.csv").write_text("no longer a table")
    assert record.touched() == ["test"]
    (files / "test.csv").unlink()
    assert record.touched() == []


def test_data_that_no_model_was_made_from_is_not_compared(files):
    with expecting(None, ""):
        module(files).require_expected()


def test_seeds_share_a_planted_corpus_unless_told_otherwise():
    sizes = {"train_texts": 20, "validation_texts": 4, "test_texts": 4}
    first, second = (PlantedDataModule(seed=seed, **sizes).record.fingerprints for seed in (0, 1))
    assert first == second
    apart = PlantedDataModule(seed=1, corpus_seed=None, **sizes).record.fingerprints
    assert apart == PlantedDataModule(seed=5, corpus_seed=1, **sizes).record.fingerprints != first
